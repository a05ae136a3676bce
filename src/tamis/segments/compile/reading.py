"""Texts → constraints in columns: by their shapes where these are known, one by one by the real parser where not.

A kernel cuts the texts into units and finds those of one shape; `shapes` has the parser say once what each shape means;
kernels write down the tests of every conjunction; and here the constants of all tests of one sort become pieces, by the
column. It must agree with the parser to the letter: what it is not sure of it leaves to the parser, mistakes included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.letters import letters_of
from tamis.errors import LanguageError, LimitError
from tamis.kernels.numbering import grouped, numbered
from tamis.kernels.segments import expanding, lexing, pairing
from tamis.language import parse
from tamis.model import Finite, Schema, Timestamp
from tamis.segments.compile.alike import Alike
from tamis.segments.compile.constants import ConstantColumns
from tamis.segments.compile.constraints import Pieces
from tamis.segments.compile.shapes import Planner

__all__ = ["Reading", "read_texts"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Reading:
    """What a column of texts says. Conjunction `r` belongs to text `r`; further ones of a text come after them."""

    pieces: Pieces
    owners: Longs
    """The text of each conjunction."""
    dead: Mask
    """Conjunctions that never hold, and the places of texts that have none."""
    rejected: list[tuple[int, LanguageError | LimitError]]
    """Texts that do not parse, with the reason; their conjunctions are dead."""


def read_texts(texts: pa.Array, schema: Schema) -> Reading:
    """Read a string column without nulls."""
    reader = _Reader(texts, schema)
    reader.read_by_shapes()
    return reader.read_the_rest()


class _Reader:
    def __init__(self, texts: pa.Array, schema: Schema) -> None:
        self.texts = texts
        self.schema = schema
        self.pieces = Pieces(schema)
        self.count = len(texts)
        self.odd = np.ones(self.count, np.bool_)
        self.owners = np.arange(self.count)
        self.dead = np.zeros(self.count, np.bool_)

    # -- the fast road ------------------------------------------------------------------------------------------

    def read_by_shapes(self) -> None:
        if not self.count:
            return
        self._split()
        self._expand()
        if not len(self.tests.conjunction):
            return
        self._pair_up()
        alike = Alike(self.schema, self.pieces, self.tests, self.roles, self.constants, len(self.owners))
        names = list(self.planner.names)
        staged = [
            piece
            for run in self._runs()
            for piece in alike.read(names[self.tests.attribute[run[0]]], run, self.planner.predicates)
        ]
        self.odd[self.owners[alike.left]] = True
        self.dead |= alike.dead
        left = self.odd[self.owners]
        for piece in staged:
            self.pieces.add(piece.only(~left[piece.conjunctions]) if left.any() else piece)
        self.dead |= left

    def _split(self) -> None:
        ends, self.bytes = letters_of(self.texts)
        starts = ends.astype(np.int64)
        room = int(starts[-1] - starts[0]) // 2 + 2
        units, raw = lexing.new_units(self.count, room), lexing.new_constants(room)
        shapes, filled = lexing.new_shapes(), lexing.new_filled()
        lexing.split_texts(self.bytes, starts, units, raw, shapes, filled, self.odd)
        self.units, self.shapes = units, int(filled.shapes[0])
        self.constants = ConstantColumns(self.bytes, lexing.first_constants(raw, int(filled.constants[0])))

    def _expand(self) -> None:
        """Have the shapes planned, and write the tests of all texts that have none but such."""
        self.planner = Planner(self.schema)
        count = int(self.units.start[-1])
        first = np.full(self.shapes, -1, np.int64)
        first[self.units.shape[:count][::-1]] = np.arange(count)[::-1]
        for unit in first.tolist():
            self.planner.add(*self._example(unit)) if unit >= 0 else self.planner.skip()
        plans = self.planner.plans()
        ways = np.empty(self.count, np.int32)
        self.tests = expanding.new_tests(expanding.count_tests(self.units, plans, self.odd, ways))
        self.ways = ways
        self.owners = np.r_[self.owners, np.repeat(np.arange(self.count), np.maximum(ways - 1, 0))]
        self.dead = np.zeros(len(self.owners), np.bool_)
        places = np.empty(1 << 16, np.int64)
        expanding.expand(self.units, plans, self.constants.raw, ways, self.tests, places)

    def _example(self, unit: int) -> tuple[str, list[int], list[int]]:
        """The text of a unit, and the marks and columns of its constants."""
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
        return text.decode(), marks, columns

    def _pair_up(self) -> None:
        tests, raw = self.tests, self.constants.raw
        domains = [self.schema.domain(name) for name in self.planner.names]
        instants = np.array([isinstance(domain, Timestamp) for domain in domains])[tests.attribute]
        chosen = (instants & (tests.kind == lexing.STRING)) | (tests.kind == lexing.INSTANT)
        if chosen.any():
            self.constants.read_instants(tests, chosen)
        self.roles = pairing.new_roles(len(tests.conjunction))
        named = np.array([isinstance(domain, Finite) for domain in domains])
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

    # -- the slow road ------------------------------------------------------------------------------------------

    def read_the_rest(self) -> Reading:
        further: list[int] = []
        rejected: list[tuple[int, LanguageError | LimitError]] = []
        known = len(self.owners)
        for row in np.nonzero(self.odd)[0].tolist():
            try:
                conjunctions = parse(self.texts[row].as_py(), self.schema)
            except (LanguageError, LimitError) as error:
                rejected.append((row, error))
                conjunctions = ()
            self.dead[row] = not conjunctions
            for at, conjunction in enumerate(conjunctions):
                self.pieces.add_conjunction(known + len(further) if at else row, conjunction)
                if at:
                    further.append(row)
        owners = np.r_[self.owners, np.array(further, np.int64)]
        return Reading(self.pieces, owners, np.r_[self.dead, np.zeros(len(further), np.bool_)], rejected)
