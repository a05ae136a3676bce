"""The same answers in every form: in pieces, counted, on two threads, from Arrow, after looking at events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis import Engine, EventError, LimitError, OptionError, Schema
from tamis import engine as engines
from tamis.workloads import auctions
from tests.segments.histories import registry

EVENTS: list[dict[str, object]] = [
    {"a": n % 13, "b": [n % 5, n % 7], "s": f"s{n % 3}"} if n % 4 else {"a": n % 13} for n in range(60)
]
TEXTS = [
    *((n, f"a {['=', '!=', '<', '<=', '>', '>='][n % 6]} {n % 17} and b >= {n % 5}") for n in range(120)),
    *((f"x{n}", f"s = 's{n % 4}' or b contains {n % 6}") for n in range(60)),
    *((f"y{n}", f"a < @b and a != {n % 9}") for n in range(50)),
]


@pytest.fixture(params=["adaptive", "naive"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine = Engine(algorithm=request.param)
    engine.subscribe_many(TEXTS)
    return engine


@pytest.fixture(scope="module")
def expected() -> list[set[object]]:
    oracle = Engine(algorithm="naive")
    oracle.subscribe_many(TEXTS)
    return [set(oracle.match(event)) for event in EVENTS]


@pytest.mark.parametrize("at_once", [1, 7, 60, 1000])
def test_pieces_are_the_batch_in_order(engine: Engine, expected: list[set[object]], at_once: int) -> None:
    pieces = list(engine.match_iter(EVENTS, at_once=at_once))

    assert [set(ids) for piece in pieces for ids in piece] == expected
    assert [len(piece) for piece in pieces[:-1]] == [at_once] * (len(pieces) - 1)


def test_pieces_come_from_arrow_and_from_iterators_too(engine: Engine, expected: list[set[object]]) -> None:
    table = pa.Table.from_pylist([{"a": None, "b": None, "s": None} | event for event in EVENTS])

    for events in (table, table.to_batches()[0], iter(EVENTS)):
        assert [set(ids) for piece in engine.match_iter(events, at_once=64) for ids in piece] == expected


def test_a_piece_with_too_many_matches_is_cut(
    engine: Engine, expected: list[set[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_MOST_MATCHES", 500)

    pieces = list(engine.match_iter(EVENTS, at_once=50))

    assert [set(ids) for piece in pieces for ids in piece] == expected
    assert all(piece.total <= 500 or len(piece) == 1 for piece in pieces)


def test_counts_are_the_lengths_of_the_answers(engine: Engine, expected: list[set[object]]) -> None:
    assert engine.count_many(EVENTS).tolist() == [len(ids) for ids in expected]
    assert engine.count_many([]).tolist() == []


@pytest.mark.parametrize("threads", [2, 3, 1000])
def test_threads_change_nothing(engine: Engine, expected: list[set[object]], threads: int) -> None:
    one, several = engine.match_many(EVENTS), engine.match_many(EVENTS, threads=threads)

    assert [set(ids) for ids in several] == expected
    assert np.array_equal(one.offsets, several.offsets)


def test_observing_changes_no_answer(engine: Engine, expected: list[set[object]]) -> None:
    for sample in (EVENTS[:50], [], [{"unheard": 1}], EVENTS):
        engine.observe(sample)
        assert [set(ids) for ids in engine.match_many(EVENTS)] == expected
        engine.check()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "2", None, True])
def test_a_count_that_is_none_is_an_option_error(engine: Engine, wrong: object) -> None:
    for call in (
        lambda: engine.match_many(EVENTS, threads=wrong),  # type: ignore[arg-type]
        lambda: engine.match_iter(EVENTS, at_once=wrong),  # type: ignore[arg-type]
        lambda: engine.match_iter(EVENTS, threads=wrong),  # type: ignore[arg-type]
    ):
        with pytest.raises(OptionError, match="at least 1"):
            call()


# -- Arrow --------------------------------------------------------------------------------------------------------

COLUMNS = {
    "a dictionary with nothing in it": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["s1", None])),
    "an empty dictionary": pa.array([None, None, None]).cast(pa.dictionary(pa.int32(), pa.string())),
    "lists of dictionaries": pa.array([["s1", None], [], None], pa.list_(pa.string())),
    "large lists": pa.array([["s1", "s2"], ["s2"], None], pa.large_list(pa.large_string())),
    "lists of a fixed size": pa.array([["s1", "s2"], ["s2", "s2"], None], pa.list_(pa.string(), 2)),
    "nothing at all": pa.nulls(3),
    "small floats": pa.array([1.5, 2, None], pa.float32()),
    "huge integers": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "bytes": pa.array([1, 2, None], pa.int8()),
    "truths": pa.array([True, False, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_is_read_as_its_rows_are(name: str) -> None:
    texts = [*enumerate(["v = 's1'", "v contains 's2'", "v > 1", "v = true", "v is missing", f"v = {2**64 - 1}"])]
    engine, oracle = Engine(), Engine(algorithm="naive")
    engine.subscribe_many(texts)
    oracle.subscribe_many(texts)
    table = pa.table({"v": COLUMNS[name], "s": pa.array([{"x": 1}, None, {"x": None}])})

    assert [set(ids) for ids in engine.match_many(table)] == [set(ids) for ids in oracle.match_many(table)]
    assert engine.stats()["attributes"].keys() <= {"v", "s.x"}


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_a_name_that_comes_twice_is_an_event_error(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe("ann", "s.x = 1")
    nested = pa.table({"s": pa.array([{"x": 1}]), "s.x": pa.array([2])})
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["v", "v"])

    for table in (nested, twice):
        with pytest.raises(EventError):
            engine.match_many(table)


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_an_arrow_event_of_too_many_values_is_named_by_its_row(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe("ann", "v = 1")

    with pytest.raises(LimitError, match="event 1: expected at most 100,000 values"):
        engine.match_many(pa.table({"v": pa.array([[1], list(range(100_001))])}))


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_arrow_subscriptions_that_are_none_are_option_errors(algorithm: str) -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32).tobytes()), pa.py_buffer(b"\xff")]
    )
    engine = Engine(algorithm=algorithm)

    for table in (
        pa.table({"id": broken, "expression": ["a = 1"]}),
        pa.table({"id": ["ann"], "expression": broken}),
        pa.Table.from_arrays([pa.array(["ann"])] * 3, ["id", "id", "expression"]),
        pa.table({"id": ["ann"]}),
        pa.table({"id": [1.5], "expression": ["a = 1"]}),
        pa.table({"id": pa.array([None], pa.string()), "expression": ["a = 1"]}),
    ):
        with pytest.raises(OptionError):
            engine.subscribe_many(table)
    assert len(engine) == 0


def test_a_schema_with_event_types_checks_arrow_rows() -> None:
    engine = Engine(Schema.loads(auctions.SCHEMA))
    engine.subscribe("ann", "price < 1000000")
    good = {"event_type": "antiques", "price": 1.0, "quantity": 1, "period": "XVI"}

    assert engine.match_many(pa.Table.from_pylist([good])).for_event(0) == ["ann"]
    with pytest.raises(EventError, match="R2: event 1"):
        engine.match_many(pa.Table.from_pylist([good, good | {"price": None}]))


def test_ids_of_several_segments_come_out_right_as_arrow_too() -> None:
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        for first, count in ((0, 500), (500, 90), (590, 7)):
            one.subscribe_many([(f"id {n}", f"a >= {n % 13}") for n in range(first, first + count)])
    events = [{"a": n} for n in range(15)]
    assert engine.stats()["segments"] > 1

    def pairs(one: Engine) -> list[tuple[int, str]]:
        return sorted(zip(*one.match_many(events).to_arrow().to_pydict().values(), strict=True))

    assert pairs(engine) == pairs(oracle)


def test_each_of_several_segments_keeps_what_it_found_in_clusters() -> None:
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        for first, count in ((0, 4000), (4000, 900)):
            texts = ((f"id {n}", f"a = {n % 450} and b >= {n % 7}") for n in range(first, first + count))
            one.subscribe_many(list(texts))
    events = [{"a": n, "b": n % 9} for n in range(0, 450, 30)]
    assert all(segment.layout.counts["in_clusters"] for segment in registry(engine).subscriptions.snapshot().segments)
    assert engine.stats()["segments"] == 2

    assert [set(ids) for ids in engine.match_many(events)] == [set(oracle.match(event)) for event in events]


NEGATED = ["a = @b and not (a > @b)", "a = @b and not (a < @b)", "not (a < @b) and not (a > @b)", "not (a <= @b)"]


@pytest.mark.parametrize("text", NEGATED)
@pytest.mark.parametrize("of", [pa.int64(), pa.float64(), pa.timestamp("us"), pa.bool_()], ids=str)
def test_negated_comparisons_of_attributes_that_no_other_says(text: str, of: pa.DataType) -> None:
    events = pa.table({"a": pa.array([0, 1, 1, 1, None]).cast(of), "b": pa.array([1, 0, 1, None, 1]).cast(of)})
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe("it", text)

    assert list(engine.match_many(events)) == list(oracle.match_many(events))
    assert [engine.match(event) for event in events.to_pylist()] == list(oracle.match_many(events))


def test_stats_say_where_conjunctions_live_and_why() -> None:
    engine = Engine()
    engine.subscribe_many([(n, f"a = {n} and b < {n % 9}") for n in range(5_000)])
    engine.subscribe_many([(5_000 + n, f"c < {n}") for n in range(9)])
    homes = engine.stats()["homes"]

    assert [(one["where"], one["attributes"], one["conjunctions"]) for one in homes] == [
        ("cluster", ["a"], 5_000),
        ("blocks", [], 9),
    ]
    assert "ns in blocks" in homes[0]["why"]
    assert "no cluster is cheaper" in homes[1]["why"]
