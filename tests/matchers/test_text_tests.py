"""Tests of text as they come and go: what holds is what `compare` says, and nobody is looked at for nothing."""

from __future__ import annotations

import random

import pyarrow as pa

from tamis import Engine
from tamis.language import parse
from tamis.matchers.parts.text_tests import TextIndex, TextTests
from tamis.model import Schema, String, compare
from tamis.model.regions import has_truth
from tamis.model.values import string

SEED = 16
OPEN = Schema(open=True)
WORDS = ("starts with", "ends with", "includes", "like")


def drawn(dice: random.Random) -> str:
    word, fold = dice.choice(WORDS), dice.choice(("", " ignoring case"))
    signs = "abA%_" if word == "like" else "abA"
    return f"t {dice.choice(('', 'not '))}{word} '{''.join(dice.choices(signs, k=dice.randint(1, 4)))}'{fold}"


def test_whatever_came_and_went_the_rest_is_found() -> None:
    dice = random.Random(SEED)
    tests, held = TextTests(), {}
    for pid in range(400):
        conjunction = next(iter(parse(drawn(dice), OPEN)), None)
        if conjunction is None or not has_truth(conjunction[0]):
            continue  # it has other words, which are an interval
        held[pid] = conjunction[0]
        tests.insert(pid, conjunction[0])
        if dice.random() < 0.4:
            gone = dice.choice(list(held))
            tests.delete(gone, held.pop(gone))
        value = string("".join(dice.choices("abA", k=dice.randint(0, 6))))

        found = list(tests.search(value))

        expected = {i for i, p in held.items() if compare(String(), p.operator, value, p.constants)}
        assert (set(found), len(found)) == (expected, len(expected))


def test_fifty_thousand_substrings_cost_a_text_those_that_it_has() -> None:
    engine = Engine()
    engine.subscribe_many((n, f"title includes '{n:05}'") for n in range(50_000))

    assert engine.match({"title": "a0123456 and 77777"}) == [1234, 12345, 23456]

    assert engine.stats()["work"]["truths_looked_up"] == 3  # those that it has, each once


def test_the_papers_algorithms_look_at_no_more() -> None:
    engine = Engine(algorithm="counting-lists")
    engine.subscribe_many((n, f"title includes '{n:05}' ignoring case") for n in range(2_000))

    assert engine.match({"title": "01234"}) == [1234]

    assert engine.stats()["work"]["predicates_evaluated"] < 100


def test_a_text_is_searched_once_however_many_events_have_it() -> None:
    engine = Engine()
    engine.subscribe_many((n, f"title like '%{n:03}_x%'") for n in range(1_000))

    engine.match_many([{"title": "1234x"}] * 500)

    assert engine.stats()["work"]["truths_looked_up"] == 2  # 123 and, in vain, 234


def test_patterns_are_found_by_the_rarest_of_their_literals() -> None:
    common = [f"t like '%eee%q{n:03}_'" for n in range(100)]
    index = TextIndex([parse(text, OPEN)[0][0] for text in common])

    index.holding(pa.array(["eee eee eee"]))

    assert index.looked_up == 0


def test_the_receipt_says_how_far_an_index_goes() -> None:
    engine = Engine()

    (one,) = engine.subscribe("a", "t like '%a_b%'").notes
    (many,) = engine.subscribe_many([("b", "t like '__'"), ("c", "t like '___'")]).notes

    assert one == "t like '%a_b%': it is found by its rarest literal, then tried on the values that have it"
    assert many == "t like '__' and 1 like it: it has no literal to be found by and is tried on every value"
    assert engine.subscribe("d", "t includes 'x' and u = 'y' ignoring case").notes == ()
