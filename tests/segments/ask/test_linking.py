"""Comparisons of two attributes: settled by the segment, looked at again only where one value must do for two."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import product

import pytest

from tamis import Engine, Schema
from tamis.language import parse
from tamis.model import (
    Boolean,
    Domain,
    Enumerated,
    Event,
    Hierarchical,
    Integer,
    Number,
    Operator,
    String,
    Timestamp,
    Untyped,
    compare,
)
from tamis.model.bindings import some_pair
from tamis.model.schema import Attribute
from tamis.segments.ask import doubts, linking
from tamis.segments.ask import roads as one_by_one
from tests.segments.histories import compare_answers, registry

GRADE = Enumerated(("p", "q", "r", "s", "t"), (("p", "q"), ("q", "r"), ("p", "s"), ("s", "r")))
THING = Hierarchical.of({"x": (), "y": ("x",), "z": ("x",), "w": ("y", "z"), "v": ()})
LARGE = 2**53
NUMBERS = (0, 1, 2, 2.5, 1.0, LARGE, LARGE + 1, float(LARGE), 2**63, 2**70, -(2**63), 1e300)
DAYS = tuple(datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3))
VALUES: dict[str, tuple[Domain, tuple[object, ...]]] = {
    "i": (Integer(), tuple(n for n in NUMBERS if isinstance(n, int))),
    "n": (Number(), NUMBERS),
    "s": (String(), ("", "a", "ab", "b", "é")),
    "b": (Boolean(), (True, False)),
    "t": (Timestamp(), DAYS),
    "e": (GRADE, GRADE.names),
    "h": (THING, THING.names),
    "u": (Untyped(), (0, 1, 1.5, LARGE + 1, float(LARGE), "a", "b", True, False, DAYS[0])),
}
NAMES = [f"{kind}{number}" for kind in VALUES for number in (1, 2, 3)]
SCHEMA = Schema({}, {name: Attribute(name, VALUES[name[0]][0]) for name in NAMES}, {})
LINKS = [*(Operator(text) for text in ("=", "!=", "<", "<=", ">", ">=", "not <", "not <=", "not >", "not >="))]
MARKET = '[attributes]\nbid = "integer"\nreserve = "integer"\nstep = "integer"\nx = "integer"\n'


def constant(raw: object) -> str:
    match raw:
        case bool():
            return "true" if raw else "false"
        case datetime():
            return f"timestamp '{raw.isoformat()}'"
        case str():
            return f"'{raw}'"
    return repr(raw)


def some_test(rng: random.Random, names: list[str]) -> str:
    name = rng.choice(names)
    operators = ("=", "!=") if name[0] == "b" else ("=", "!=", "<", "<=", ">", ">=")
    others = [other for other in names if other != name and (other[0] == name[0] or {other[0], name[0]} == {"i", "n"})]
    if rng.random() < 0.5:
        text = f"{name} {rng.choice(operators)} @{rng.choice(others)}"
    elif rng.random() < 0.8:
        operand = rng.choice(VALUES[name[0]][1])
        text = f"{name} {rng.choice(('=', '!=') if isinstance(operand, bool) else operators)} {constant(operand)}"
    else:
        text = f"{name} {rng.choice(('contains', 'not contains'))} {constant(rng.choice(VALUES[name[0]][1]))}"
    return f"not ({text})" if rng.random() < 0.25 else text


def some_event(rng: random.Random, names: list[str], most: int) -> dict[str, object]:
    chosen = [name for name in names if rng.random() < 0.9]
    return {name: one_or_more(rng, VALUES[name[0]][1], most) for name in chosen}


def one_or_more(rng: random.Random, values: tuple[object, ...], most: int) -> object:
    listed = [rng.choice(values) for _ in range(rng.randint(1, most))]
    return listed[0] if len(listed) == 1 else listed


@pytest.mark.parametrize("seed", range(24))
def test_links_of_any_domain_mean_what_the_naive_matcher_says(seed: int) -> None:
    rng = random.Random(seed)
    kinds = rng.sample(list(VALUES), rng.choice([1, 2]))
    names = [name for name in NAMES if name[0] in kinds]
    ways, most = rng.choice([(" and ",), (" and ", " and ", " or ")]), rng.choice([1, 2, 4])
    engine, oracle = Engine(SCHEMA), Engine(SCHEMA, algorithm="naive")
    for segment in range(2):
        texts = [rng.choice(ways).join(some_test(rng, names) for _ in range(rng.randint(1, 4))) for _ in range(40)]
        for one in (engine, oracle):
            one.subscribe_many((40 * segment + n, text) for n, text in enumerate(texts))
        registry(engine).subscriptions.flush()
        for id in rng.sample(oracle.ids(), 3):
            engine.unsubscribe(id)
            oracle.unsubscribe(id)
        for count in (1, 20):  # a few are taken one by one, more by the column
            compare_answers(engine, oracle, [some_event(rng, names, most) for _ in range(count)])


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("operator", LINKS)
def test_some_pair_is_compare_over_all_pairs(kind: str, operator: Operator) -> None:
    domain, raws = VALUES[kind]
    rng = random.Random(f"{kind} {operator}")
    for _ in range(200):
        mine, theirs = (
            tuple(dict.fromkeys(domain.value(rng.choice(raws)) for _ in range(rng.randint(1, 3)))) for _ in range(2)
        )
        expected = any(compare(domain, operator, *pair) for pair in product(mine, theirs))

        assert some_pair(domain, operator, Event({"a": mine, "b": theirs}), "a", "b") is expected, (mine, theirs)


def market(texts: list[str]) -> Engine:
    engine = Engine(Schema.loads(MARKET))
    engine.subscribe_many(enumerate(texts))
    registry(engine).subscriptions.flush()
    return engine


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by one with every second look."""
    found: list[object] = []
    first = doubts.Doubts.holds

    def holds(self: doubts.Doubts, forms: list[doubts._Form], event: object) -> bool:
        found.append(event)
        return first(self, forms, event)  # type: ignore[arg-type]

    monkeypatch.setattr(doubts.Doubts, "holds", holds)
    return found


@pytest.mark.parametrize("copies", [1, 20])
def test_what_no_pair_of_values_satisfies_is_no_candidate(looks: list[object], copies: int) -> None:
    engine = market([f"bid > @reserve and bid < 100 and x < {n}" for n in range(1, 200)])

    found = engine.match_many([{"bid": [1, 2], "reserve": [5, 6], "x": 0}] * copies)

    assert found.total == 0
    assert looks == []


def test_a_link_that_stands_alone_needs_no_second_look(looks: list[object]) -> None:
    alone = [
        "bid > @reserve",
        "bid > @reserve and x = 0",
        "bid > @reserve and bid contains 9",
        "x = 0 or bid = @reserve",
    ]
    engine = market([*alone, "bid > @reserve and bid < 7", "bid > @reserve and reserve = @step"])

    assert engine.match({"bid": [1, 9], "reserve": 5, "x": 0, "step": 5}) == [0, 1, 2, 3, 5]
    assert len(looks) == 2


def test_a_text_is_read_once_for_all_events_and_no_more_are_kept_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    monkeypatch.setattr(doubts, "parse", lambda text, schema: read.append(text) or parse(text, schema))
    monkeypatch.setattr(doubts, "_MOST_KEPT", 5)
    texts = [f"bid > @reserve and bid < {n}" for n in (10, 20, 30)]
    engine, event = market(texts), {"bid": [8, 18], "reserve": 5}

    for _ in range(2):
        assert [set(ids) for ids in engine.match_many([event] * 10)] == [{0, 1, 2}] * 10
    assert sorted(read) == [*texts, texts[int(read[-1][-2]) - 1]]  # two of them are kept


def test_many_values_on_both_sides_are_not_tried_pair_by_pair() -> None:
    """These are four million pairs."""
    engine = market(["bid > @reserve and bid < 5000", "bid = @reserve and x = 1", "bid > @reserve and bid > 0"])
    event = {"bid": list(range(2000)), "reserve": list(range(2000, 4000)), "x": 1}

    assert engine.match(event) == []
    assert engine.match(event | {"reserve": [*range(2000, 4000), 7]}) == [0, 1, 2]


def test_booleans_have_no_order_and_kinds_do_not_mix() -> None:
    event = Schema(open=True).event({"a": [True, 1], "b": [False, "a"]})

    assert some_pair(Untyped(), Operator.NE, event, "a", "b")
    assert not any(some_pair(Untyped(), one, event, "a", "b") for one in LINKS if one is not Operator.NE)


# -- one event at a time ------------------------------------------------------------------------------------------


@pytest.fixture
def no_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an event of single values was made a batch")

    monkeypatch.setattr(one_by_one, "batch_of_events", refuse)


@pytest.mark.usefixtures("no_batches")
@pytest.mark.parametrize("seed", range(30))
def test_single_values_take_the_short_road(seed: int) -> None:
    rng = random.Random(seed)
    kind = rng.choice(list(VALUES))
    names = [name for name in NAMES if name[0] == kind]
    word = rng.choice([" and ", " or "])
    engine, oracle = Engine(SCHEMA), Engine(SCHEMA, algorithm="naive")
    texts = [word.join(some_test(rng, names) for _ in range(rng.randint(1, 3))) for _ in range(40)]
    for one in (engine, oracle):
        one.subscribe_many(enumerate(texts))
    registry(engine).subscriptions.flush()
    for event in [some_event(rng, names, 1) for _ in range(60)]:
        expected = oracle.match(event)

        assert engine.match(event) == expected, event
        assert registry(engine).match_event(SCHEMA.event(event)) == expected


def test_a_mapping_of_plain_values_settles_its_links_itself(roads: list[str]) -> None:
    engine = market(["bid > @reserve", "bid = @reserve", "bid != @reserve and x = 1", "not (bid > @step)"])

    for _ in range(2):
        assert engine.match({"bid": 5, "reserve": 3, "x": 1}) == [0, 2]
        assert engine.match({"bid": 3, "reserve": 3, "x": 1}) == [1]
        assert engine.match({"bid": 3, "reserve": None, "x": 1, "step": 3}) == [3]
        assert engine.match({"bid": [3, 4], "reserve": 3}) == [0, 1]
    assert roads == ["plain", "plain", "plain", "careful"] * 2


def test_an_event_type_that_goes_without_saying_can_be_compared() -> None:
    schema = Schema.loads('[attributes]\nname = "string"\n[event_types.sale]\nname = "optional"\n')
    for algorithm in ("adaptive", "naive"):
        engine = Engine(schema, algorithm=algorithm)
        engine.subscribe_many([(1, "name = @event_type"), (2, "name != @event_type")])

        assert [engine.match({"name": name}) for name in ("sale", "rent")] == [[1], [2]]


# -- many links ---------------------------------------------------------------------------------------------------


def test_a_batch_visits_only_the_links_whose_attributes_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[tuple[str, str, int]] = []
    settle = linking._Settling.settle

    def watched(self: linking._Settling, name: str, other: str, between: list[tuple[int, Operator]]) -> None:
        visited.append((name, other, len(between)))
        settle(self, name, other, between)

    monkeypatch.setattr(linking._Settling, "settle", watched)
    names = [f"n{number:02}" for number in range(50)]
    schema = Schema({}, {name: Attribute(name, Integer()) for name in names}, {})
    engine = Engine(schema)
    pairs = list(product(names[:-1], (">", "<", "!="), names[-1:]))
    engine.subscribe_many((" ".join(pair), f"{pair[0]} {pair[1]} @{pair[2]}") for pair in pairs)

    found = engine.match_many([{"n07": 3, "n49": 1}, {"n07": 1, "n48": 2}, {"n49": 1, "n07": [1, 1]}])

    assert [set(ids) for ids in found] == [{"n07 > n49", "n07 != n49"}, set(), set()]
    assert sorted(visited) == [("n07", "n49", 3), ("n48", "n49", 3)]
