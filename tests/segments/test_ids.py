"""Ids as columns: the same hash for the same id however it is stored, and the way back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis import OptionError, Schema
from tamis.segments.ask.segment_ids import SegmentIds
from tamis.segments.ids import IdColumn, IdIndex, hash_id
from tamis.segments.segment import compile_segment

WHOLES = [0, 1, -1, 2**63 - 1, -(2**63), 12345]
TEXTS = ["", "a", "i1", "1", "é", "id-12345", "\0"]
HUGE = [2**63, -(2**64) + 1]
COLUMNS = {"wholes": WHOLES, "texts": TEXTS, "both": [*WHOLES, *TEXTS], "huge": [*WHOLES, *HUGE, *TEXTS]}


@pytest.mark.parametrize("name", COLUMNS)
def test_an_id_has_one_hash_in_whatever_column(name: str) -> None:
    column = IdColumn.of(COLUMNS[name])

    assert column.hashes.tolist() == [hash_id(id) for id in COLUMNS[name]]
    assert IdColumn(column.array.slice(2), column.marked).hashes.tolist() == column.hashes[2:].tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_that_stand_for_nobody_do_not_disturb_the_hashes(name: str) -> None:
    column = IdColumn.of(COLUMNS[name]).take(np.array([0, -1, 3, -1]))

    assert column.hashes[[0, 2]].tolist() == [hash_id(COLUMNS[name][0]), hash_id(COLUMNS[name][3])]


@pytest.mark.parametrize("held", COLUMNS)
@pytest.mark.parametrize("asked", COLUMNS)
def test_many_ids_are_found_where_one_is(held: str, asked: str) -> None:
    column = IdColumn.of(COLUMNS[held])
    index = IdIndex.build(column, np.arange(len(column))[::-1].copy())

    found = index.find_many(IdColumn.of(COLUMNS[asked]))

    assert found.tolist() == [index.find(id) for id in COLUMNS[asked]]
    assert found.tolist() == [COLUMNS[held].index(id) if id in COLUMNS[held] else -1 for id in COLUMNS[asked]]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("times", [0, 1, 20], ids=["none", "few", "many"])
def test_some_rows_are_listed_few_or_many(name: str, times: int) -> None:
    column = IdColumn.of(COLUMNS[name]).take(np.array([-1, *range(len(COLUMNS[name]))]))
    ids = COLUMNS[name][::-1] * times
    rows = np.tile(np.arange(len(COLUMNS[name]), 0, -1, dtype=np.int32), times)

    assert column.at(rows) == ids
    assert IdColumn(column.array.slice(1), column.marked).at(rows - 1) == ids


def test_columns_of_different_kinds_are_joined_with_marks() -> None:
    joined = IdColumn.concat([IdColumn.of(WHOLES), IdColumn.of(TEXTS), IdColumn(pa.array([None], pa.int64()))])

    assert joined.listed() == [*WHOLES, *TEXTS, None]


@pytest.mark.parametrize("names", [("wholes",), ("texts", "wholes"), ("wholes", "texts", "huge")])
def test_codes_of_several_segments_are_listed_in_their_order(names: tuple[str, ...]) -> None:
    schema, bases, held = Schema(open=True), [], []
    for at, name in enumerate(names):
        ids = IdColumn.of(COLUMNS[name])
        bases.append(64 * at)
        held.append(compile_segment(ids, pa.array(["a = 1"] * len(ids)), schema).segment)
    found = SegmentIds(held, bases)
    living = np.concatenate([segment.living + base for segment, base in zip(held, bases, strict=True)])

    assert len(living) == sum(len(COLUMNS[name]) for name in names)
    for codes in (living, np.tile(living[::-1], 20), living[:1], living[:0]):
        listed = [found[code] for code in codes.tolist()]
        assert found.listed(codes.astype(np.int32)) == listed
        if names == ("wholes",) and len(codes):
            assert found.column(codes).to_pylist() == listed


def test_no_arrow_column_holds_ids_of_both_kinds() -> None:
    segment = compile_segment(IdColumn.of([*WHOLES, *TEXTS]), pa.array(["a = 1"] * 13), Schema(open=True)).segment

    with pytest.raises(OptionError, match="fit no Arrow type"):
        SegmentIds([segment], [0]).column(segment.living)


def test_a_buffer_may_end_anywhere_behind_the_last_id() -> None:
    ends = pa.py_buffer(np.array([0, 1, 3], np.int64).tobytes() + b"+")
    column = IdColumn(pa.Array.from_buffers(pa.large_string(), 2, [None, ends, pa.py_buffer(b"abb")]))

    assert column.at(np.array([1, 0])) == ["bb", "a"]
    assert column.hashes.tolist() == [hash_id("a"), hash_id("bb")]
