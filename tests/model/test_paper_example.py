"""Le Subscribe §2.1 as it stands: antiques, furniture, e1 accepted, e2 rejected."""

from __future__ import annotations

import pytest

from tamis.errors import EventError
from tamis.language import parse
from tamis.matchers.naive import conjunction_holds
from tamis.model import Kind, Schema, Use, Value

SCHEMA = Schema.loads("""
[domains.period]
type = "enumerated"
values = ["XVI", "XVII", "XVIII"]
order = [["XVI", "XVII"], ["XVII", "XVIII"]]

[domains.furniture]
type = "hierarchical"

[domains.furniture.parents]
bedroom = []
"dining room" = []
outdoor = []
table = ["dining room"]
chair = ["dining room"]
"dining table" = ["table"]

[attributes]
price = "number"
period = "period"
quantity = "integer"
furniture_category = "furniture"
material = "string"

[event_types.antiques]
price = "mandatory"
period = "mandatory"
quantity = "mandatory"

[event_types.furniture]
price = "mandatory"
quantity = "mandatory"
furniture_category = "mandatory"
material = "optional"
""")

BOTH = ["antiques", "furniture"]
E1 = {"event_type": BOTH, "price": 200, "quantity": 2, "period": "XVI", "furniture_category": "table"}
E2 = {"event_type": BOTH, "price": 100, "quantity": 1, "period": "XVIII"}


def test_e1_satisfies_all_the_consistency_rules() -> None:
    event = SCHEMA.event(E1)

    assert event.values["event_type"] == (Value(Kind.STRING, "antiques"), Value(Kind.STRING, "furniture"))
    assert event.values["price"] == (Value(Kind.NUMBER, 200),)


def test_e2_breaks_r2_since_the_mandatory_furniture_category_is_missing() -> None:
    with pytest.raises(EventError) as caught:
        SCHEMA.event(E2)

    assert caught.value.rule == "R2"
    assert caught.value.attribute == "furniture_category"
    assert str(caught.value).startswith(
        "R2: the mandatory attribute 'furniture_category' of the view of the event types"
    )


def test_the_mandatory_set_of_furniture_is_price_quantity_and_furniture_category() -> None:
    uses = SCHEMA.view(["furniture"]).uses

    assert {name for name, use in uses.items() if use.mandatory} == {"price", "quantity", "furniture_category"}
    assert uses["material"] == Use(mandatory=False, multiple=False)


@pytest.mark.parametrize(("category", "matches"), [("table", True), ("dining table", True), ("chair", False)])
def test_the_subscription_of_section_2_3_finds_antiques_of_a_category(category: str, matches: bool) -> None:
    (conjunction,) = parse("event_type contains antiques and furniture_category <= table", SCHEMA)
    event = SCHEMA.event(E1 | {"furniture_category": category})

    assert conjunction_holds(SCHEMA, conjunction, event) == matches
