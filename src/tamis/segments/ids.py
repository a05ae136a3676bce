"""Users' ids as a column, and the way back from an id to its row.

Ids are strings or integers of any size. A column of one kind is stored as it is; a mixed one as strings with a mark.
The index is the ids' hashes in order, each with its row: 12 bytes per id, no objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.letters import letters_of
from tamis.kernels.numbering import find_hashes, sorted_hashes
from tamis.kernels.spans import hash_span, hash_spans
from tamis.model import SubscriptionId
from tamis.model.caching import cached_property

__all__ = ["IdColumn", "IdIndex", "hash_texts"]

Longs = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_FEW = 32
"""Arrow's `take` costs as much as so many strings made one by one."""


class IdColumn(Sequence[SubscriptionId]):
    """Ids in an Arrow column: int64, or strings, or marked strings where both kinds (or huge integers) come."""

    def __init__(self, array: pa.Array, marked: bool = False) -> None:
        self.array = array
        self.marked = marked

    @classmethod
    def of(cls, ids: Iterable[SubscriptionId]) -> IdColumn:
        listed = list(ids)
        if all(isinstance(id, str) for id in listed):
            return cls(pa.array(listed, pa.large_string()))
        if all(isinstance(id, int) and -(2**63) <= id < 2**63 for id in listed):
            return cls(pa.array(listed, pa.int64()))
        return cls(pa.array([_mark(id) for id in listed], pa.large_string()), marked=True)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, row: int) -> SubscriptionId:  # type: ignore[override]
        if self._numbers is not None:
            return int(self._numbers[row])
        found = self.array[row].as_py()
        return _unmark(found) if self.marked else found

    def listed(self) -> list[SubscriptionId]:
        found = self.array.to_pylist()
        return [_unmark(one) for one in found] if self.marked else found

    @cached_property
    def _numbers(self) -> Longs | None:
        return self.array.fill_null(0).to_numpy() if pa.types.is_integer(self.array.type) else None

    @cached_property
    def _letters(self) -> tuple[memoryview, memoryview]:
        """Where each string begins and ends among the bytes of all."""
        _, offsets, data = self.array.buffers()
        bytes_ = memoryview(offsets).cast("b")[: 8 * (self.array.offset + len(self.array) + 1)]
        return bytes_.cast("q")[self.array.offset :], memoryview(data or b"")

    def at(self, rows: npt.NDArray[np.integer]) -> list[SubscriptionId]:
        """The ids of some rows, all of which have one; the quick way for a few."""
        found: list[SubscriptionId]
        if self._numbers is not None:
            found = self._numbers.take(rows).tolist()
            return found
        if len(rows) > _FEW:
            return IdColumn(self.array.take(pa.array(rows)), self.marked).listed()
        if not len(rows):
            return []
        ends, data = self._letters
        texts = (str(data[ends[row] : ends[row + 1]], "utf-8") for row in rows.tolist())
        return [_unmark(one) for one in texts] if self.marked else list(texts)

    def take(self, rows: Longs) -> IdColumn:
        """The ids of some rows; -1 gives none."""
        chosen = pa.array(rows, mask=rows < 0)
        return IdColumn(self.array.take(chosen), self.marked)

    def equals(self, other: IdColumn) -> npt.NDArray[np.bool_]:
        """Row by row, whether the ids are the same; there are no gaps in the columns."""
        left, right = self.array, other.array
        if self.marked != other.marked or left.type != right.type:
            left, right = self.marked_up(), other.marked_up()
        found: npt.NDArray[np.bool_] = pc.equal(left, right).to_numpy(zero_copy_only=False)
        return found

    def marked_up(self) -> pa.Array:
        """The column with marks, whatever it is stored as."""
        if self.marked:
            return self.array
        mark = "i" if pa.types.is_integer(self.array.type) else "s"
        texts = self.array.cast(pa.large_string())
        return pc.binary_join_element_wise(pa.scalar(mark, texts.type), texts, pa.scalar("", texts.type))

    @staticmethod
    def concat(columns: Sequence[IdColumn]) -> IdColumn:
        kinds = {(str(column.array.type), column.marked) for column in columns if len(column)}
        some = [column for column in columns if len(column)] or list(columns[:1])
        if len(kinds) <= 1:
            return IdColumn(pa.concat_arrays([column.array for column in some]), some[0].marked)
        return IdColumn(pa.concat_arrays([column.marked_up() for column in some]), marked=True)

    @cached_property
    def hashes(self) -> Hashes:
        """A hash per id, the same for the same id in whatever column."""
        if pa.types.is_integer(self.array.type):
            return _mix(self.array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64))
        found = hash_texts(self.array, skipped=int(self.marked))
        if self.marked:
            whole = pc.fill_null(pc.starts_with(self.array, "i"), False).to_numpy(zero_copy_only=False)
            found[whole] = _hash_wholes(pc.utf8_slice_codeunits(self.array.filter(pa.array(whole)), 1))
        return found


def hash_texts(texts: pa.Array, skipped: int = 0) -> Hashes:
    """A hash of each text of a column of large strings, without its first bytes."""
    found = np.empty(len(texts), np.uint64)
    ends, data = letters_of(texts)
    hash_spans(data, np.minimum(ends[:-1] + skipped, ends[1:]), ends[1:].copy(), found)
    return found


def _hash_wholes(texts: pa.Array) -> Hashes:
    try:
        return _mix(texts.cast(pa.int64()).to_numpy().astype(np.uint64))
    except pa.ArrowInvalid:  # some are larger
        return np.array([hash_id(int(text)) for text in texts.to_pylist()], np.uint64)


def _mix(words: Hashes) -> Hashes:
    words = (words ^ (words >> np.uint64(31))) * np.uint64(_MULTIPLIER)
    return words ^ (words >> np.uint64(29))


def hash_id(id: SubscriptionId | None) -> int:
    """The hash of one id; as `IdColumn.hashes` has it."""
    if isinstance(id, int):
        word = id & _MASK if -(2**63) <= id < 2**63 else hash(id) & _MASK
        word = ((word ^ (word >> 31)) * _MULTIPLIER) & _MASK
        return word ^ (word >> 29)
    raw = (id or "").encode()
    return int(hash_span(np.frombuffer(raw or b"\0", np.uint8), 0, len(raw)))


def _mark(id: SubscriptionId | None) -> str | None:
    return None if id is None else f"i{id}" if isinstance(id, int) else f"s{id}"


def _unmark(text: str | None) -> Any:
    return None if text is None else int(text[1:]) if text[0] == "i" else text[1:]


class IdIndex:
    """Sorted hashes and their rows."""

    def __init__(self, ids: IdColumn, hashes: Hashes, rows: npt.NDArray[np.int32]) -> None:
        self.ids = ids
        self.hashes = hashes
        self.rows = rows

    @classmethod
    def build(cls, ids: IdColumn, rows: Longs) -> IdIndex:
        """Over these rows of the column."""
        hashes, order = sorted_hashes(ids.hashes[rows])
        return cls(ids, hashes, rows[order].astype(np.int32))

    def find(self, id: SubscriptionId) -> int:
        """The row of an id, or -1."""
        wanted = np.uint64(hash_id(id))
        at = int(self.hashes.searchsorted(wanted))
        while at < len(self.hashes) and self.hashes[at] == wanted:
            row = int(self.rows[at])
            if self.ids[row] == id:
                return row
            at += 1
        return -1

    def find_many(self, ids: IdColumn) -> Longs:
        """The rows of many ids, -1 where there is none."""
        found = np.full(len(ids), -1, np.int64)
        if not len(self.hashes):
            return found
        at = np.empty(len(ids), np.int64)
        find_hashes(self.hashes, ids.hashes, at)
        likely = np.nonzero(self.hashes[np.minimum(at, len(self.hashes) - 1)] == ids.hashes)[0]
        rows = self.rows[at[likely]].astype(np.int64)
        same = self.ids.take(rows).equals(ids.take(likely))
        found[likely[same]] = rows[same]
        for number in likely[~same].tolist():  # equal hashes of other ids
            found[number] = self.find(ids[number])
        return found
