"""A site of classified ads: what people offer, and what others wait for.

Ads lie in a hierarchy of 85 categories (a path each, `vehicles/family/small`), have up to six of 400 tags, a seller, a
place near one of 40 towns and an instant; brand, price, condition and the seller's rating may be missing. Who waits
asks for a category and all below it, price ranges, lists of brands, tags, a box of latitudes and longitudes, dates,
with `or`, `not` and `is missing` as people write them. What is popular is so on both sides, by Zipf's law.

`events` has a column per attribute; `mappings` are the same ads as JSON has them: nested, and the instant as text. With
`open=1` the schema is open and declares the instant alone: a path is text then, and "all below it" is how it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Boolean, Domain, Enumerated, Hierarchical, Number, Schema, String, Timestamp
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload, choose

__all__ = ["Ads"]

_ROOTS = ["vehicles", "home", "electronics", "fashion", "leisure"]
_GROUPS = [f"{root}/{group}" for group in ("family", "classic", "pro", "other") for root in _ROOTS]
_KINDS = [f"{group}/{kind}" for kind in ("small", "medium", "large") for group in _GROUPS]
_CATEGORIES = [*_KINDS[:30], *_GROUPS, *_ROOTS, *_KINDS[30:]]
_BRANDS = [f"atelier d'{at}" if at % 25 == 7 else f"brand{at}" for at in range(300)]
_TAGS = [f"tag{at}" for at in range(400)]
_CONDITIONS = ["used", "as new", "new", "worn", "broken"]
_SELLERS = ["private", "dealer", "workshop"]
_TITLES = [f"{noun}, to be collected" for noun in ("Sofa", "Car", "Phone", "Coat", "Bicycle", "Lamp", "Camera", "Desk")]
_TOWNS = [(f"town{at}", 47.0 + at % 8 * 0.9, 6.0 + at // 8 * 1.7) for at in range(40)]
_NUMBERS = ("price", "seller.rating", "location.lat", "location.lon")
_STRINGS = ("title", "brand", "tags", "seller.name", "location.town")
_FIRST, _MINUTES = datetime(2026, 1, 1, tzinfo=UTC), 90 * 24 * 60
_MOST_TAGS = 6

_WISHES = (
    "{kind} and price between {price} and {dearer}",
    "{kind} and brand in ('{brand}', '{other}', '{third}') and price <= {price}",
    "{kind} and tags contains '{tag}' and tags contains '{label}' and price < {dearer}",
    "{box} and {kind} and price < {price}",
    "(brand = '{brand}' or brand = '{other}' and condition = 'new') and price < {price} and {kind}",
    "{kind} and tags contains '{tag}' and not (condition = 'broken' or seller.kind = 'dealer')",
    "posted >= timestamp '{day}' and {kind} and brand = '{brand}' and price < {dearer}",
    "{kind} and brand not in ('{brand}', '{other}') and seller.rating >= 4.5 and price < {price}",
    "{kind} and (price is missing or price < {price}) and tags contains '{tag}' and condition != 'broken'",
    "{box} and (tags contains '{tag}' or title starts with '{noun}') and shipping = true",
    "brand = '{brand}' and {kind} and tags not contains '{tag}' and posted between '{day}' and '{later}'",
    "{kind} and location.town in ('{town}', 'town0') and seller.rating is present and price not between 1 and {price}",
)
_BOX = "location.lat between {south} and {north} and location.lon between {west} and {east}"


@dataclass(frozen=True)
class Ads(Workload):
    """`open=1` for an open schema; see the module."""

    open: float = 0

    @property
    def name(self) -> str:  # type: ignore[override]  # the parameter is part of the seed
        return "ads open" if self.open else "ads"

    def schema(self) -> Schema:
        instant = {"posted": Attribute("posted", Timestamp())}
        if self.open:
            return Schema(attributes=instant, open=True)
        categories = Hierarchical(tuple((path, _above(path)) for path in (*_ROOTS, *_GROUPS, *_KINDS)))
        domains: dict[str, Domain] = {**dict.fromkeys(_STRINGS, String()), **dict.fromkeys(_NUMBERS, Number())}
        domains |= {"condition": Enumerated(tuple(_CONDITIONS)), "seller.kind": Enumerated(tuple(_SELLERS))}
        attributes = {name: Attribute(name, domain) for name, domain in (domains | {"shipping": Boolean()}).items()}
        attributes["category"] = Attribute("category", categories, "categories")
        return Schema({"categories": categories}, attributes | instant)

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        below = "starts with" if self.open else "<="
        sizes = {"category": _CATEGORIES, "brand": _BRANDS, "other": _BRANDS, "third": _BRANDS}
        sizes |= {"tag": _TAGS, "label": _TAGS, "noun": [title.partition(",")[0] for title in _TITLES]}
        drawn = {name: _some(random, words, count).to_pylist() for name, words in sizes.items()}
        drawn |= {"price": _prices(random, count).tolist(), "town": _zipf(random, len(_TOWNS), count).tolist()}
        drawn |= {"hour": random.integers(0, _MINUTES // 60, count).tolist()}
        forms = random.integers(0, len(_WISHES), count).tolist()
        rows = (dict(zip(drawn, row, strict=True)) for row in zip(*drawn.values(), strict=True))
        return pa.array([_WISHES[form].format(**_wish(below, **row)) for form, row in zip(forms, rows, strict=True)])

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        town = _zipf(random, len(_TOWNS), count)
        places = np.array([place[1:] for place in _TOWNS])[town] + random.normal(0, 0.15, (count, 2))
        offsets = np.concatenate([[0], np.cumsum(random.integers(0, _MOST_TAGS + 1, count))]).astype(np.int32)
        names = pa.array([f"seller {number}" for number in random.integers(1, 10_000, count)])
        minutes = random.integers(0, _MINUTES, count) * 60_000_000
        posted = minutes + int(_FIRST.timestamp()) * 1_000_000
        return pa.table(
            {
                "title": _some(random, _TITLES, count),
                "category": _some(random, _KINDS, count),
                "brand": _some(random, _BRANDS, count, 0.7),
                "condition": _some(random, _CONDITIONS, count, 0.9),
                "price": pa.array(_prices(random, count), mask=random.random(count) < 0.05),
                "tags": pa.ListArray.from_arrays(pa.array(offsets), _some(random, _TAGS, int(offsets[-1]))),
                "seller.name": names,
                "seller.rating": pa.array(np.round(random.random(count) * 5, 1), mask=random.random(count) < 0.2),
                "seller.kind": _some(random, _SELLERS, count),
                "location.town": pc.take(pa.array([place[0] for place in _TOWNS]), pa.array(town)),
                "location.lat": np.round(places[:, 0], 4),
                "location.lon": np.round(places[:, 1], 4),
                "posted": pa.array(posted, pa.timestamp("us", "UTC")),
                "shipping": random.random(count) < 0.4,
            }
        )

    def mappings(self, stop: int, seed: int = 1, *, start: int = 0) -> Iterator[dict[str, Any]]:
        """The events as JSON has them: nested, what is missing left out, the instant as ISO 8601."""
        for row in self.events(stop, seed, start=start).to_pylist():
            ad: dict[str, Any] = {}
            for name, value in row.items():
                outer, _, inner = name.rpartition(".")
                if value is not None:
                    (ad.setdefault(outer, {}) if outer else ad)[inner] = value
            yield ad | {"posted": f"{ad['posted']:%Y-%m-%dT%H:%M:%SZ}"}


def _above(path: str) -> tuple[str, ...]:
    return (path.rpartition("/")[0],) if "/" in path else ()


def _wish(below: str, *, category: str, price: int, town: int, hour: int, **words: str) -> dict[str, object]:
    """What a wish may name: the words drawn, and what follows from the numbers drawn."""
    name, lat, lon = _TOWNS[town]
    size = 0.05 + hour % 10 * 0.02
    edges = {"south": lat - size, "north": lat + size, "west": lon - size, "east": lon + size}
    day = _FIRST + timedelta(hours=hour)
    return {key: word.replace("'", "''") for key, word in words.items()} | {
        "kind": f"category {below} '{category}'",
        "price": price,
        "dearer": price + price // 3 + 10,
        "town": name,
        "box": _BOX.format(**{edge: f"{degrees:.2f}" for edge, degrees in edges.items()}),
        "day": f"{day:%Y-%m-%d}",
        "later": f"{day + timedelta(days=7):%Y-%m-%dT%H:%M:%SZ}",
    }


def _zipf(random: np.random.Generator, size: int, count: int) -> npt.NDArray[np.int64]:
    weights = 1.0 / np.arange(1, size + 1)
    return random.choice(size, count, p=weights / weights.sum()).astype(np.int64)


def _some(random: np.random.Generator, words: Sequence[str], count: int, share: float = 1.0) -> pa.Array:
    return choose(list(words), _zipf(random, len(words), count), random.random(count) < share)


def _prices(random: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    return np.ceil(random.lognormal(5, 1.5, count)).astype(np.int64)
