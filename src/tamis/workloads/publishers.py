"""Three auction houses that sell the same things under other names, and the mappings that make one schema of them.

*gavel* sells in pounds and writes JSON lines, *brocante* in euros and CSV, *attic* in dollars and Parquet. About one
listing in twenty-five breaks a rule, as feeds do. Everything is drawn from one seed.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.workloads import auctions

__all__ = ["MAPPINGS", "write_example"]

_GAVEL_TYPES = {"Dining tables": "dining table", "Side tables": "side table", "Tables": "table", "Beds": "bed"}
_GAVEL_ERAS = {"16th century": "XVI", "17th century": "XVII", "18th century": "XVIII", "19th century": "XIX"}
_RAYONS = {"Antiquités": ["antiques"], "Meubles": ["furniture"], "Meubles anciens": ["antiques", "furniture"]}
_GENRES = {"table à manger": "dining table", "fauteuil": "armchair", "chaise": "chair", "lit": "bed"}
_MATIERES = {"chêne": "oak", "noyer": "walnut", "pin": "pine", "acajou": "mahogany", "laiton": "brass"}

MAPPINGS: Mapping[str, str] = MappingProxyType(
    {
        "gavel": """\
# A British house: pounds, English plurals, JSON lines.
publisher = "gavel"
event_id = "lot"
event_types = "departments"

[attributes]
price = { column = "hammer_price_gbp", factor = 1.17 }
reserve = { column = "reserve_gbp", factor = 1.17 }
quantity = "units"
material = "materials"

[attributes.period]
column = "era"
values = { "16th century" = "XVI", "17th century" = "XVII", "18th century" = "XVIII", "19th century" = "XIX" }

[attributes.category]
column = "type"
values = { "Dining tables" = "dining table", "Side tables" = "side table", Tables = "table", Beds = "bed" }
""",
        "brocante": """\
# A French house: euros as text, departments of its own, several materials in one column, CSV.
publisher = "brocante"
event_id = "ref"

[event_types]
column = "rayon"
values = { "Antiquités" = ["antiques"], Meubles = ["furniture"], "Meubles anciens" = ["antiques", "furniture"] }

[attributes]
price = { column = "prix", type = "double" }
reserve = { column = "réserve", type = "double" }
quantity = { column = "nombre", type = "bigint" }
period = "siècle"

[attributes.category]
column = "genre"
values = { "table à manger" = "dining table", fauteuil = "armchair", chaise = "chair", lit = "bed" }

[attributes.material]
column = "matières"
split = ";"
values = { "chêne" = "oak", noyer = "walnut", pin = "pine", acajou = "mahogany", laiton = "brass" }
""",
        "attic": """\
# An American house: dollars as exact decimals, our own names, Parquet.
publisher = "attic"
event_id = "listing_id"
event_types = "event_type"

[attributes]
price = { column = "price_usd", factor = 0.92 }
reserve = { column = "reserve_usd", factor = 0.92 }
quantity = "quantity"
period = "period"
category = "category"
material = "material"
""",
    }
)
"""Publisher → its mapping in TOML. Prices become euros."""


def write_example(folder: Path, events: int, subscriptions: int, seed: int = 1) -> dict[str, Path]:
    """Write schema, mappings, subscriptions and feeds of `events` listings each; publisher → its feed."""
    (folder / "mappings").mkdir(parents=True)
    (folder / "feeds").mkdir()
    (folder / "schema.toml").write_text(auctions.SCHEMA, encoding="utf-8")
    for name, text in MAPPINGS.items():
        (folder / "mappings" / f"{name}.toml").write_text(text, encoding="utf-8")
    pq.write_table(_subscriptions(subscriptions, seed), folder / "subscriptions.parquet")
    feeds = {}
    for number, (name, (file, write)) in enumerate(_FEEDS.items()):
        feeds[name] = folder / "feeds" / file
        write(feeds[name], _listings(events, f"{name} {seed}", 1 + number * events))
    return feeds


def _subscriptions(count: int, seed: int) -> pa.Table:
    ids, texts = zip(*auctions.subscriptions(count, seed), strict=True) if count else ((), ())
    names = [id.partition("-")[0] for id in ids]
    channels = [("mail", "push", "feed")[len(name) % 3] for name in names]
    columns = {"id": ids, "expression": texts, "subscriber": names, "channel": channels}
    return pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


_Listing = dict[str, Any]


def _listings(count: int, seed: str, first: int) -> list[_Listing]:
    draw = random.Random(seed)
    found = []
    for number, listing in enumerate(auctions.listings(count, draw.randrange(1 << 30))):
        listing.pop("colour", None)  # a mapping takes what it names and nothing else
        if number % 50 == 3 and listing["event_type"] == ["antiques"]:
            listing["category"] = "chair"
        found.append({"id": first + number, **listing})
    return found


def _types(listing: _Listing) -> list[str]:
    types = listing["event_type"]
    return [types] if isinstance(types, str) else types


def _renamed(names: Mapping[str, str], value: Any) -> Any:
    """By the publisher's own word for it, if it has one."""
    return next((own for own, ours in names.items() if ours == value), value)


def _write_gavel(path: Path, listings: list[_Listing]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for one in listings:
            row = {
                "lot": one["id"],
                "departments": _types(one),
                "hammer_price_gbp": one.get("price"),
                "reserve_gbp": one.get("reserve"),
                "units": one["quantity"],
                "era": _renamed(_GAVEL_ERAS, one.get("period")),
                "type": _renamed(_GAVEL_TYPES, one.get("category")),
                "materials": one.get("material"),
            }
            file.write(json.dumps({name: value for name, value in row.items() if value is not None}) + "\n")


def _write_brocante(path: Path, listings: list[_Listing]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["ref", "rayon", "prix", "réserve", "nombre", "siècle", "genre", "matières"])
        for number, one in enumerate(listings):
            rayon = next((own for own, types in _RAYONS.items() if types == _types(one)), _types(one)[0])
            price = "sur demande" if number % 100 == 42 else one.get("price")
            materials = ";".join(_renamed(_MATIERES, each) for each in one.get("material", []))
            genre = _renamed(_GENRES, one.get("category"))
            row = [one["id"], rayon, price, one.get("reserve"), one["quantity"], one.get("period"), genre, materials]
            out.writerow(row)


def _write_attic(path: Path, listings: list[_Listing]) -> None:
    columns = {
        "listing_id": pa.array([one["id"] for one in listings], pa.int64()),
        "event_type": pa.array([_types(one) for one in listings], pa.list_(pa.string())),
        "price_usd": pa.array([one.get("price") for one in listings], pa.int64()).cast(pa.decimal128(21, 2)),
        "reserve_usd": pa.array([one.get("reserve") for one in listings], pa.int64()).cast(pa.decimal128(21, 2)),
        "quantity": pa.array([one["quantity"] for one in listings], pa.int32()),
        "period": pa.array([one.get("period") for one in listings], pa.string()),
        "category": pa.array([one.get("category") for one in listings], pa.string()),
        "material": pa.array([one.get("material") for one in listings], pa.list_(pa.string())),
    }
    pq.write_table(pa.table(columns), path)


_FEEDS: Mapping[str, tuple[str, Callable[[Path, list[_Listing]], None]]] = MappingProxyType(
    {
        "gavel": ("gavel.jsonl", _write_gavel),
        "brocante": ("brocante.csv", _write_brocante),
        "attic": ("attic.parquet", _write_attic),
    }
)
