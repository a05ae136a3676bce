"""Schemas: what they are made of, views, and the four rules of extension."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, SchemaError, TwinDomainWarning
from tamis.language import parse
from tamis.model import Attribute, Domain, Enumerated, Integer, Number, Schema, String, Untyped, Use
from tests.strategies import expressions, raw_events, schemas

MANDATORY, OPTIONAL, MULTIPLE = Use(mandatory=True), Use(), Use(multiple=True)
BASE = (
    Schema()
    .add_domain("size", Enumerated(("S", "M"), (("S", "M"),)))
    .add_attribute("price", "number")
    .add_attribute("size", "size")
    .add_attribute("tags", String())
    .add_event_type("sale", {"price": MANDATORY, "tags": OPTIONAL})
    .add_event_type("stock", {"price": OPTIONAL, "tags": Use(mandatory=True, multiple=True)})
)


# -- what a schema is -----------------------------------------------------------------------------------------------


def test_event_type_is_there_by_itself_with_the_event_types_as_its_domain() -> None:
    domain = BASE.domain("event_type")

    assert isinstance(domain, Enumerated)
    assert domain.names == ("sale", "stock")
    assert BASE.names() == ("price", "size", "tags", "event_type")


def test_a_closed_schema_knows_its_attributes_only_and_an_open_one_any() -> None:
    assert BASE.domain("colour") is None
    assert Schema(open=True).domain("colour") == Untyped()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"domains": {"number": Number()}}, "domain 'number': this is the name of a built-in type; choose another"),
        ({"domains": {"hierarchical": Number()}}, "this is the name of a built-in type"),
        ({"attributes": {"event_type": Attribute("event_type", String())}}, "'event_type' is there by itself"),
        ({"attributes": {"a": Attribute("b", String())}}, "attribute 'a' is called 'b' by itself"),
        ({"attributes": {"": Attribute("", String())}}, "expected a name, found ''"),
        ({"attributes": {"\ud800": Attribute("\ud800", String())}}, "lone surrogate"),
        ({"attributes": {"a": Attribute("a", String(), "text")}}, "the schema declares no such domain as 'text'"),
        ({"event_types": {"sale": {"price": Use()}}}, "event type 'sale': no attribute is declared as 'price'"),
    ],
)  # fmt: skip
def test_a_schema_that_contradicts_itself_is_refused(parts: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(**parts)  # type: ignore[arg-type]

    assert message in str(caught.value)


def test_a_schema_can_be_pickled_after_use() -> None:
    assert parse("size < M", BASE)
    BASE.event({"event_type": "sale", "price": 1})

    assert pickle.loads(pickle.dumps(BASE)) == BASE  # noqa: S301  # our own bytes


# -- views ----------------------------------------------------------------------------------------------------------


def test_in_a_view_mandatory_has_priority_over_optional_and_multiple_over_unique() -> None:
    view = BASE.view(["sale", "stock"])

    assert view.event_types == ("sale", "stock")
    assert view.uses == {"price": MANDATORY, "tags": Use(mandatory=True, multiple=True)}


def test_a_view_does_not_depend_on_the_order_of_its_types() -> None:
    assert BASE.view(["sale", "stock"]).uses == BASE.view(["stock", "sale", "stock"]).uses


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_a_view_is_the_union_of_its_types_by_the_priority_rules(data: st.DataObject) -> None:
    schema = data.draw(schemas().filter(lambda schema: schema.event_types))
    types = data.draw(st.lists(st.sampled_from(sorted(schema.event_types)), min_size=1))
    view = schema.view(types)

    triples = [(name, use) for one in set(types) for name, use in schema.event_types[one].items()]
    assert set(view.uses) == {name for name, _ in triples}
    for name, use in view.uses.items():
        assert use.mandatory == any(one.mandatory for other, one in triples if other == name)
        assert use.multiple == any(one.multiple for other, one in triples if other == name)


def test_a_view_over_an_unknown_type_breaks_r1() -> None:
    with pytest.raises(EventError, match="R1: expected a declared event type, found 'sal'; did you mean 'sale'"):
        BASE.view(["sal"])


# -- the four rules -------------------------------------------------------------------------------------------------


def test_rule_1_adds_a_domain_and_leaves_the_old_schema_as_it_was() -> None:
    extended = BASE.add_domain("count", Integer(0))

    assert extended.domains["count"] == Integer(0)
    assert "count" not in BASE.domains


def test_a_domain_equal_to_an_existing_one_is_added_with_a_warning_that_names_the_twin() -> None:
    with pytest.warns(TwinDomainWarning, match="domain 'format' is equal to the existing domain 'size'") as caught:
        extended = BASE.add_domain("format", Enumerated(("S", "M"), (("S", "M"),)))

    warning = caught[0].message
    assert isinstance(warning, TwinDomainWarning)
    assert (warning.name, warning.twin) == ("format", "size")
    assert set(extended.domains) == {"size", "format"}


def test_a_domain_that_differs_in_its_order_is_no_twin() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert BASE.add_domain("format", Enumerated(("S", "M")))


def test_rule_2_adds_an_attribute_with_a_domain_by_value_or_name() -> None:
    extended = BASE.add_attribute("format", "size").add_attribute("count", Integer(0, 9)).add_attribute("ok", "boolean")

    assert extended.attributes["format"] == Attribute("format", BASE.domains["size"], "size")
    assert extended.attributes["count"] == Attribute("count", Integer(0, 9))


def test_rule_3_adds_an_optional_attribute_to_an_event_type() -> None:
    extended = BASE.extend_event_type("sale", "size").extend_event_type("stock", "size", multiple=True)

    assert extended.event_types["sale"]["size"] == OPTIONAL
    assert extended.event_types["stock"]["size"] == MULTIPLE


def test_rule_4_adds_an_event_type() -> None:
    assert BASE.add_event_type("gift", {"size": MANDATORY}).event_types["gift"] == {"size": MANDATORY}


@pytest.mark.parametrize(
    ("extend", "message"),
    [
        (lambda s: s.add_domain("size", Number()), "domain 'size' exists; an extension may only add"),
        (lambda s: s.add_domain("string", Number()), "domain 'string': this is the name of a built-in type"),
        (lambda s: s.add_attribute("price", "number"), "attribute 'price' exists; an extension may only add"),
        (lambda s: s.add_attribute("event_type", "string"), "attribute 'event_type' is there by itself"),
        (lambda s: s.add_attribute("x", "sise"), "attribute 'x': no domain or type is called 'sise'; did you mean"),
        (lambda s: s.extend_event_type("sale", "tags"), "event type 'sale' has the attribute 'tags'; an extension"),
        (lambda s: s.extend_event_type("sales", "size"), "no event type 'sales' to extend; did you mean 'sale'?"),
        (lambda s: s.extend_event_type("sale", "sizes"), "no attribute is declared as 'sizes'; did you mean 'size'?"),
        (lambda s: s.add_event_type("sale", {}), "event type 'sale' exists; an extension may only add"),
        (lambda s: s.add_event_type("gift", {"prize": OPTIONAL}), "no attribute is declared as 'prize'; did you mean"),
    ],
)  # fmt: skip
def test_an_extension_that_would_change_what_exists_is_refused(extend: object, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        extend(BASE)  # type: ignore[operator]

    assert message in str(caught.value)


def test_all_four_rules_at_once() -> None:
    addition = Schema.loads("""
[domains.condition]
type = "enumerated"
values = ["new", "used"]

[domains.size]
type = "enumerated"
values = ["S", "M"]
order = [["S", "M"]]

[attributes]
price = "number"
size = "size"
condition = "condition"

[event_types.sale]
price = "mandatory"
condition = "optional"

[event_types.gift]
size = "mandatory"
""")
    extended = BASE.extend(addition)

    assert set(extended.domains) == {"size", "condition"}
    assert extended.event_types["sale"] == {"price": MANDATORY, "tags": OPTIONAL, "condition": OPTIONAL}
    assert extended.event_types["gift"] == {"size": MANDATORY}
    assert extended.extend(addition) == extended


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ('[domains.size]\ntype = "integer"', "domain 'size' exists with another definition"),
        ('[attributes]\nprice = "string"', "attribute 'price' exists with another domain"),
        (
            '[attributes]\nprice = "number"\n[event_types.sale]\nprice = "optional"',
            "event type 'sale' uses 'price' as mandatory, not as optional",
        ),
        (
            '[attributes]\nextra = "number"\n[event_types.sale]\nextra = "mandatory"',
            "event type 'sale' exists: its new attribute 'extra' must be optional",
        ),
        ("open = true", "the addition is open and the schema is closed"),
    ],
)
def test_an_addition_that_disagrees_is_refused(addition: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        BASE.extend(Schema.loads(addition))

    assert message in str(caught.value)


def test_an_addition_with_a_twin_domain_warns_too() -> None:
    with pytest.warns(TwinDomainWarning, match="'format' is equal to the existing domain 'size'"):
        BASE.extend(Schema.loads('[domains.format]\ntype = "enumerated"\nvalues = ["S", "M"]\norder = [["S", "M"]]'))


def _extensions(schema: Schema) -> list[Schema]:
    domains: list[Domain] = [Integer(7, 8), Enumerated(("new", "newer"))]
    wider = schema.add_domain("new domain", domains[1]).add_attribute("new", domains[0])
    typed = [wider.extend_event_type(name, "new") for name in wider.event_types]
    return [wider, *typed, *([wider.add_event_type("new type", {"new": MANDATORY})] if wider.event_types else [])]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_extension_breaks_an_event_that_names_its_types_or_a_subscription(data: st.DataObject) -> None:
    schema = data.draw(schemas().filter(lambda schema: not schema.open))
    text, raw = data.draw(expressions(schema)), data.draw(raw_events(schema))
    event, subscription = schema.event(raw), parse(text, schema)
    if schema.event_types:
        raw["event_type"] = [value.data for value in event.values["event_type"]]

    for extended in _extensions(schema):
        assert extended.event(raw) == event
        assert parse(text, extended) == subscription


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_schema_is_saved_and_loaded(tmp_path: Path) -> None:
    BASE.save(tmp_path / "shop.toml")

    assert Schema.load(tmp_path / "shop.toml") == BASE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"[attributes]\nprice = 'nmber'",
            "attribute 'price': no domain or type is called 'nmber'; did you mean 'number'?",
        ),
        (b"\xff", "expected a schema in UTF-8: invalid start byte at byte 0"),
        (b"= 1", "expected TOML: "),
    ],
)
def test_a_bad_file_is_named_in_the_message(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "shop.toml"
    path.write_bytes(content)

    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_file_that_cannot_be_read_or_written_is_a_schema_error(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="expected a schema: No such file or directory"):
        Schema.load(tmp_path / "nothing.toml")
    with pytest.raises(SchemaError, match="expected a schema: Is a directory"):
        Schema.load(tmp_path)
    with pytest.raises(SchemaError, match="expected a schema: embedded null byte"):
        Schema.load("\0")
    with pytest.raises(SchemaError, match="cannot write here: "):
        BASE.save(tmp_path / "no" / "folder.toml")
