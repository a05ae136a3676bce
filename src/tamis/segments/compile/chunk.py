"""A chunk of texts, cut, expanded and paired by kernels, then read into pieces by the column.

A chunk is small enough that whatever is written down on the way lies in a few megabytes, which the next one uses again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.letters import letters_of
from tamis.kernels.numbering import grouped, numbered
from tamis.kernels.segments import expanding, lexing, pairing
from tamis.model import Finite, Schema, Timestamp
from tamis.segments.compile.alike import Alike
from tamis.segments.compile.constants import ConstantColumns
from tamis.segments.compile.constraints import Piece, Pieces
from tamis.segments.compile.shapes import Example, Planner

__all__ = ["CHUNK", "Chunk", "Workshop", "read_chunk"]

CHUNK = 1 << 16
"""Texts at a time."""

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Chunk:
    """What a chunk says. Conjunction `r` belongs to its text `r`; further ones of a text come after them."""

    pieces: list[Piece]
    owners: Longs
    """The text of each conjunction."""
    dead: Mask
    """Conjunctions that never hold, and those of texts that are odd."""
    odd: Mask
    """Texts that are left to the parser."""


class Workshop:
    """What one chunk leaves to the next: the shapes met so far, their plans, and room to write in."""

    def __init__(self, schema: Schema) -> None:
        self.planner = Planner(schema)
        self.shapes = lexing.new_shapes()
        self.known = np.zeros(1, np.int64)
        self._room = 0

    def make_room(self, letters: int) -> None:
        """For texts of so many bytes in all."""
        room = letters // 2 + 2
        if room > self._room:
            self._room = room
            self.constants = lexing.new_constants(room)
            self.units = lexing.new_units(CHUNK, room)
        self.places = np.empty(1 << 16, np.int64)


def read_chunk(texts: pa.Array, pieces: Pieces, workshop: Workshop) -> Chunk:
    """Read a few texts; `pieces` numbers names and truths."""
    return _Reader(texts, workshop).read(pieces)


class _Reader:
    def __init__(self, texts: pa.Array, workshop: Workshop) -> None:
        self.workshop = workshop
        self.planner = workshop.planner
        self.count = len(texts)
        self.odd = np.ones(self.count, np.bool_)
        ends, self.bytes = letters_of(texts)
        self.starts = ends.astype(np.int64)

    def read(self, pieces: Pieces) -> Chunk:
        self._split()
        self._expand()
        self._pair_up()
        alike = Alike(self.planner.schema, pieces, self.tests, self.roles, self.constants, len(self.owners))
        names = list(self.planner.names)
        staged = [
            piece
            for run in self._runs()
            for piece in alike.read(
                names[self.tests.attribute[run[0]]], run, self.planner.predicates, self.planner.counted
            )
        ]
        self.odd[self.owners[alike.left]] = True
        left = self.odd[self.owners]
        if left.any():
            staged = [piece.only(~left[piece.conjunctions]) for piece in staged]
        return Chunk(staged, self.owners, self.dead | alike.dead | left, self.odd)

    def _split(self) -> None:
        self.workshop.make_room(int(self.starts[-1] - self.starts[0]))
        filled = lexing.new_filled()._replace(shapes=self.workshop.known)
        units, raw = self.workshop.units, self.workshop.constants
        self.units = units._replace(start=np.zeros(self.count + 1, np.int64))
        lexing.split_texts(self.bytes, self.starts, self.units, raw, self.workshop.shapes, filled, self.odd)
        self.constants = ConstantColumns(self.bytes, lexing.first_constants(raw, int(filled.constants[0])))

    def _expand(self) -> None:
        """Have new shapes planned, and write the tests of all texts that have none but such."""
        count = int(self.units.start[-1])
        first = np.full(int(self.workshop.known[0]), -1, np.int64)
        first[self.units.shape[:count][::-1]] = np.arange(count)[::-1]
        for shape in np.nonzero(first >= 0)[0].tolist():
            if not self.planner.has(shape):
                letters, start = self.workshop.shapes.letters, self.workshop.shapes.start
                written = letters[start[shape] : start[shape + 1]].tobytes()
                self.planner.add(shape, written, partial(self._example, int(first[shape])))
        plans = self.planner.plans(len(first))
        ways = self.ways = np.empty(self.count, np.int32)
        self.tests = expanding.new_tests(expanding.count_tests(self.units, plans, self.odd, ways))
        self.owners = np.r_[np.arange(self.count), np.repeat(np.arange(self.count), np.maximum(ways - 1, 0))]
        expanding.expand(self.units, plans, self.constants.raw, ways, self.tests, self.workshop.places)

    def _example(self, unit: int) -> Example:
        raw, begin = self.constants.raw, int(self.units.begin[unit])
        text = self.bytes[begin : begin + self.units.length[unit]].tobytes()
        marks, columns = [], []
        at = int(self.units.constant[unit])
        while at < self.units.constant[unit + 1]:
            start = int(raw.start[at]) - begin
            quoted = start > 0 and text[start - 1] == ord("'")
            marks.append(int(raw.mark[at]))
            columns.append(len(text[: start - quoted].decode()) + 1)
            at += int(raw.members[at])
        return Example(text.decode(), marks, columns)

    def _pair_up(self) -> None:
        tests, raw = self.tests, self.constants.raw
        domains = [self.planner.schema.domain(name) for name in self.planner.names]
        instants = np.array([isinstance(domain, Timestamp) for domain in domains], np.bool_)[tests.attribute]
        chosen = (instants & (tests.kind == lexing.STRING)) | (tests.kind == lexing.INSTANT)
        if chosen.any():
            self.constants.read_instants(tests, chosen)
        self.roles = pairing.new_roles(len(tests.conjunction))
        self.dead = np.zeros(len(self.owners), np.bool_)
        named = np.array([isinstance(domain, Finite) for domain in domains], np.bool_)
        links, seen = self.planner.links(), pairing.new_seen(len(domains))
        reals, owners = self.constants.reals, self.owners
        pairing.pair_up(self.bytes, raw, reals, tests, links, named, owners, seen, self.roles, self.odd, self.dead)
        if len(self.owners) > self.count:
            starts = np.r_[0, np.nonzero(np.diff(tests.conjunction))[0] + 1, len(tests.conjunction)]
            expanding.drop_covered(self.bytes, raw, tests, self.roles.role, self.ways, starts, self.dead)

    def _runs(self) -> Iterator[Longs]:
        """The tests that are alike."""
        keys = np.empty(len(self.tests.conjunction), np.int64)
        pairing.group_tests(self.tests, self.roles, self.owners, self.odd, keys)
        numbers, first = numbered(keys)
        starts, order = grouped(numbers, len(first))
        return (order[start:stop] for start, stop in pairwise(starts.tolist()))
