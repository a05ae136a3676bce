"""Whatever is published, reading it returns or raises a TamisError that is not an internal one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta, timezone
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.model import Event, Schema, parse_json, read_event
from tamis.model.values import ValueRefused
from tests.strategies import schemas

_TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
_ZONES = st.one_of(st.none(), st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))))
_NUMPY = st.one_of(
    st.builds(np.longdouble, st.floats()),
    st.builds(np.timedelta64, st.integers(0, 9), st.just("s")),
    st.builds(np.datetime64, st.integers(-(2**62), 2**62), st.sampled_from(["Y", "D", "us", "ns", "as"])),
    st.builds(np.array, st.lists(st.integers(), max_size=2)),
    st.builds(np.void, st.binary(min_size=1, max_size=2)),
)
_JSON_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _TEXT)
_PYTHON_LEAVES = st.one_of(
    _JSON_LEAVES,
    st.binary(max_size=4),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.datetimes(timezones=_ZONES),
    _NUMPY,
    st.builds(object),
    st.functions(),
)
_NAMES = st.sampled_from(["a", "b", "price", "seller", "rating", "event_type", "seller.rating", "antiques"])


def _trees(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=8,
    )


_JSON = _trees(_JSON_LEAVES, st.one_of(_NAMES, _TEXT))
_PYTHON = _trees(_PYTHON_LEAVES, st.one_of(_NAMES, _TEXT, st.integers(), st.none(), st.tuples(st.integers())))


def _or_refused(read: Callable[[], object]) -> object:
    """The answer, or None if a TamisError says why not; anything else fails the test."""
    try:
        return read()
    except ValueRefused as error:
        raise AssertionError("an internal error came out") from error
    except TamisError as error:
        if not str(error):
            raise AssertionError("an error says nothing") from error
        return None


@given(schemas(), st.one_of(st.dictionaries(st.one_of(_NAMES, _TEXT), _PYTHON, max_size=4), _PYTHON))
@settings(max_examples=300, deadline=None)
def test_any_python_object_is_an_event_or_refused(schema: Schema, raw: Any) -> None:
    event = _or_refused(lambda: read_event(schema, raw))

    assert event is None or isinstance(event, Event)


@given(schemas(), _JSON)
@settings(max_examples=100, deadline=None)
def test_any_json_is_an_event_or_refused(schema: Schema, tree: Any) -> None:
    text = json.dumps(tree)

    _or_refused(lambda: read_event(schema, parse_json(text)))
    _or_refused(lambda: read_event(schema, parse_json(text.encode("utf-8"))))


@given(st.one_of(_TEXT, st.binary(), st.text(alphabet='{}[]":,0123456789.eE+-truefalsn \\u', max_size=30)))
@settings(max_examples=300, deadline=None)
@example(b"\xff\xfe{\x00")
@example("\ufeff{}")
@example('{"a": ' + "9" * 5000 + "}")
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example(b"\x00\x00\x00{")
def test_any_text_or_bytes_are_json_or_refused(text: str | bytes) -> None:
    found = _or_refused(lambda: parse_json(text))

    assert found is None or isinstance(found, dict)


@given(_PYTHON)
@settings(max_examples=100, deadline=None)
def test_any_samples_are_inferred_from_or_refused(raw: Any) -> None:
    _or_refused(lambda: Schema.infer([raw]))
