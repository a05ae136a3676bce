"""The log of a folder: one record per write since the last checkpoint, each on disk before its call returns.

    header    32 bytes: "TAMLOG", a zero, the format; the number of the checkpoint; a random key; a sum of these
    record    36 bytes: "rec\\0"; sequence, length, a sum of these and of the place, a sum of the content; the content
    seal      20 bytes: "end\\0"; the last record's sequence, and a sum; where the next record will begin

Number and key are the log's *generation*. They are in every sum, as the place is, so that no bytes of another log or of
another place pass for a record. Sequences count from 1.

One write at a time is not on disk yet, the last. Losing the power may leave any of its blocks unwritten, the first as
well: old bytes or zeros. Such a write never returned and is dropped. To take an acknowledged record for one would be to
lose it, so two things tell them apart. A later record is written only when those before it are on disk. And behind a
record that is on disk a *seal* is written, which the next record replaces; it is not synced itself, so it costs
little, and only what loses the power loses it. Damage in front of a later record or of a seal is an error, which names
the byte and the record; so are bytes behind the end that a record's own head names. What is left is the last write.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import randbits
from typing import NamedTuple

import xxhash

from tamis.errors import SegmentError
from tamis.registry.finishing import finish
from tamis.store.atomic import from_the_system, open_file, write_all

__all__ = ["Found", "Generation", "Log", "LogRecord", "new_generation", "read_log", "salvage"]

_MAGIC = b"TAMLOG\0\2"
_RECORD, _SEAL = b"rec\0", b"end\0"  # no content has a zero: it is JSON
HEADER_BYTES, HEAD_BYTES, SEAL_BYTES = 32, 36, 20


class Generation(NamedTuple):
    """Which log: the number of its checkpoint, and a key that no other log of whatever folder has."""

    number: int
    key: int

    @property
    def seed(self) -> int:
        return xxhash.xxh3_64_intdigest(_long(self.number) + _long(self.key))

    def header(self) -> bytes:
        fields = _MAGIC + _long(self.number) + _long(self.key)
        return fields + xxhash.xxh3_64_digest(fields)


def new_generation(number: int) -> Generation:
    return Generation(number, randbits(63))


class LogRecord(NamedTuple):
    """Where a record stands in the bytes of a log; its content is between `start` and `end`."""

    sequence: int
    at: int
    start: int
    end: int


class Found(NamedTuple):
    """What the bytes of a log hold: whole records, up to `end`, and behind them nothing that was acknowledged."""

    records: list[LogRecord]
    end: int
    sealed: bool
    """Whether a seal says that all of them are on disk."""
    torn: int
    """Bytes of a last write that did not reach the disk."""


class _Tail(NamedTuple):
    """What counts of a log: its length in bytes, and its last record's sequence."""

    end: int
    sequence: int


# -- reading ------------------------------------------------------------------------------------------------------


def read_log(content: bytes, generation: Generation, path: Path) -> Found:
    """The records of a log, or `SegmentError` if what is damaged was acknowledged."""
    if content[:HEADER_BYTES] != generation.header():
        raise SegmentError(f"expected the log of checkpoint {generation.number}, found {_named(content)}", str(path))
    reader = _Reader(content, generation)
    records: list[LogRecord] = []
    at = HEADER_BYTES
    while (record := reader.record(at, len(records) + 1)) is not None:
        records.append(record)
        at = record.end
    if (reason := reader.acknowledged(at, len(records))) is not None:
        message = f"the log is damaged at byte {at:,}, in record {len(records) + 1}: {reason}"
        raise SegmentError(f"{message}; 'tamis repair' copies what is whole", str(path))
    seal = reader.seal(at, len(records))
    behind = content[at:]
    torn = 0 if _is_seal(behind, seal) else len(behind)
    return Found(records, at, behind == seal, torn)


def salvage(content: bytes, generation: Generation) -> Iterator[LogRecord]:
    """Every record that is whole, also behind damage; nothing is known of what was between them."""
    reader = _Reader(content, generation)
    at, sequence = HEADER_BYTES, 1
    while (place := reader.next_place(at, sequence)) is not None:
        record = reader.record(*place)
        if record is not None:
            yield record
        at, sequence = (record.end, record.sequence + 1) if record is not None else (place[0] + 1, place[1])


class _Reader:
    """Bytes of a log, and what stands at a place in them."""

    def __init__(self, content: bytes, generation: Generation) -> None:
        self._content = content
        self._seed = generation.seed

    def record(self, at: int, sequence: int) -> LogRecord | None:
        """The record of that sequence, if it stands there and is whole."""
        end = self._end(at, sequence)
        start = at + HEAD_BYTES
        if end is None or end > len(self._content):
            return None
        whole = self._content[at + 28 : start] == xxhash.xxh3_64_digest(self._content[start:end], self._seed)
        return LogRecord(sequence, at, start, end) if whole else None

    def _end(self, at: int, sequence: int) -> int | None:
        """Where the record ends whose head stands there; None if none does."""
        length = int.from_bytes(self._content[at + 12 : at + 20], "little")
        head = _head(at, sequence, length, self._seed)
        return at + HEAD_BYTES + length if self._content[at : at + 28] == head else None

    def seal(self, at: int, sequence: int) -> bytes:
        return _seal(at, sequence, self._seed)

    def acknowledged(self, at: int, before: int) -> str | None:
        """Why what stands there, behind so many records, cannot be a write that never returned; None if it can."""
        later = self.next_place(at, before + 2)
        if later is not None:
            return f"record {later[1]}, written when this one was on disk, stands at byte {later[0]:,}"
        sealed = self._next_seal(at + 1, before + 1)
        if sealed is not None:
            return f"the seal at byte {sealed:,} says that it was on disk"
        end = self._end(at, before + 1)
        if end is not None and any(self._content[end:]):
            return f"it ends at byte {end:,}, and something stands behind it"
        return None

    def next_place(self, at: int, least: int) -> tuple[int, int] | None:
        """The next place from there on where a head of a record of at least that sequence stands, and the sequence."""
        while (at := self._content.find(_RECORD, at)) >= 0:
            sequence = int.from_bytes(self._content[at + 4 : at + 12], "little")
            if sequence >= least and self._end(at, sequence) is not None:
                return at, sequence
            at += 1
        return None

    def _next_seal(self, at: int, least: int) -> int | None:
        while (at := self._content.find(_SEAL, at)) >= 0:
            sequence = int.from_bytes(self._content[at + 4 : at + 12], "little")
            if sequence >= least and self._content[at : at + SEAL_BYTES] == self.seal(at, sequence):
                return at
            at += 1
        return None


def _is_seal(behind: bytes, seal: bytes) -> bool:
    """Whether this is a seal or as much of one as was written."""
    written = (one in (wanted, 0) for one, wanted in zip(behind, seal, strict=False))
    return len(behind) <= len(seal) and all(written)


def _named(content: bytes) -> str:
    if content[:7] == _MAGIC[:7] and content[7] != _MAGIC[7]:
        return f"a log of format {content[7]}"
    if len(content) < HEADER_BYTES:
        return f"{len(content)} bytes: it is cut short"
    other = Generation(int.from_bytes(content[8:16], "little"), int.from_bytes(content[16:24], "little"))
    known = content[:HEADER_BYTES] == other.header()
    return f"that of checkpoint {other.number} of another folder" if known else "a damaged one, at byte 0"


def _long(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _head(at: int, sequence: int, length: int, seed: int) -> bytes:
    fields = _RECORD + _long(sequence) + _long(length)
    return fields + xxhash.xxh3_64_digest(fields + _long(at), seed)


def _seal(at: int, sequence: int, seed: int) -> bytes:
    fields = _SEAL + _long(sequence)
    return fields + xxhash.xxh3_64_digest(fields + _long(at), seed)


# -- writing ------------------------------------------------------------------------------------------------------


class Log:
    """An open log, to be written. What counts is `tail`, set last and in one step: an interrupt may come anywhere."""

    def __init__(self, file: io.FileIO, generation: Generation, tail: _Tail) -> None:
        self.file = file
        self.generation = generation
        self.tail = tail
        self._seed = generation.seed

    @classmethod
    def create(cls, path: Path, generation: Generation, mode: int) -> Log:
        """An empty log whose bytes are on disk; its name is not until the folder is synced."""
        tail = _Tail(HEADER_BYTES, 0)
        log = cls(open_file(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode), generation, tail)
        with log._closed_if_it_fails():
            write_all(log.file.fileno(), generation.header() + _seal(*tail, generation.seed), 0)
            os.fsync(log.file.fileno())
        return log

    @classmethod
    def open(cls, path: Path, generation: Generation, found: Found) -> Log:
        """The log as it was found, without what is behind its records; after this all of it is on disk."""
        log = cls(open_file(path, os.O_RDWR), generation, _Tail(found.end, len(found.records)))
        if not found.sealed:
            with log._closed_if_it_fails():
                os.ftruncate(log.file.fileno(), found.end)
                os.fdatasync(log.file.fileno())  # a record that is read must not vanish later
            log.seal()
        return log

    @contextmanager
    def _closed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.file.close()
            raise

    def append(self, content: bytes) -> None:
        """Put a record on disk. If that fails it never comes back; if that cannot be made sure, `file` is closed."""
        end, sequence = self.tail
        record = _head(end, sequence + 1, len(content), self._seed)
        record += xxhash.xxh3_64_digest(content, self._seed) + content
        after = _Tail(end + len(record), sequence + 1)
        try:
            write_all(self.file.fileno(), record, end)
            os.fdatasync(self.file.fileno())
            self.tail = after
        except BaseException:
            if self.tail is not after:
                finish(self._cut)
            raise
        self.seal()

    def seal(self) -> None:
        """Say behind the last record that it is on disk. Nothing rests on it but the verdict on later damage."""
        try:
            os.pwrite(self.file.fileno(), _seal(*self.tail, self._seed), self.tail.end)
        except OSError as error:
            if not from_the_system(error):
                raise

    def _cut(self) -> None:
        """Take back a write that failed, for good."""
        if self.file.closed:
            return
        try:
            os.ftruncate(self.file.fileno(), self.tail.end)
            os.fdatasync(self.file.fileno())
        except OSError as error:
            if not from_the_system(error):
                raise
            self.file.close()
