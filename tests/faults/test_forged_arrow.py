"""Arrow from strangers is refused with a sentence or answered: never read past the end of its buffers.

The trials are made by `forged_arrow`: any words of a stream are altered, or arrays are made by hand whose offsets,
lengths, nulls and bitmaps do not fit. What Arrow itself refuses to read never came as far as here, and is not counted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis import Engine, EventError, LimitError, OptionError
from tests.faults.forged_arrow import TYPED
from tests.faults.trials import LONG, run, wrong

KINDS = {"streams": 100, "lies": 100, "subscriptions": 60, "saved": 60}


@pytest.mark.parametrize("kind", KINDS)
def test_altered_arrow_is_refused_or_answered(kind: str) -> None:
    found = run("forged_arrow", kind, 0, KINDS[kind])

    assert wrong(found) == []
    assert found["refused"] > 0.1 * KINDS[kind]
    assert found["answered"] >= 0.04 * KINDS[kind]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_much_altered_arrow_is_refused_or_answered(kind: str) -> None:
    found = run("forged_arrow", kind, 10_000, LONG)

    print(kind, dict(found))
    assert wrong(found) == []


def strings(ends: list[int], letters: bytes = b"abcdef") -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(ends, np.int32)), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.string(), len(ends) - 1, buffers)


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    engine.subscribe("ann", "name = 'abc'")
    return engine


@pytest.mark.parametrize(
    "column",
    [
        strings([0, 1_000_000_000, 6]),
        strings([0, 5, 3, 6]),
        pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["abc"]), safe=False),
        pa.StructArray.from_arrays([strings([0, 2**30, 6])], ["inside"]),
        pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), strings([0, 2**30, 6])),
        pa.chunked_array([["abc"], strings([0, 2**30, 6])]),
    ],
    ids=["far", "backwards", "dictionary", "struct", "list", "second chunk"],
)
def test_offsets_out_of_bounds_are_an_error_that_names_the_column(engine: Engine, column: pa.Array) -> None:
    table = pa.table({"price": [1] * len(column), "name": column})

    for call in (engine.match_many, engine.count_many, engine.match_iter, engine.observe):
        with pytest.raises(EventError, match="the Arrow column 'name' is damaged"):
            call(table)
    (batch,) = table.to_batches() if not isinstance(column, pa.ChunkedArray) else [None]
    if batch is not None:
        with pytest.raises(EventError, match="the Arrow column 'name' is damaged"):
            engine.match_many(batch)


def test_bytes_that_are_no_text_are_the_business_of_their_event(engine: Engine) -> None:
    table = pa.table({"name": strings([0, 3, 6], b"abc\xff\xfe\xfd")})

    with pytest.raises(EventError, match="event 1"):
        engine.match_many(table)


def test_rows_that_take_no_memory_are_bounded(engine: Engine) -> None:
    many = pa.RunEndEncodedArray.from_arrays(pa.array([2**40], pa.int64()), pa.array(["abc"]))

    with pytest.raises(LimitError, match="that take no memory"):
        engine.match_many(pa.table({"name": many}))


def test_values_that_a_dictionary_repeats_are_bounded(engine: Engine) -> None:
    indices = pa.array(np.zeros(5_000, np.int8))
    large = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 1_000_000]))

    with pytest.raises(LimitError, match="fewer events at once"):
        engine.match_many(pa.table({"name": large}))


def test_lists_that_share_values_are_refused(engine: Engine) -> None:
    sizes = pa.array([3] * 1000, pa.int32())
    shared = pa.ListViewArray.from_arrays(pa.array([0] * 1000, pa.int32()), sizes, pa.array(["a", "b", "c"]))

    with pytest.raises(EventError, match="its lists share values"):
        engine.match_many(pa.table({"name": shared}))


def test_damaged_subscriptions_are_refused_and_change_nothing() -> None:
    engine = Engine()
    table = pa.table({"id": ["a", "b"], "expression": strings([0, 2**30, 6])})

    with pytest.raises(OptionError, match="'expression' is damaged"):
        engine.subscribe_many(table)

    assert engine.ids() == []


def test_a_name_that_is_no_text_is_an_error(engine: Engine) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"qqqq": ["abc"]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    strange = pa.ipc.open_stream(bytes(sink.getvalue()).replace(b"qqqq", b"\xff\xff\xff\xff")).read_all()

    with pytest.raises(EventError, match="not UTF-8"):
        engine.match_many(strange)
    with pytest.raises(OptionError, match="not UTF-8"):
        engine.subscribe_many(strange)


@pytest.mark.parametrize("arrow", ["checked", "trusted"])
def test_a_sound_table_is_answered_alike_whether_it_is_trusted(arrow: str) -> None:
    engine = Engine(TYPED, arrow=arrow)
    engine.subscribe_many([(1, "price < 5"), (2, "name = 'b'")])
    table = pa.table({"price": [1.0, 7.0, None], "name": pa.array(["a", "b", "b"]).dictionary_encode()})

    assert [sorted(map(int, found)) for found in engine.match_many(table)] == [[1], [2], [2]]


@pytest.mark.parametrize("arrow", [True, None, "fast", ["checked"]])
def test_another_word_for_arrow_is_an_error(arrow: object) -> None:
    with pytest.raises(OptionError, match="expected arrow to be 'checked' or 'trusted'"):
        Engine(arrow=arrow)  # type: ignore[arg-type]
