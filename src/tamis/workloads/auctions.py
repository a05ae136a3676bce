"""The auction story: listings of antiques and furniture, and people who wait for one.

Everything is drawn from one seed, so the same call tells the same story.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["SCHEMA", "listings", "subscriptions"]

SCHEMA = """\
[domains.furniture]
type = "hierarchical"

[domains.furniture.parents]
"dining room" = []
bedroom = []
table = ["dining room"]
"dining table" = ["table"]
"side table" = ["table", "bedroom"]
chair = ["dining room"]
armchair = ["chair"]
bed = ["bedroom"]
wardrobe = ["bedroom"]

[domains.period]
type = "enumerated"
values = ["XVI", "XVII", "XVIII", "XIX"]
order = [["XVI", "XVII"], ["XVII", "XVIII"], ["XVIII", "XIX"]]

[attributes]
price = "number"
reserve = "number"
quantity = { type = "integer", min = 1, max = 100 }
period = "period"
category = "furniture"
material = "string"

[event_types.antiques]
price = "mandatory"
quantity = "mandatory"
period = "mandatory"
reserve = "optional"

[event_types.furniture]
price = "mandatory"
quantity = "mandatory"
category = "mandatory"
material = "optional multiple"
"""

_CATEGORIES = ("table", "dining table", "side table", "chair", "armchair", "bed", "wardrobe")
_GROUPS = ("dining room", "bedroom", "table", "chair")
_PERIODS = ("XVI", "XVII", "XVIII", "XIX")
_MATERIALS = ("oak", "walnut", "pine", "mahogany", "brass", "marble")
_NAMES = ("ann", "bob", "carla", "dev", "eve", "farid", "greta", "hugo", "ines", "jun")


def subscriptions(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Pairs (id, expression)."""
    draw = random.Random(f"auction subscriptions {seed}")
    for number in range(count):
        yield f"{draw.choice(_NAMES)}-{number}", draw.choice(_WISHES)(draw)


def _wish_category(draw: random.Random) -> str:
    return f"category <= '{draw.choice(_GROUPS)}' and price < {draw.randrange(20, 900, 10)}"


def _wish_antique(draw: random.Random) -> str:
    return (
        f"event_type contains antiques and period <= {draw.choice(_PERIODS)} and price < {draw.randrange(50, 2000, 50)}"
    )


def _wish_material(draw: random.Random) -> str:
    first, second = draw.sample(_MATERIALS, 2)
    return f"material contains {first} and material contains {second} and category = '{draw.choice(_CATEGORIES)}'"


def _wish_bargain(draw: random.Random) -> str:
    return f"price < @reserve and quantity >= {draw.randrange(1, 20)}"


def _wish_either(draw: random.Random) -> str:
    low = draw.randrange(10, 500, 10)
    return f"(category <= bedroom or material contains pine) and price between {low} and {low + 100}"


_WISHES = (_wish_category, _wish_antique, _wish_material, _wish_bargain, _wish_either)


def listings(count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Events; about one in fifty breaks a rule, as feeds do."""
    draw = random.Random(f"auction listings {seed}")
    for number in range(count):
        listing = _listing(draw)
        yield _spoil(draw, listing) if number % 50 == 17 else listing


def _listing(draw: random.Random) -> dict[str, object]:
    types = draw.choice((["antiques"], ["furniture"], ["antiques", "furniture"]))
    listing: dict[str, object] = {
        "event_type": types,
        "price": draw.randrange(10, 2000, 5),
        "quantity": draw.randint(1, 20),
    }
    if "antiques" in types:
        listing["period"] = draw.choice(_PERIODS)
        if draw.random() < 0.4:
            listing["reserve"] = draw.randrange(10, 2000, 5)
    if "furniture" in types:
        listing["category"] = draw.choice(_CATEGORIES)
        if draw.random() < 0.7:
            listing["material"] = draw.sample(_MATERIALS, draw.randint(1, 3))
    return listing


def _spoil(draw: random.Random, listing: dict[str, object]) -> dict[str, object]:
    slip = draw.randrange(4)
    if slip == 0:
        return {**listing, "event_type": "antique"}
    if slip == 1:
        return {name: value for name, value in listing.items() if name != "price"}
    if slip == 2:
        return {**listing, "colour": "brown"}
    return {**listing, "quantity": 0}
