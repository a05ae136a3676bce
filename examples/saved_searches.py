"""Saved searches in one process: who wants to hear of this morning's listings? python saved_searches.py"""

from __future__ import annotations

from textwrap import indent

import tamis

SCHEMA = """
[domains.goods]
type = "hierarchical"
parents = { furniture = [], chair = ["furniture"], table = ["furniture"], "dining table" = ["table"] }

[attributes]
title = "string"
category = "goods"
price = "number"
material = "string"

[event_types.listing]
title = "mandatory"
category = "mandatory"
price = "mandatory"
material = "optional multiple"
"""

SEARCHES = {
    "ann": "category <= table and price < 200",
    "bob": "material contains oak and not (category <= table)",
    "eve": "price between 20 and 60 or title starts with 'Thonet'",
    "joe": "categry = chair",
}

LISTINGS = [
    {"title": "Dining table, seats six", "category": "dining table", "price": 180, "material": ["oak", "iron"]},
    {"title": "Thonet No. 14", "category": "chair", "price": 240, "material": "beech"},
    {"title": "Kitchen chair", "category": "chair", "price": 35, "material": "oak"},
    {"title": "Desk", "category": "desk", "price": 90},
]


def main() -> None:
    engine = tamis.Engine(tamis.Schema.loads(SCHEMA))
    for person, search in SEARCHES.items():
        try:
            engine.subscribe(person, search)
        except tamis.LanguageError as error:
            print(f"{person}'s search cannot be read, {error}\n{indent(error.pointer(), '  ')}")
    for listing in LISTINGS:
        try:
            told = engine.match(listing)
        except tamis.EventError as error:
            print(f"{listing['title']}: rejected, {error}")
        else:
            print(f"{listing['title']}: {', '.join(map(str, told)) or 'nobody'}")
    print(f"Why does bob not hear of the dining table? It {engine.explain('bob', LISTINGS[0])}")


if __name__ == "__main__":
    main()
