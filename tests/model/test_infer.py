"""A schema proposed from samples."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, LimitError, SchemaError, TamisError
from tamis.model import Boolean, Domain, Enumerated, Integer, Number, Schema, String, Timestamp, Untyped, Use
from tamis.model.names import has_records
from tests.strategies import LIST, raw_events


def _domain(samples: list[object]) -> Domain:
    return Schema.infer([{"x": sample} for sample in samples]).attributes["x"].domain


@pytest.mark.parametrize(
    ("samples", "domain"),
    [
        ([1, 2, 3], Integer()),
        ([1, 2.0], Integer()),
        ([1, 2.5], Number()),
        ([True, False], Boolean()),
        ([True, 1], Untyped()),
        (["a", 1], Untyped()),
        (["a", "b", "c"], String()),
        (["2024-05-31", "2024-05-31T12:00:00Z"], Timestamp()),
        (["2024-05-31", "soon"], String()),
        (["20240531"], String()),  # as likely a number
        (["b", "a"] * 5, Enumerated(("a", "b"))),
        (["b", "a"] * 4, String()),  # too few to be sure
        ([str(at) for at in range(21)] * 5, String()),  # too many to list
    ],
)
def test_a_domain_is_the_narrowest_that_holds_the_samples(samples: list[object], domain: Domain) -> None:
    assert _domain(samples) == domain


def test_an_attribute_is_mandatory_if_every_sample_has_it_and_multiple_if_one_has_several() -> None:
    schema = Schema.infer([{"a": 1, "b": 1}, {"a": [1, 2]}, {"a": 1, "b": [2, 2.0]}])

    assert schema.event_types == {"event": {"a": Use(mandatory=True, multiple=True), "b": Use()}}


def test_each_event_type_gets_the_attributes_of_its_samples() -> None:
    schema = Schema.infer(
        [
            {"event_type": "antiques", "price": 1, "period": "XVI"},
            {"event_type": "furniture", "price": 2, "material": "oak"},
            {"event_type": ["antiques", "furniture"], "price": 3, "period": "XVI", "material": "oak"},
        ]
    )

    assert schema.event_types == {
        "antiques": {"price": Use(mandatory=True), "period": Use(mandatory=True)},
        "furniture": {"price": Use(mandatory=True), "material": Use(mandatory=True)},
    }


def test_nested_samples_get_names_with_dots() -> None:
    assert set(Schema.infer([{"seller": {"rating": 5, "name": "Ann"}}]).attributes) == {"seller.rating", "seller.name"}


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([{"a": 1}, {"a": float("nan")}], "sample 2: attribute 'a': expected a finite number, found nan"),
        ([{"a": 1}, 5], "sample 2: expected an event as a mapping of attributes to values, found 5"),
        ([{"event_type": "x"}, {"a": 1}], "R1: sample 2: expected event_type as in other samples, found none"),
        ([{"event_type": 5}], "sample 1: R1: expected an event type's name, found 5"),
    ],
)
def test_a_bad_sample_is_named_by_its_number(samples: list[dict[str, object]], message: str) -> None:
    with pytest.raises(EventError) as caught:
        Schema.infer(samples)

    assert str(caught.value) == message


def test_a_sample_past_a_limit_is_named_by_its_number() -> None:
    with pytest.raises(LimitError, match=r"sample 1: expected at most 100,000 values"):
        Schema.infer([{"a": list(range(100_001))}])


def test_no_samples_are_an_error() -> None:
    with pytest.raises(SchemaError, match="expected at least one sample event, found none"):
        Schema.infer([])


def has_no_plain_list(sample: Mapping[str, object]) -> bool:
    """Whether what is called as the lists of records holds records, within records too."""
    found = sample.get(LIST)
    if not isinstance(found, list) or not has_records(found):
        return LIST not in sample
    return all(has_no_plain_list(one) for one in found if isinstance(one, Mapping))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_an_inferred_schema_accepts_its_samples_and_survives_toml(data: st.DataObject) -> None:
    samples = data.draw(st.lists(raw_events(Schema(open=True)), min_size=1, max_size=6))
    typed = [sample for sample in samples if "event_type" in sample]
    samples = [sample for sample in typed or samples if has_no_plain_list(sample)]
    assume(samples)
    schema = Schema.infer(samples)

    for sample in samples:
        assert schema.event(sample).values
    assert Schema.loads(schema.dumps()) == schema


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.dates().map(str)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "event_type", "a.b"]), _JSON, max_size=3), max_size=4))
@settings(max_examples=200, deadline=None)
def test_any_samples_give_a_schema_that_accepts_them_or_an_error(samples: list[dict[str, object]]) -> None:
    try:
        schema = Schema.infer(samples)
    except TamisError:
        return
    for sample in samples:
        schema.event(sample)
