"""Both registries keep the one contract, so that the engine need not know which it has."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tamis import EventError, LanguageError, Schema, UnknownSubscription
from tamis.batches.batch import batch_of_events
from tamis.batches.edge import read_batch
from tamis.matchers.naive import Naive
from tamis.model import Kind
from tamis.registry.plain_registry import PlainRegistry
from tamis.registry.protocol import Registry
from tamis.segments.segment_registry import SegmentRegistry

SCHEMA = Schema.loads('[attributes]\na = "integer"\nb = "integer"\ns = "string"\n')
PAIRS = [("ann", "a > 3"), (7, "s = 'x' or b = 2"), ("eve", "a < @b")]
EVENTS: list[dict[str, object]] = [{"a": 5, "b": 2}, {"s": "x"}, {}, {"a": [1, 9], "b": 7}]
EXPECTED = [["ann", 7], [7], [], ["ann", "eve"]]


@pytest.fixture(params=["plain", "segments"])
def registry(request: pytest.FixtureRequest) -> Registry:
    made: Registry
    made = PlainRegistry(SCHEMA, "naive", Naive(SCHEMA)) if request.param == "plain" else SegmentRegistry(SCHEMA)
    made.subscribe_many(PAIRS)
    return made


@pytest.mark.parametrize("of", [PlainRegistry, SegmentRegistry])
def test_a_registry_has_every_method_of_the_protocol_with_its_parameters(of: type) -> None:
    names = [name for name, one in vars(Registry).items() if inspect.isfunction(one) and not name.startswith("_")]
    asked = {name: list(inspect.signature(getattr(Registry, name)).parameters) for name in names}

    assert {name: list(inspect.signature(getattr(of, name)).parameters) for name in names} == asked
    assert {"match", "match_event", "save", "close"} <= asked.keys()


def test_a_mapping_an_event_and_a_batch_have_the_same_answer(registry: Registry) -> None:
    events = [SCHEMA.event(raw) for raw in EVENTS]
    batch = batch_of_events(events)

    assert [registry.match(raw) for raw in EVENTS] == EXPECTED
    assert [registry.match_event(event) for event in events] == EXPECTED
    for threads in (1, 2):
        assert [sorted(ids, key=str) for ids in registry.match_many(batch, threads)] == [
            sorted(ids, key=str) for ids in EXPECTED
        ]
    assert registry.count_many(batch).tolist() == [2, 1, 0, 2]


def test_a_batch_of_arrow_may_be_asked_in_part(registry: Registry) -> None:
    table = pa.Table.from_pylist([{"a": [1, 9], "b": 7, "s": None}, {"a": None, "b": 2, "s": "x"}, {"a": [4], "b": 1}])
    batch = read_batch(table, SCHEMA)

    assert registry.count_many(batch).tolist() == [2, 1, 1]
    assert [set(ids) for ids in registry.match_many(batch.select(np.array([1, 2])))] == [{7}, {"ann"}]


def test_columns_are_pairs(registry: Registry) -> None:
    ids, texts = pa.array(["ann", "new", "ann"], pa.large_string()), pa.array(["a > 1", "a < 1", "a > 2"])

    assert registry.subscribe_columns(ids, texts) == (2, 1, (), ())
    assert registry.items() == [*PAIRS[1:], ("new", "a < 1"), ("ann", "a > 2")]
    with pytest.raises(LanguageError, match=r"subscription 1 \(row 1\)"):
        registry.subscribe_columns(pa.array([0, 1]), pa.array(["a > 1", "a >"]))
    assert len(registry) == 4


def test_what_raises_changes_nothing(registry: Registry) -> None:
    with pytest.raises(EventError):
        registry.match({"unknown": 1})
    with pytest.raises(UnknownSubscription):
        registry.unsubscribe("nobody")
    with pytest.raises(UnknownSubscription):
        registry.text("nobody")
    with pytest.raises(LanguageError):
        registry.subscribe("ann", "a >")

    assert registry.items() == PAIRS
    registry.check()


def test_what_is_held_is_told(registry: Registry) -> None:
    registry.subscribe("never", "a < 1 and a > 2")
    registry.observe([SCHEMA.event(raw) for raw in EVENTS])

    assert registry.attributes() == {"a": {Kind.NUMBER}, "b": {Kind.NUMBER}, "s": {Kind.STRING}}
    assert {"subscriptions": 4, "conjunctions": 4, "never_matching": 1}.items() <= registry.stats().items()
    assert ("never" in registry, "nobody" in registry, registry.text("eve")) == (True, False, "a < @b")
    registry.check()


def test_a_registry_is_saved_and_closed_as_often_as_one_likes(registry: Registry, tmp_path: Path) -> None:
    for name in ("one", "one", "two"):
        registry.save(tmp_path / name)
        registry.close()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert registry.match(EVENTS[0]) == EXPECTED[0]
