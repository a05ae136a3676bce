"""Every operator by every door: what a subscription asks about is read, wherever the subscription is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.language import parse
from tamis.model import Operator, Predicate, Threshold
from tamis.model.regions import has_truth

COUNTED = "at least 2 of (a includes 'x', b = 1, c.d ends with 'y')"
COUNTING = [
    {"a": "axb", "b": 1, "ignored": "x"},
    {"b": 1, "c": {"d": "why"}, "ignored": 7},
    {"a": "xx", "c.d": "y"},
    {"a": ["no", "ox"], "c": {"d": ["x", "my"]}, "b": 2},
    {"a": "axb", "b": 2, "c": {"d": "yes"}},
    {"a": 1, "b": "x"},
    {},
]
ANSWERS = [True, True, True, True, False, False, False]

TEXTS = {
    **{f"{word} a text": f"s {word} 'aB'" for word in ("=", "!=")},
    **{f"{word} a list": f"s {word} ('ab', 'aB')" for word in ("in", "not in")},
    **{f"{sign} a number": f"n {sign} 3" for sign in ("<", "<=", ">", ">=")},
    **{f"not {sign} an attribute": f"not (n {sign} @m)" for sign in ("<", "<=", ">", ">=")},
    **{f"{word} with": f"s {word} with 'a'" for word in ("starts", "not starts", "ends", "not ends")},
    **{word: f"s {word} 'b%'" for word in ("includes", "not includes")},
    **{word: f"s {word} '_%b_%'" for word in ("like", "not like", "ilike", "not ilike")},
    **{f"{word} folded": f"s {word} 'ab' ignoring case" for word in ("=", "!=", "includes", "not includes")},
    **{f"{word} folded": f"s {word} 'A_%' ignoring case" for word in ("like", "not like")},
    **{f"{word} folded": f"s {word} with 'B' ignoring case" for word in ("starts", "not starts", "ends", "not ends")},
    **{f"{word} folded": f"s {word} ('AB', 'ss') ignoring case" for word in ("in", "not in")},
    **{f"{word} folded": f"t {word} 'ab' ignoring case" for word in ("contains", "not contains")},
    **{word: f"t {word} 'aB'" for word in ("contains", "not contains")},
    **{word: f"t {word}" for word in ("is present", "is missing")},
    "at least": "at least 2 of (s includes 'b', n > 2, t contains 'AB' ignoring case)",
    "not at least": "not at least 2 of (s = 'aB', n > 2, at least 1 of (t = 'x', s like '%b'))",
    "any": "any(r: k = 1 and s includes 'b')",
    "not any": "not any(r: k = 1 and s includes 'b')",
    "several": "s includes 'a' and s not like '_b' and s != 'x' ignoring case and n > 1",
    "several of a set": "s includes 'a' and s not like '%B' and n > 1",
}
RECORDS = ([{"k": 1, "s": "ab"}, {"k": 2}], [{"k": 1, "s": "a"}, {"k": 2, "s": "b"}], [{}], [], None)
EVENTS = [
    {"s": s, "n": n, "m": 3, "t": t, "r": RECORDS[at % len(RECORDS)], "ignored": "ab"}
    for at, s in enumerate(("aB", "ab", "ab%c", "xBy", "ba", "", "ß", ["ab", "c"], ["aB", 4], 5, True, None))
    for n, t in ((2, "AB"), (3, ["aB", "x"]), (4, None), (None, 7), (1, ["x", 1]))
]


def by_one(engine: Engine[str], events: list[dict[str, object]]) -> list[list[str]]:
    return [sorted(engine.match(event)) for event in events]


def by_many(engine: Engine[str], events: list[dict[str, object]]) -> list[list[str]]:
    return [sorted(found) for found in engine.match_many(events)]


def by_json(engine: Engine[str], events: list[dict[str, object]]) -> list[list[str]]:
    return [sorted(found) for found in engine.match_json("\n".join(map(json.dumps, events)).encode())]


Door = Callable[[Engine[str], list[dict[str, object]]], list[list[str]]]
DOORS = pytest.mark.parametrize("door", [by_one, by_many, by_json])


@DOORS
@pytest.mark.parametrize("algorithm", ["adaptive", "naive", "counting-lists"])
@pytest.mark.parametrize("frozen", [False, True])
def test_what_members_of_a_count_ask_about_is_read(door: Door, algorithm: str, frozen: bool) -> None:
    engine: Engine = Engine(algorithm=algorithm)
    engine.subscribe("counted", COUNTED)
    if frozen:
        engine.match_many([{}])
    engine.subscribe("new", COUNTED)  # of a segment and a new subscription, both

    assert door(engine, COUNTING) == [["counted", "new"] if answer else [] for answer in ANSWERS]


def test_what_members_of_a_count_ask_about_is_read_of_a_table() -> None:
    engine: Engine = Engine()
    engine.subscribe("counted", COUNTED)
    table = pa.table({"a": ["x", "x", None], "b": [1, 2, 1], "c": [{"d": "n"}, {"d": "n"}, {"d": "y"}], "z": [1, 2, 3]})

    assert list(engine.match_many(table)) == [["counted"], [], ["counted"]]


def test_these_are_all_operators_that_are_told_by_truths() -> None:
    found: set[Operator] = set()

    def add(predicates: list[Predicate]) -> None:
        for one in predicates:
            found.add(one.operator)
            if isinstance(one.operand, Threshold):
                add(list(one.operand.predicates()))

    for text in TEXTS.values():
        add([predicate for conjunction in parse(text, Schema(open=True)) for predicate in conjunction])
    constant = parse("s = 'x'", Schema(open=True))[0][0].operand

    assert {one for one in Operator if has_truth(Predicate("s", one, constant))} <= found


@DOORS
def test_every_operator_has_the_naive_answer_also_when_it_is_kept(door: Door, tmp_path: Path) -> None:
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many(TEXTS)
    expected = by_one(oracle, EVENTS)
    assert {id for found in expected for id in found} == TEXTS.keys(), "each matches something"

    assert door(engine, EVENTS) == expected
    engine.save(tmp_path / "kept")
    with Engine.open(tmp_path / "kept") as opened:
        opened.check()
        assert door(opened, EVENTS) == expected
        opened.observe(EVENTS)
        assert door(opened, EVENTS) == expected


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_operator_alone_has_the_naive_answer_for_single_events(text: str) -> None:
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe("a", text)
        one.match_many([{}])  # so that it stands in a segment

    assert by_one(engine, EVENTS) == by_one(oracle, EVENTS)


@DOORS
@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_what_only_a_contradiction_asks_about_is_not_read(door: Door, algorithm: str) -> None:
    engine: Engine[str] = Engine(algorithm=algorithm)
    engine.subscribe_many([("never", "a < @b and a is missing"), ("some", "c = 1")])

    assert door(engine, [{"a": 1, "b": [[1]], "c": 1}]) == [["some"]]
