"""The service's two files: what is foreign, newer or damaged is told apart from what can be made again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tamis.errors import SegmentError
from tamis.store.derived import BlockRow, Derived, State
from tamis.store.log import Log, Meta, Record
from tamis.store.packing import pack, planes, unpack, unplaned

META = Meta(0, 0, 0, 0, 0, "mine")


def _damage(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def test_a_record_comes_back_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.db")
    log.begin(META, "open = true\n")
    record = Record(1, 2, 3, "events", "json", 1, b'{"a": 1}\n{"a": 2}')
    with log.writing() as writing:
        writing.append(record)
        writing.move(META._replace(tail=2))

    assert log.records(0, 10) == [record] == [log.record_at(2)]
    assert (log.record_at(3), log.record_begin(1)) == (None, 1)
    log.close()
    _damage(tmp_path / "log.db", "UPDATE record SET sum = sum + 1")
    log = Log(tmp_path / "log.db")
    with pytest.raises(SegmentError, match="record at position 1"):
        log.records(0, 10)
    log.close()


def test_what_fails_in_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.db")
    log.begin(META, "open = true\n")

    def fail() -> None:
        with log.writing() as writing:
            writing.move(META._replace(tail=7))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(SegmentError, match="cannot write here: UNIQUE"), log.writing() as writing:
        writing.add_schema(1, 0, "")

    assert log.meta() == META
    log.close()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    Log(tmp_path / "log.db").close()
    _damage(tmp_path / "log.db", "PRAGMA user_version = 99")

    with pytest.raises(SegmentError, match="expected format 1, found 99; a newer Tamis"):
        Log(tmp_path / "log.db")


@pytest.mark.parametrize("state", [State("other", 0, 9), State("mine", 1, 9), State("mine", 0, 3)])
def test_what_was_derived_from_another_log_or_past_its_end_is_discarded(state: State, tmp_path: Path) -> None:
    path = tmp_path / "derived.db"
    derived = Derived.open(path, State("mine", 0, 9))
    with derived.writing() as writing:
        writing.add_block(BlockRow(1, 5, 0, 3, pack(b"abc")))
        writing.reach(State("mine", 0, 5))
    derived.close()
    kept = Derived.open(path, State("mine", 0, 9))
    assert kept.state() == State("mine", 0, 5)
    assert kept.block_spans(2, 3) == [(1, 5)]
    kept.close()

    derived = Derived.open(path, state)

    assert derived.state() is None
    assert derived.block_spans(1, 9) == []
    derived.close()


def test_a_damaged_file_of_blocks_is_made_anew_and_a_damaged_block_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "derived.db"
    path.write_bytes(b"no database" * 1_000)
    derived = Derived.open(path, State("mine", 0, 9))
    with derived.writing() as writing:
        writing.add_block(BlockRow(1, 5, 0, 3, pack(b"abc")))
    derived.close()
    _damage(path, "UPDATE block SET data = zeroblob(5)")

    derived = Derived(path)

    with pytest.raises(SegmentError, match="delete the file: it is made again"):
        derived.block(1)
    derived.close()


def test_integers_in_planes_come_back() -> None:
    for numbers in ([], [0], [3, 260], [2**40, 1, 255]):
        content = planes(np.array(numbers, np.int64)) + b"more"
        found, used = unplaned(memoryview(content), len(numbers))

        assert found.tolist() == numbers
        assert content[used:] == b"more"
    assert unpack(pack(b"x" * 100), 100) == b"x" * 100
