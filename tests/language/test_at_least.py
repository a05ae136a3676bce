"""`at least k of (…)`: counted, each member on its own."""

from __future__ import annotations

import random
from math import comb

import pytest

from tamis import Engine, LanguageError, LimitError, Schema
from tamis.language import parse, print_subscription
from tamis.language.normal import MAX_CONJUNCTIONS
from tamis.matchers import MATCHERS

SEED = 16
OPEN = Schema(open=True)


@pytest.mark.parametrize("algorithm", sorted(MATCHERS))
def test_any_number_of_a_hundred_is_counted(algorithm: str) -> None:
    dice = random.Random(SEED)
    engine = Engine(algorithm=algorithm)
    listed = ", ".join(f"a{n} = 1" for n in range(100))
    engine.subscribe_many((k, f"at least {k} of ({listed})") for k in (1, 2, 50, 99, 100))
    engine.subscribe_many((-k, f"not at least {k} of ({listed})") for k in (1, 2, 50, 99, 100))

    for count in (0, 1, 2, 49, 50, 99, 100):
        ones = set(dice.sample(range(100), count))
        found = set(engine.match({f"a{n}": int(n in ones) for n in range(100)}))

        assert found == {k for k in (1, 2, 50, 99, 100) if count >= k} | {-k for k in (1, 2, 50, 99, 100) if count < k}


def test_nothing_is_multiplied_out() -> None:
    listed = ", ".join(f"a{n} = 1 or b{n} = 1" for n in range(20))
    text = f"(x = 1 or y = 1) and at least 5 of ({listed})"

    assert comb(20, 5) > MAX_CONJUNCTIONS
    assert len(parse(text, OPEN)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "at least 2 of (a = 1, b < 2, c contains 'x')",
        "not at least 2 of (a = 1, b < 2 or d is missing, at least 1 of (c contains 'x', e like 'a_%b'))",
        "a = 1 and at least 1 of (b in (1, 2) and c = 'it''s', b = 1)",
    ],
)
def test_a_normal_form_is_read_back(text: str) -> None:
    found = parse(text, OPEN)

    assert parse(print_subscription(found), OPEN) == found


def test_not_twice_is_nothing() -> None:
    text = "at least 2 of (a = 1, b < 2, c contains 'x')"

    assert parse(f"not not {text}", OPEN) == parse(text, OPEN)


def test_members_that_contradict_themselves_count_for_nothing() -> None:
    engine = Engine()

    receipt = engine.subscribe_many(
        [("never", "at least 2 of (a = 1 and a = 2, b = 1)"), ("once", "at least 1 of (a = 1 and a = 2, b = 1)")]
    )

    assert receipt.never_matching == ("never",)
    assert engine.match({"a": [1, 2], "b": 1}) == ["once"]


def test_a_member_shares_no_value_with_what_stands_beside_it() -> None:
    engine = Engine()
    engine.subscribe_many([("apart", "a > 5 and at least 1 of (a < 3)"), ("together", "a > 5 and (a < 3)")])

    assert engine.match({"a": [1, 9]}) == ["apart"]


def test_it_is_kept_with_a_folder(tmp_path: object) -> None:
    with Engine.open(f"{tmp_path}/engine", create=True) as engine:
        engine.subscribe_many((n, f"x = 1 and at least 2 of (a = {n}, b = {n}, c = {n})") for n in range(50))
    with Engine.open(f"{tmp_path}/engine") as engine:
        assert engine.match({"x": 1, "a": 7, "b": [7, 8], "c": 8}) == [7, 8]


def test_members_have_a_limit() -> None:
    with pytest.raises(LimitError, match="at most 100 expressions, found 101"):
        parse(f"at least 1 of ({', '.join(['a = 1'] * 101)})", OPEN)
    with pytest.raises(LanguageError, match="expected a whole number"):
        parse("at least 1.5 of (a = 1)", OPEN)
