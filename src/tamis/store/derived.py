"""What follows from the log and takes work to find: blocks of matches, the index of feeds, what could not be matched.

    state   one row: the log it belongs to, the position reached
    block   for each position of a run the handles that matched; blocks tile what was reached
    nodes   for each feed and aligned range of positions, in which parts of it the feed has something
    failed  events that could not be matched

The file can be deleted at any time: the log has it all. So a commit need not reach the disk before the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tamis.errors import SegmentError
from tamis.store.packing import sum_of
from tamis.store.sqlite import Database, Touch, Writing, untouched

__all__ = ["BlockRow", "Derived", "DerivedWriting", "NodeRow", "State"]

_VERSION = 1
_TABLES = """
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), made TEXT NOT NULL, epoch INTEGER NOT NULL,
    reached INTEGER NOT NULL, blocks INTEGER NOT NULL, matches INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE block (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, matches INTEGER NOT NULL, size INTEGER NOT NULL,
    sum INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE nodes (level INTEGER NOT NULL, shard INTEGER NOT NULL, range INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (level, shard, range)) WITHOUT ROWID;
CREATE TABLE failed (position INTEGER PRIMARY KEY, reason TEXT NOT NULL)
"""


class State(NamedTuple):
    """Which log it is of, how far that was matched, and how much came of it."""

    made: str
    epoch: int
    reached: int
    blocks: int = 0
    matches: int = 0
    bytes: int = 0


class BlockRow(NamedTuple):
    """`data` is packed, `size` is that of what it unpacks to."""

    first: int
    last: int
    matches: int
    size: int
    data: bytes


class NodeRow(NamedTuple):
    """The feeds of one shard that have something in one range."""

    level: int
    shard: int
    range: int
    data: bytes


class DerivedWriting:
    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def add_block(self, row: BlockRow) -> None:
        values = (row.first, row.last, row.matches, row.size, sum_of(row.data), row.data)
        self._writing.execute("INSERT INTO block VALUES (?, ?, ?, ?, ?, ?)", values)

    def add_nodes(self, rows: Iterable[NodeRow]) -> None:
        self._writing.execute_many("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?)", rows)

    def add_failed(self, failed: Iterable[tuple[int, str]]) -> None:
        self._writing.execute_many("INSERT INTO failed VALUES (?, ?)", failed)

    def reach(self, state: State) -> None:
        self._writing.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?, ?, ?)", state)


class Derived:
    """The file `derived.db`."""

    def __init__(self, path: Path, touch: Touch = untouched) -> None:
        self._database = Database(path, _TABLES, _VERSION, synchronous="NORMAL", touch=touch)

    @classmethod
    def open(cls, path: Path, state: State, touch: Touch = untouched) -> Derived:
        """That of the log with this name and epoch, and not past where that stands; anything else is made anew."""
        with suppress(SegmentError):
            found = cls(path, touch)
            there = found.state()
            if there is not None and there[:2] == state[:2] and there.reached <= state.reached:
                return found
            found.close()
            if there is None:
                return cls(path, touch)
        discard(path)
        return cls(path, touch)

    def close(self) -> None:
        self._database.close()

    def sync(self) -> None:
        """What was committed so far survives the loss of power after this."""
        self._database.write_back()

    @contextmanager
    def writing(self) -> Iterator[DerivedWriting]:
        with self._database.writing() as writing:
            yield DerivedWriting(writing)

    def state(self) -> State | None:
        found = self._database.one("SELECT made, epoch, reached, blocks, matches, bytes FROM state")
        return State(*found) if found else None

    def block_spans(self, first: int, last: int) -> list[tuple[int, int]]:
        """First and last of the blocks that have a position of these."""
        begun = self._database.one("SELECT max(first) FROM block WHERE first <= ?", (first,))[0]
        sql = "SELECT first, last FROM block WHERE first BETWEEN ? AND ? ORDER BY first"
        rows = self._database.query(sql, (first if begun is None else begun, last))
        return [span for span in rows if span[1] >= first]

    def block(self, first: int) -> BlockRow:
        sql = "SELECT first, last, matches, size, data, sum FROM block WHERE first = ?"
        row = self._database.one(sql, (first,))
        if sum_of(row[4]) != row[5]:
            raise self._database.damaged(
                f"the checksum of the block at position {row[0]} does not fit; delete the file: it is made again"
            )
        return BlockRow(*row[:5])

    def node(self, level: int, shard: int, range: int) -> bytes | None:
        sql = "SELECT data FROM nodes WHERE level = ? AND shard = ? AND range = ?"
        found = self._database.one(sql, (level, shard, range))
        return found[0] if found else None

    def next_node(self, level: int, shard: int, range: int) -> NodeRow | None:
        """The first at or behind a range."""
        sql = "SELECT * FROM nodes WHERE level = ? AND shard = ? AND range >= ? ORDER BY range LIMIT 1"
        found = self._database.one(sql, (level, shard, range))
        return NodeRow(*found) if found else None

    def nodes_of(self, level: int, first: int, last: int) -> list[NodeRow]:
        """Those of a level, from one range to another."""
        sql = "SELECT * FROM nodes WHERE level = ? AND range BETWEEN ? AND ?"
        return [NodeRow(*row) for row in self._database.query(sql, (level, first, last))]

    def failed(self, first: int, last: int) -> dict[int, str]:
        sql = "SELECT position, reason FROM failed WHERE position BETWEEN ? AND ?"
        return dict(self._database.query(sql, (first, last)))


def discard(path: Path) -> None:
    """The file and what SQLite keeps beside it."""
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
