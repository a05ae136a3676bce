"""A schema is a TOML file and a Python value; one is as good as the other."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.errors import SchemaError, TamisError
from tamis.model import Attribute, Enumerated, Hierarchical, Integer, Schema, Untyped, Use
from tests.strategies import schemas


@given(schemas())
@settings(max_examples=200, deadline=None)
def test_toml_loses_nothing_not_even_the_order(schema: Schema) -> None:
    read = Schema.loads(schema.dumps())

    assert read == schema
    assert list(read.domains) == list(schema.domains)
    assert list(read.attributes) == list(schema.attributes)
    assert {name: list(uses) for name, uses in read.event_types.items()} == {
        name: list(uses) for name, uses in schema.event_types.items()
    }


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(_NAMES, min_size=1, unique=True), st.one_of(st.none(), st.integers()))
@settings(max_examples=100, deadline=None)
def test_any_names_and_numbers_survive(names: list[str], low: int | None) -> None:
    domain = Hierarchical.of({name: names[:at][-2:] for at, name in enumerate(names)})
    attributes = {f"a {name}": Attribute(f"a {name}", Integer(low)) for name in names}
    schema = Schema({"d": domain}, attributes, {f"t {names[0]}": dict.fromkeys(attributes, Use(multiple=True))})

    assert Schema.loads(schema.dumps()) == schema


def test_every_way_to_write_a_schema() -> None:
    schema = Schema.loads("""
open = true

[domains.size]
type = "enumerated"
values = ["S", "M"]
order = [["S", "M"]]

[domains.kind]
type = "hierarchical"
parents = { thing = [], toy = ["thing"] }

[attributes]
size = "size"
count = { type = "integer", min = 0 }
whole = "integer"
any = "untyped"
colour = { type = "enumerated", values = ["red"] }

[event_types.sale]
size = "mandatory unique"
count = "optional   multiple"
any = "optional"
""")

    assert schema.open
    assert schema.attributes["size"] == Attribute("size", Enumerated(("S", "M"), (("S", "M"),)), "size")
    assert schema.attributes["count"].domain == Integer(0, None)
    assert schema.attributes["any"].domain == Untyped()
    assert schema.attributes["colour"] == Attribute("colour", Enumerated(("red",)))
    assert schema.event_types["sale"] == {"size": Use(mandatory=True), "count": Use(multiple=True), "any": Use()}


def test_a_written_schema_reads_well() -> None:
    schema = Schema.loads("""
[attributes]
"odd name" = { type = "integer", min = 0, max = 9 }
price = "number"

[event_types.sale]
price = "mandatory unique"
""")

    assert (
        schema.dumps()
        == """[attributes]
"odd name" = { type = "integer", min = 0, max = 9 }
price = "number"

[event_types.sale]
price = "mandatory"
"""
    )


def test_names_that_are_words_of_the_format_survive() -> None:
    words = Hierarchical.of({"type": [], "parents": ["type"]})
    schema = Schema(attributes={"type": Attribute("type", words), "values": Attribute("values", Untyped())})

    assert Schema.loads(schema.dumps()) == schema


def test_an_empty_document_is_a_closed_schema_of_nothing() -> None:
    assert Schema.loads("") == Schema()
    assert Schema().dumps() == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price", "expected TOML: "),
        ("x = " + "[" * 5000, "expected a schema in TOML, found tables nested too deep to read"),
        ("x = " + "9" * 5000, "expected a schema in TOML, found a number too long to read"),
        ("atributes = {}", "the schema: expected open, domains, attributes, event_types, found 'atributes'"),
        ("open = 1", "open: expected true or false, found 1"),
        ("domains = 5", "domains: expected a table, found 5"),
        ("[domains]\nx = 5", "domain 'x': expected a type's name or a table with a type, found 5"),
        ("[domains.x]", "domain 'x': expected type to be one of integer, number,"),
        ("[domains.x]\ntype = ['a']", "found a list"),
        ("[domains.x]\ntype = 'integer'\nmim = 1", "domain 'x': expected type, min, max, found 'mim'; did you"),
        ("[domains.x]\ntype = 'integer'\nmin = 1.5", "domain 'x': min: expected an integer, found 1.5"),
        ("[domains.x]\ntype = 'integer'\nmin = true", "domain 'x': min: expected an integer, found true"),
        ("[domains.x]\ntype = 'integer'\nmin = 5\nmax = 1", "domain 'x': expected min <= max"),
        ("[domains.x]\ntype = 'enumerated'", "domain 'x': values: expected a list of strings, found nothing"),
        ("[domains.x]\ntype = 'enumerated'\nvalues = []", "domain 'x': expected at least one value, found none"),
        ("[domains.x]\ntype = 'enumerated'\nvalues = ['a', 1]", "domain 'x': values: expected a list of strings"),
        ("[domains.x]\ntype = 'enumerated'\nvalues = ['a', 'a']", "domain 'x': the value 'a' stands twice"),
        ("[domains.x]\ntype = 'enumerated'\nvalues = ['a']\norder = ['a']", "domain 'x': order: expected a list of"),
        ("[domains.x]\ntype = 'enumerated'\nvalues = ['a']\norder = [['a']]", "order: expected pairs [lower, upper]"),
        ("[domains.x]\ntype = 'hierarchical'", "domain 'x': expected at least one value, found none"),
        ("[domains.x]\ntype = 'hierarchical'\nparents = { a = 'b' }", "domain 'x': parents of 'a': expected a list"),
        ("[domains.x]\ntype = 'hierarchical'\nparents = { a = ['b'] }", "domain 'x': the value 'a' has the parent 'b'"),
        ("[domains.x]\ntype = 'hierarchical'\nparents = { a = ['a'] }", "domain 'x': the hierarchy goes in a circle"),
        ("[domains.string]\ntype = 'string'", "domain 'string': this is the name of a built-in type"),
        ("[attributes]\nx = 'numbr'", "attribute 'x': no domain or type is called 'numbr'; did you mean 'number'?"),
        ("[attributes]\nx = 'enumerated'", "attribute 'x': no domain or type is called 'enumerated'"),
        ("[attributes]\nx = { min = 1 }", "attribute 'x': expected type to be one of"),
        ("[attributes]\nevent_type = 'string'", "attribute 'event_type' is there by itself"),
        ("[attributes]\n'' = 'string'", "expected a name, found ''"),
        ("[event_types]\nsale = 5", "event type 'sale': expected a table of attributes, found 5"),
        ("[event_types.sale]\nx = 'optional'", "event type 'sale': no attribute is declared as 'x'"),
        (
            "[attributes]\nx = 'number'\n[event_types.sale]\nx = 'mandatry'",
            "event type 'sale', attribute 'x': expected 'mandatory' or 'optional', then perhaps 'unique' or 'multiple'",
        ),
    ],
    ids=range(32),
)  # fmt: skip
def test_a_mistake_is_named_with_its_table(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)

    assert message in str(caught.value)


# -- anything at all ------------------------------------------------------------------------------------------------


def _load(text: str) -> None:
    """Anything but a TamisError fails the test."""
    try:
        schema = Schema.loads(text)
    except TamisError:
        return
    assert Schema.loads(schema.dumps()) == schema


@given(st.text(st.characters(exclude_categories=())))
@settings(max_examples=100, deadline=None)
@example("a = 1979-05-27T07:32:61Z")
def test_any_text_is_a_schema_or_refused(text: str) -> None:
    _load(text)


_WORDS = st.sampled_from(
    (
        *("type", "values", "order", "parents", "min", "max", "a", "b", "string", "integer", "enumerated"),
        *("hierarchical", "mandatory", "optional multiple", "untyped", "event_type"),
    )
)
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    _WORDS, _WORDS, st.booleans(), st.integers(-2, 2), st.floats(), st.dates(), st.datetimes(), st.text(max_size=3)
)
_TREES: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=4)),
    max_leaves=8,
)


def _is_toml(document: dict[str, object]) -> bool:
    try:
        tomllib.loads(tomli_w.dumps(document))
    except (tomllib.TOMLDecodeError, UnicodeEncodeError):
        return False
    return True


@given(
    st.dictionaries(
        st.sampled_from(["domains", "attributes", "event_types", "open", "other"]),
        st.one_of(st.dictionaries(_WORDS, _TREES, max_size=3), _TREES),
    ).filter(_is_toml)
)
@settings(max_examples=200, deadline=None)
def test_any_document_is_a_schema_or_refused(document: dict[str, object]) -> None:
    _load(tomli_w.dumps(document))


@given(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["integer", "enumerated", "hierarchical", "number"]),
        },
        optional={
            "min": st.integers(-2, 2),
            "max": st.integers(-2, 2),
            "values": st.lists(st.sampled_from("abc"), max_size=4),
            "order": st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), max_size=3),
            "parents": st.dictionaries(
                st.sampled_from("abc"), st.lists(st.sampled_from("abcd"), max_size=2), max_size=3
            ),
        },
    )
)
@settings(max_examples=200, deadline=None)
def test_any_domain_is_one_or_refused(domain: dict[str, object]) -> None:
    _load(tomli_w.dumps({"domains": {"d": domain}, "attributes": {"a": "d"}}))
