"""What counts as a value, and which values are the same."""

from __future__ import annotations

import enum
import math
import pickle
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language import parse
from tamis.model import Schema
from tamis.model.values import (
    FIRST_INSTANT,
    LAST_INSTANT,
    MAX_DIGITS,
    Kind,
    Value,
    ValueRefused,
    exact,
    show,
    show_raw,
    timestamp,
    value_of,
)

NOON = int(datetime(2024, 5, 31, 12, tzinfo=UTC).timestamp()) * 10**9


class Colour(str, enum.Enum):  # noqa: UP042  # the kind whose str() is not its value
    RED = "red"

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (True, Value(Kind.BOOLEAN, True)),
        (1, Value(Kind.NUMBER, 1)),
        (2**53 + 1, Value(Kind.NUMBER, 2**53 + 1)),
        (10**400, Value(Kind.NUMBER, 10**400)),
        (-0.0, Value(Kind.NUMBER, 0)),
        (2.5, Value(Kind.NUMBER, 2.5)),
        ("é", Value(Kind.STRING, "é")),
        ("", Value(Kind.STRING, "")),
        (Colour.RED, Value(Kind.STRING, "red")),
        ("é".encode(), Value(Kind.STRING, "é")),
        (Decimal("19.99"), Value(Kind.NUMBER, 19.99)),
        (Decimal(2**53 + 1), Value(Kind.NUMBER, 2**53 + 1)),
        (Decimal("1E+30"), Value(Kind.NUMBER, 10**30)),
        (Decimal("0E+9999"), Value(Kind.NUMBER, 0)),
        (Decimal("1E-9999"), Value(Kind.NUMBER, 0.0)),
        (date(2024, 5, 31), Value(Kind.TIMESTAMP, NOON - 12 * 3600 * 10**9)),
        (datetime(2024, 5, 31, 12, tzinfo=UTC), Value(Kind.TIMESTAMP, NOON)),
        (datetime(2024, 5, 31, 12), Value(Kind.TIMESTAMP, NOON)),  # noqa: DTZ001  # naive is UTC
        (datetime(2024, 5, 31, 14, tzinfo=timezone(timedelta(hours=2))), Value(Kind.TIMESTAMP, NOON)),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), Value(Kind.TIMESTAMP, -1000)),
        (np.int64(3), Value(Kind.NUMBER, 3)),
        (np.uint64(2**64 - 1), Value(Kind.NUMBER, 2**64 - 1)),
        (np.float32(0.5), Value(Kind.NUMBER, 0.5)),
        (np.longdouble(0.5), Value(Kind.NUMBER, 0.5)),
        (np.bool_(True), Value(Kind.BOOLEAN, True)),
        (np.str_("x"), Value(Kind.STRING, "x")),
        (np.datetime64("2024-05-31T12:00"), Value(Kind.TIMESTAMP, NOON)),
        (np.datetime64("2024-05-31T12:00:00.000000001"), Value(Kind.TIMESTAMP, NOON + 1)),
        (np.datetime64("0001-01-01"), Value(Kind.TIMESTAMP, FIRST_INSTANT)),
    ],
)  # fmt: skip
def test_a_python_object_is_the_value_its_type_says(raw: object, value: Value) -> None:
    found = value_of(raw)

    assert found == value
    assert type(found.data) in (bool, float, str) or type(found.data) is type(exact(int(found.data)))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (math.nan, "expected a finite number, found nan"),
        (math.inf, "expected a finite number, found inf"),
        (np.float32("nan"), "expected a finite number, found nan"),
        (np.datetime64("NaT"), "found a datetime64"),
        (np.timedelta64(1, "s"), "found a timedelta64"),
        (np.complex64(1), "found a complex64"),
        (Decimal("NaN"), "expected a finite number, found NaN"),
        (Decimal("sNaN"), "expected a finite number, found sNaN"),
        (Decimal("Infinity"), "expected a finite number, found Infinity"),
        (Decimal("1E+4000"), "expected a number of at most 4,000 digits, found one of 4,001"),
        (Decimal("1" + "0" * 350 + ".5"), "expected a finite number"),
        pytest.param(10**5000, "at most 4,000 digits, found an integer of 16,610 bits", id="10**5000"),
        (b"ab\xff", "expected UTF-8, found byte 0xff at offset 2"),
        ("a\ud800", r"found the lone surrogate U\+D800 at offset 1"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))), "in the years 1 to 9999 of UTC"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=12))), "in the years 1 to 9999 of UTC"),
        (np.datetime64("12024-01-01"), "in the years 1 to 9999 of UTC"),
        (np.datetime64("2024", "Y") + 10**6, "in the years 1 to 9999 of UTC"),
        (None, "expected a number, string, boolean or timestamp, found nothing"),
        ([1], "found a list"),
        ({}, "found a dict"),
        (object(), "found an object"),
        (1j, "found a complex"),
    ],
)
def test_what_is_no_value_is_refused_with_a_sentence(raw: object, message: str) -> None:
    with pytest.raises(ValueRefused, match=message):
        value_of(raw)


def test_a_zone_without_an_offset_is_utc() -> None:
    class Nowhere(tzinfo):
        def utcoffset(self, moment: datetime | None) -> None:
            return None

    assert value_of(datetime(2024, 5, 31, 12, tzinfo=Nowhere())) == Value(Kind.TIMESTAMP, NOON)


def test_pandas_timestamps_keep_their_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")

    assert value_of(pandas.Timestamp("2024-05-31T12:00:00.000000001Z")) == Value(Kind.TIMESTAMP, NOON + 1)
    assert value_of(pandas.Timestamp("2024-05-31T12:00:00.000001002")) == Value(Kind.TIMESTAMP, NOON + 1002)
    with pytest.raises(ValueRefused, match="expected a timestamp, found NaT"):
        value_of(pandas.NaT)


def test_kinds_never_mix_although_python_would() -> None:
    one, true, text = value_of(1), value_of(True), value_of("1")

    assert len({one, true, text}) == 3
    assert value_of(1.0) == one
    assert hash(value_of(1.0)) == hash(one)


def test_numbers_past_the_reach_of_doubles_stay_apart() -> None:
    assert value_of(2**53 + 1) != value_of(2.0**53)
    assert value_of(2**53) == value_of(2.0**53)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2024-05-31T12:00:00Z", NOON),
        ("2024-05-31T12:00", NOON),
        ("2024-05-31 12:00:00+00:00", NOON),
        ("2024-05-31T14:00:00+02:00", NOON),
        ("20240531T120000Z", NOON),
        ("2024-05-31T12:00:00.5Z", NOON + 500_000_000),
        ("2024-05-31T12:00:00.000000001Z", NOON + 1),
        ("2024-05-31T12:00:00,0000012Z", NOON + 1200),
        ("2024-05-31T14:00:00.123456789+02:00", NOON + 123_456_789),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("9999-12-31T23:59:59.999999999Z", LAST_INSTANT),
        ("0001-01-01", FIRST_INSTANT),
    ],
)
def test_iso_text_is_an_instant_to_the_nanosecond(text: str, nanoseconds: int) -> None:
    assert timestamp(text) == Value(Kind.TIMESTAMP, nanoseconds)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2024", "2024-13-01", "2024-05-31T25:00", "12:00", "2024-05-31T12:00:00.1234567891Z", "²024-05-31"],
)
def test_other_text_is_no_instant(text: str) -> None:
    with pytest.raises(ValueRefused, match="expected a timestamp such as '2024-05-31T12:00:00Z'"):
        timestamp(text)


@given(st.integers(FIRST_INSTANT, LAST_INSTANT))
def test_an_instant_is_shown_as_text_that_reads_as_itself(nanoseconds: int) -> None:
    shown = show(timestamp(nanoseconds))

    assert timestamp(shown.removeprefix("timestamp '").removesuffix("'")).data == nanoseconds


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (None, "nothing"),
        (True, "true"),
        ("it's", '"it\'s"'),
        (5, "5"),
        (2.5, "2.5"),
        ([], "a list"),
        (np.array([1]), "a ndarray"),
        (ValueError(), "a ValueError"),
        (object(), "an object"),
        (10**100, "an integer of 333 bits"),
        ("x" * 100, "'" + "x" * 58 + "…"),
        (b"x" * 10**6, "b'" + "x" * 57 + "…"),
    ],
)
def test_any_object_is_shown_briefly(raw: object, shown: str) -> None:
    assert show_raw(raw) == shown


_ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.complex_numbers(),
    st.fractions(),
    st.text(alphabet=st.characters(exclude_categories=())),
    st.binary(),
    st.datetimes(timezones=st.one_of(st.none(), st.timezones())),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.lists(st.integers()),
    st.sampled_from([np.float16, np.int8, np.longdouble, np.bool_, np.complex128]).map(lambda one: one(1)),
    st.builds(np.datetime64, st.integers(-(2**62), 2**62), st.sampled_from(["Y", "D", "s", "us", "ns", "as"])),
)


@given(_ANYTHING)
def test_any_object_is_a_plain_value_or_refused(raw: object) -> None:
    try:
        value = value_of(raw)
    except ValueRefused as error:
        refused = str(error)
        value = None
    if value is None:
        assert refused.startswith("expected ")
    else:
        assert type(value.data) in (bool, float, str) or type(value.data) is type(exact(int(value.data)))
        assert show(value)


def test_a_number_of_the_longest_length_can_be_shown() -> None:
    assert len(show(value_of(10**MAX_DIGITS - 1))) == MAX_DIGITS


_COLLIDING = 2**61 - 1
"""Python hashes every multiple of it as 0."""


def test_whole_numbers_that_python_hashes_alike_are_told_apart_by_their_hash() -> None:
    values = [value_of(_COLLIDING * many) for many in range(1, 20_001)]

    assert len({hash(value) for value in values}) > len(values) * 0.9


@given(st.one_of(st.integers(), st.integers(-(2**1100), 2**1100), st.integers(0, 2**53).map(lambda one: one << 900)))
def test_whole_numbers_that_are_equal_hash_equally_also_as_doubles(whole: int) -> None:
    assert hash(value_of(whole)) == hash(value_of(Decimal(whole)))
    if abs(whole) < 2**1024 - 2**970 and int(float(whole)) == whole:
        assert value_of(float(whole)) == value_of(whole)
        assert hash(value_of(float(whole))) == hash(value_of(whole))


@given(st.integers(2**60, 2**80), st.integers(-2, 2))
def test_bounds_of_long_whole_numbers_meet_the_values_of_events(bound: int, beside: int) -> None:
    schema = Schema.loads(f'[attributes]\nn = {{ type = "integer", min = -{2**90}, max = {2**90} }}')
    (first,) = parse(f"n > {bound - 1} and n < {bound + 3} and n != {bound} and n in ({bound}, {bound + 1})", schema)
    constants = [value for predicate in first for value in predicate.constants]

    assert constants == [value_of(bound + 1)]
    assert {*constants, value_of(bound + 1)} == {*constants}
    assert (value_of(bound + beside) in {*constants}) is (beside == 1)


def test_a_long_whole_number_survives_a_pickle() -> None:
    value = value_of(10**100)

    assert {pickle.loads(pickle.dumps(value)), value} == {value}  # noqa: S301  # our own
