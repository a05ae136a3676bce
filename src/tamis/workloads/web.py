"""A skewed workload as the web has it: Zipf-distributed values, a hierarchy of topics, several tags at once.

Pages and offers come from 5,000 sites, are about one of 341 topics (a tree of four children to a node, four levels
deep), and carry up to five of 2,000 tags. Subscribers follow the same fashions as publishers: popular sites, topics
and tags are popular on both sides, so a few subscriptions match very often and most almost never.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Enumerated, Hierarchical, Integer, Number, Schema, String, Use
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload

__all__ = ["Web"]

_SITES = [f"site{at}.example" for at in range(5000)]
_TAGS = [f"tag{at}" for at in range(2000)]
_COUNTRIES = [f"c{at}" for at in range(50)]
_TOPICS = ["all", *[f"t{at}" for at in range(1, 341)]]
_PARENTS = [(at - 1) // 4 for at in range(1, 341)]
_MOST_TAGS = 5


@dataclass(frozen=True)
class Web(Workload):
    """`a` is the exponent of Zipf's law for sites, topics, tags and countries."""

    a: float = 1.1

    @property
    def name(self) -> str:  # type: ignore[override]  # the parameter is part of the seed
        return f"web a={self.a}"

    def schema(self) -> Schema:
        above = [("all", ()), *[(_TOPICS[at], (_TOPICS[_PARENTS[at - 1]],)) for at in range(1, len(_TOPICS))]]
        topics = Hierarchical(tuple(above))
        domains = {"site": String(), "tags": String(), "country": Enumerated(tuple(_COUNTRIES))}
        domains |= {"price": Number(), "visitors": Integer(0, None)}
        attributes = {name: Attribute(name, domain) for name, domain in domains.items()}
        attributes["topic"] = Attribute("topic", topics, "topics")
        always, maybe, several = Use(mandatory=True), Use(), Use(multiple=True)
        page = {"site": always, "topic": always, "tags": several, "country": maybe, "visitors": maybe}
        offer = {"site": always, "topic": always, "tags": several, "country": maybe, "price": always}
        return Schema({"topics": topics}, attributes, {"page": page, "offer": offer})

    def _zipf(self, random: np.random.Generator, size: int, count: int) -> npt.NDArray[np.int64]:
        weights = np.arange(1, size + 1, dtype=float) ** -self.a
        return random.choice(size, count, p=weights / weights.sum()).astype(np.int64)

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        form = random.integers(0, 5, count)
        site, topic, tag, other = (self._zipf(random, n, count) for n in (len(_SITES), len(_TOPICS), 2000, 2000))
        country, price = self._zipf(random, len(_COUNTRIES), count), random.integers(1, 1000, count)
        texts = [_expression(*row) for row in zip(form, site, topic, tag, other, country, price, strict=True)]
        return pa.array(texts)

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        offer = random.random(count) < 0.3
        sizes = random.integers(0, _MOST_TAGS + 1, count)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        tags = pc.take(pa.array(_TAGS), pa.array(self._zipf(random, len(_TAGS), int(offsets[-1]))))
        return pa.table(
            {
                "event_type": pc.take(pa.array(["page", "offer"]), pa.array(offer.astype(np.int64))),
                "site": pc.take(pa.array(_SITES), pa.array(self._zipf(random, len(_SITES), count))),
                "topic": pc.take(pa.array(_TOPICS), pa.array(self._zipf(random, len(_TOPICS), count))),
                "tags": pa.ListArray.from_arrays(pa.array(offsets), tags),
                "country": pc.take(
                    pa.array(_COUNTRIES),
                    pa.array(self._zipf(random, len(_COUNTRIES), count), mask=random.random(count) < 0.2),
                ),
                "price": pa.array(np.round(random.lognormal(4, 1, count), 2), mask=~offer),
                "visitors": pa.array(self._zipf(random, 100_000, count), mask=offer | (random.random(count) < 0.5)),
            }
        )


def _expression(form: int, site: int, topic: int, tag: int, other: int, country: int, price: int) -> str:
    match form:
        case 0:
            return f"site = '{_SITES[site]}' and topic <= '{_TOPICS[topic]}'"
        case 1:
            return f"tags contains '{_TAGS[tag]}' and tags contains '{_TAGS[other]}'"
        case 2:
            return f"topic <= '{_TOPICS[topic]}' and price < {price} and country = '{_COUNTRIES[country]}'"
        case 3:
            return f"event_type = 'offer' and tags contains '{_TAGS[tag]}' and price between {price} and {price + 50}"
    return f"site = '{_SITES[site]}' and country != '{_COUNTRIES[country]}' and visitors > {price * 10}"
