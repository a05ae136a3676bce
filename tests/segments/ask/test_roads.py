"""One event against several segments: the road is chosen first, and then each segment is asked once."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from tamis import Engine, EventError, Schema
from tamis.segments.ask import answering, mapping_codes, one_event
from tests.segments.histories import registry

SCHEMA = Schema.loads(
    '[attributes]\na = "integer"\nb = "number"\ns = "string"\n"t.u" = "integer"\n'
    'colour = { type = "enumerated", values = ["red", "green"] }\n'
)
FLAT = [(f"flat {n}", f"a >= {n} and b < {n + 50}") for n in range(120)]
EITHER = [(f"either {n}", f"a = {n} or b > {n} or s = 'x'") for n in range(50)]
LINKED = [(f"linked {n}", f"a > @b and a != {n}") for n in range(20)]
DELTA = [("delta", "a > 1 or s = 'y'"), ("nested", "t.u = 3")]

EVENTS: dict[str, dict[str, object]] = {
    "plain values": {"a": 3, "b": 1.5, "s": "x"},
    "plain values of other attributes": {"s": "y", "colour": "red", "t.u": None},
    "no values": {},
    "several values": {"a": [3, 70], "b": 1, "s": "x"},
    "several values, all the same": {"a": [3, 3, None], "b": 1},
    "several values that nobody looks at": {"a": 3, "colour": ["red", "green"]},
    "several values that links look at": {"a": 5, "b": [1, 9], "s": ["x", "y"]},
    "objects inside": {"a": 3, "t": {"u": 3}},
    "a huge number": {"a": 2**70, "b": 1},
    "text that is not ASCII": {"a": 3, "s": "é"},
    "a value that is missing": {"a": 3, "b": 1, "s": "x", "colour": None},
}


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with every call of a kernel: `one` for an event on its own, `batch` for a batch."""
    called: list[str] = []

    def counted(kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
        return lambda *rest: called.append(name) or kernel(*rest)

    monkeypatch.setattr(one_event, "match_one", counted(one_event.match_one, "one"))
    monkeypatch.setattr(answering, "list_matches", counted(answering.list_matches, "batch"))
    return called


def grown(*, delta: bool) -> tuple[Engine, Engine]:
    """An engine with a flat segment, one with `or` and one with links, some of them dead; and the oracle."""
    engine, oracle = Engine(SCHEMA), Engine(SCHEMA, algorithm="naive")
    for one in (engine, oracle):
        for part in (FLAT, EITHER, LINKED):
            one.subscribe_many(part)
        for id in ("flat 3", "either 7", "linked 2"):
            one.unsubscribe(id)
        for pair in DELTA if delta else ():
            one.subscribe(*pair)
    assert (engine.stats()["segments"], engine.stats()["delta"]) == (3, 2 * delta)
    return engine, oracle


@pytest.mark.parametrize("delta", [False, True], ids=["segments", "segments and a delta"])
@pytest.mark.parametrize("name", EVENTS)
def test_each_segment_is_asked_once(name: str, delta: bool, kernels: list[str]) -> None:
    engine, oracle = grown(delta=delta)
    expected = oracle.match(EVENTS[name])

    for _ in range(2):  # a shape that was never seen, and one that is known
        kernels.clear()
        assert engine.match(EVENTS[name]) == expected
        assert len(kernels) == 3


def test_only_the_segments_that_need_a_batch_get_one(kernels: list[str]) -> None:
    engine, _ = grown(delta=False)

    engine.match({"a": 2**70, "s": ["x", "z"]})  # the flat one and the links do not look at the strings

    assert sorted(kernels) == ["batch", "one", "one"]


@pytest.mark.parametrize("wrong", [{"colour": "blue"}, {"b": math.nan}, {"s": "\ud800"}, {"a": 2.5}, {"unknown": 1}])
def test_nobody_is_asked_about_an_event_that_is_none(wrong: dict[str, object], kernels: list[str]) -> None:
    engine, _ = grown(delta=False)
    good = {"a": 3, "b": 1.5, "s": "x", "colour": "red"}
    engine.match(good)
    kernels.clear()

    with pytest.raises(EventError) as caught:
        engine.match(good | wrong)
    assert kernels == []
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("name", "road"),
    [("plain values", "plain"), ("no values", "plain"), ("several values", "careful"), ("a huge number", "careful")],
)
def test_plain_values_take_the_plain_road_past_any_segment(name: str, road: str, roads: list[str]) -> None:
    for delta in (False, True):
        engine, _ = grown(delta=delta)
        engine.match(EVENTS[name])
        engine.match(EVENTS[name])

    assert roads == [road] * 4


def test_more_shapes_than_are_kept_are_put_to_the_schema(monkeypatch: pytest.MonkeyPatch, roads: list[str]) -> None:
    monkeypatch.setattr(mapping_codes, "_MOST_SHAPES", 2)
    schema = Schema.loads(
        '[attributes]\na = "integer"\nb = "integer"\n[event_types.t]\na = "optional"\nb = "optional"\n'
    )
    engine = Engine(schema)
    engine.subscribe_many([(n, f"{name} > {n}") for n, name in enumerate("abababab")])
    asked: list[object] = []
    event = Schema.event
    monkeypatch.setattr(Schema, "event", lambda *given: asked.append(given[1]) or event(*given))

    for raw in ({"a": 9}, {"b": 9}, {"a": 9, "b": 9}, {"a": 8}, {"b": 9, "a": 9}, {"a": 9, "b": 9}):
        engine.match(raw)

    assert asked == [{"a": 9}, {"b": 9}, {"a": 9, "b": 9}, {"b": 9, "a": 9}, {"a": 9, "b": 9}]
    assert roads == ["plain"] * 6


def test_a_shape_of_long_names_is_not_kept(roads: list[str]) -> None:
    engine, oracle = grown(delta=False)
    long: dict[str, object] = {"x" * 4_000 + str(at): None for at in range(3)}
    for event in ({"a": 1} | long, {"a": 1}, {"a": 1} | long):
        assert engine.match(event) == oracle.match(event)

    assert roads == ["careful", "plain", "careful"]


@pytest.mark.parametrize("ranked", ["at once", "when an event satisfies many"])
@pytest.mark.parametrize("seen", ["one segment", "several segments"])
def test_ids_come_once_and_in_the_order_of_subscribing_where_subscriptions_have_several_rows(
    seen: str, ranked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ranked != "at once":
        monkeypatch.setattr(one_event, "_SOON_RANKED", 0)
    engine, oracle = Engine(SCHEMA), Engine(SCHEMA, algorithm="naive")
    sizes = [400] if seen == "one segment" else [250, 100, 50]
    texts = [f"b >= {400 - n} or a < {n} or a >= {400 - n}" for n in range(400)]  # no run of rows is in order
    for one in (engine, oracle):
        for size, first in zip(sizes, [0, 250, 350], strict=False):
            one.subscribe_many([(n, texts[n]) for n in range(first, first + size)])
        for id in range(0, 400, 7):
            one.unsubscribe(id)
    assert engine.stats()["segments"] == len(sizes)

    for a in (0, 1, 30, 64, 65, 200, 399, 1_000):
        for event in ({"a": a}, {"a": a, "b": a / 2}, {"a": [a, a + 1]}):
            assert engine.match(event) == oracle.match(event)


def test_a_mapping_that_is_no_dictionary_is_read_as_an_event(roads: list[str]) -> None:
    class Lower(dict[str, object]):
        def items(self) -> Any:
            return [(name.lower(), value) for name, value in super().items()]

    engine, oracle = grown(delta=False)
    event = Lower(A=3, B=1)

    assert engine.match(event) == oracle.match(event)
    assert roads == ["careful"]


def test_without_segments_what_is_wrong_with_an_event_is_said() -> None:
    engine = Engine(SCHEMA)

    assert engine.match({"a": 1}) == []
    with pytest.raises(EventError, match="unknown"):
        engine.match({"unknown": 1})
    assert registry(engine).match({}) == []
