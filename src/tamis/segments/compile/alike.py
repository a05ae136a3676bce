"""Tests that are alike → pieces: one attribute, one operator, one kind of constants, as many conjunctions as there are.

What a column of constants shows is decided here as the parser would: bounds that leave nothing, names that there are
not, numbers out of their range. Where the parser would say more than yes or never, the texts are left to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.batch import Column
from tamis.kernels.segments import lexing, pairing
from tamis.kernels.segments.expanding import Tests
from tamis.model import Domain, Finite, Integer, Kind, Operator, Predicate, Schema
from tamis.model.caching import cached_property
from tamis.model.regions import prefix_range
from tamis.model.values import string
from tamis.segments.compile.constants import KINDS, ConstantColumns, ranks
from tamis.segments.compile.constraints import Bound, Piece, PieceKind, Pieces, same_for_all, take
from tamis.segments.compile.finite_codes import NOTHING
from tamis.segments.compile.said import Listed, Said, said_of_counts, said_of_texts
from tamis.segments.compile.truths import Role, Slot

__all__ = ["Alike"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_OPERATOR = {code: Operator(word) for code, word in enumerate(pairing.OPERATORS)}
_UPPER, _OPEN = (pairing.LT, pairing.LE), (pairing.LT, pairing.GT)
_PRESENCE = {pairing.PRESENT: PieceKind.ANY_VALUE, pairing.MISSING: PieceKind.NO_VALUE}
_FEW = 16
"""Members of a list that may come in any order; more are sorted."""


class Alike:
    """Reads runs of tests into pieces; notes the conjunctions that are dead, and those left to the parser."""

    def __init__(
        self, schema: Schema, pieces: Pieces, tests: Tests, roles: pairing.Roles, constants: ConstantColumns, count: int
    ) -> None:
        self.schema = schema
        self.pieces = pieces
        self.tests = tests
        self.roles = roles
        self.constants = constants
        self.dead = np.zeros(count, np.bool_)
        self.left = np.zeros(count, np.bool_)
        self._counted = np.zeros(count, np.bool_)

    def read(self, name: str, run: Longs, fixed: list[Predicate], counted: Mapping[str, Listed]) -> list[Piece]:
        """The pieces of tests of this attribute that are alike; `fixed` are the predicates that shapes have, `counted`
        the members of each `at least`."""
        test = run[0]
        operator, role = int(self.tests.operator[test]), int(self.roles.role[test])
        conjunctions = self.tests.conjunction[run].astype(np.int64)
        if operator in _PRESENCE:
            return [Piece(Slot(name), _PRESENCE[operator], conjunctions)]
        if operator in (pairing.LINK, pairing.FIXED):
            return self._fixed(fixed[-1 - self.tests.constant[test]], conjunctions)
        if operator == pairing.COUNT:
            return self._counts(counted[name], run, conjunctions)
        domain = self.schema.domain(name)
        assert domain is not None, "a plan is made for known attributes only"
        if self.roles.partner[test] >= 0:
            return self._pair(name, domain, run)
        chosen, of = self.constants.lists(self.tests.constant[run])
        values = self.constants.column(int(self.tests.kind[test]), chosen)
        members = _Members(conjunctions if of is None else conjunctions[of], values)
        if operator >= pairing.OTHERS:
            return self._take(said_of_texts(self.pieces, self.schema, name, operator, members.values), members)
        slot = Slot(name, Role.LACKS if operator == pairing.LACKS else role)
        if isinstance(domain, Finite):
            return self._names(slot, domain, operator, members)
        kind = int(self.tests.kind[test])
        self._check(domain, kind, members.conjunctions, members.values)
        if operator in (pairing.IN, pairing.CONTAINS):
            members = members.sorted() if len(members) > _FEW * len(run) else members
            closed = Bound(members.values, False)
            return [Piece(slot, KINDS[kind], members.conjunctions, closed, closed)]
        if operator in (pairing.NOT_IN, pairing.LACKS):
            return self._holes(slot, domain, KINDS[kind], members.sorted())
        if operator in (pairing.STARTS, pairing.NOT_STARTS):
            return self._text(slot, operator, members)
        return self._bound(slot, domain, operator, kind, members)

    def _leave(self, conjunctions: Longs, which: Mask) -> None:
        self.left[conjunctions[which]] = True

    def _check(self, domain: Domain, kind: int, conjunctions: Longs, values: Column) -> None:
        """What the parser refuses, or takes for another number, is left to it."""
        if kind == lexing.REAL:
            wrong = ~np.isfinite(values) if not isinstance(domain, Integer) else np.ones(len(values), np.bool_)
            self._leave(conjunctions, wrong)
        elif isinstance(domain, Integer):
            if domain.min is not None and values.min() < domain.min:
                self._leave(conjunctions, np.asarray(values < domain.min, np.bool_))
            if domain.max is not None and values.max() > domain.max:
                self._leave(conjunctions, np.asarray(values > domain.max, np.bool_))

    def _fixed(self, predicate: Predicate, conjunctions: Longs) -> list[Piece]:
        return [
            same_for_all(slot, kind, interval, conjunctions) for slot, kind, interval in self.pieces.parts((predicate,))
        ]

    def _take(self, said: Said, members: _Members) -> list[Piece]:
        self._leave(members.conjunctions, said.left)
        self.dead[members.conjunctions[said.never]] = True
        return said.pieces(members.conjunctions)

    def _counts(self, listed: Listed, run: Longs, conjunctions: Longs) -> list[Piece]:
        """Of several `at least` in one conjunction each has a slot of its own, which the parser sees to."""
        self.left[conjunctions[self._counted[conjunctions]]] = True
        self._counted[conjunctions] = True
        said = said_of_counts(self.pieces, self.schema, listed, self.constants, self.tests.constant[run])
        return self._take(said, _Members(conjunctions, conjunctions))

    def _pair(self, name: str, domain: Domain, run: Longs) -> list[Piece]:
        partners = self.roles.partner[run]
        low, high = (int(self.tests.operator[one[0]]) for one in (run, partners))
        kinds = [int(self.tests.kind[one[0]]) for one in (run, partners)]
        lows, highs = (
            self.constants.column(kind, self.tests.constant[one])
            for kind, one in zip(kinds, (run, partners), strict=True)
        )
        conjunctions = self.tests.conjunction[run].astype(np.int64)
        for kind, values in zip(kinds, (lows, highs), strict=True):
            self._check(domain, kind, conjunctions, values)
        whole = isinstance(domain, Integer) or kinds[0] == lexing.INSTANT
        if whole:
            # Constants lie in the domain, so its bounds, which may be larger than any machine number, add nothing.
            never = lows + (low == pairing.GT) > highs - (high == pairing.LT)
        else:
            never = _greater(lows, highs)
            if low == pairing.GT or high == pairing.LT:
                never |= ~_greater(highs, lows)
            if kinds[0] != kinds[1]:  # a whole number past 2^53 and a double are compared by the parser
                large = [np.abs(side) >= 2**53 for side in (lows, highs)]
                self._leave(conjunctions, large[0] | large[1])
        self.dead[conjunctions[never]] = True
        bounds = Bound(lows, low == pairing.GT), Bound(highs, high == pairing.LT)
        if kinds[0] == lexing.STRING:  # `< ''` is empty whatever bounds it below
            self.dead[conjunctions[_is_empty(highs) & (high == pairing.LT)]] = True
        return [Piece(Slot(name), KINDS[kinds[0]], conjunctions, *bounds).only(~never)]

    def _bound(self, slot: Slot, domain: Domain, operator: int, kind: int, members: _Members) -> list[Piece]:
        values, conjunctions = members.values, members.conjunctions
        never = np.zeros(len(values), np.bool_)
        if isinstance(domain, Integer):  # bounds that no whole number of the domain can meet
            if operator == pairing.LT and domain.min is not None:
                never = np.asarray(values <= domain.min, np.bool_)
            elif operator == pairing.GT and domain.max is not None:
                never = np.asarray(values >= domain.max, np.bool_)
        elif kind == lexing.STRING and operator == pairing.LT:  # no string lies before the empty one
            never = _is_empty(values)
        self.dead[conjunctions[never]] = True
        bound = Bound(values, operator in _OPEN)
        return [Piece(slot, KINDS[kind], conjunctions, *((None, bound) if operator in _UPPER else (bound, None)))]

    def _holes(self, slot: Slot, domain: Domain, kind: Kind, members: _Members) -> list[Piece]:
        """All values but these: what lies before the first, between any two, and after the last."""
        if members.alone:
            first, inner = members, []
            sizes, last = np.ones(len(members), np.int64), Bound(members.values, True)
        else:
            begins = members.begins
            ends = np.r_[begins[1:], True]
            first, sizes = members.take(begins), np.diff(np.r_[np.nonzero(begins)[0], len(begins)])
            low, high = members.take(~ends), members.take(~begins)
            inner = [Piece(slot, kind, low.conjunctions, Bound(low.values, True), Bound(high.values, True))]
            last = Bound(take(members.values, ends), True)
        if isinstance(domain, Integer) and domain.min is not None and domain.max is not None:
            self._leave(first.conjunctions, np.asarray(sizes >= domain.max - domain.min + 1, np.bool_))
        found = [
            Piece(slot, kind, first.conjunctions, None, Bound(first.values, True)),
            *inner,
            Piece(slot, kind, first.conjunctions, last, None),
        ]
        if slot.role == Role.LACKS:
            found += [Piece(slot, other, first.conjunctions) for other in Kind if other is not kind]
        return found

    def _text(self, slot: Slot, operator: int, members: _Members) -> list[Piece]:
        """How texts begin."""
        encoded = pc.dictionary_encode(members.values)
        known, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        conjunctions = members.conjunctions
        past = [prefix_range(text).end for text in known]
        self._leave(conjunctions, np.array([end is None for end in past] or [True])[codes])
        ends = pa.array([end.data if end is not None else "" for end in past], pa.string()).take(encoded.indices)
        if operator == pairing.STARTS:
            return [Piece(slot, Kind.STRING, conjunctions, Bound(members.values, False), Bound(ends, True))]
        return [
            Piece(slot, Kind.STRING, conjunctions, None, Bound(members.values, True)),
            Piece(slot, Kind.STRING, conjunctions, Bound(ends, False), None),
        ]

    # -- names of finite domains ----------------------------------------------------------------------------------

    def _names(self, slot: Slot, domain: Finite, operator: int, members: _Members) -> list[Piece]:
        encoded = pc.dictionary_encode(members.values)
        known, of = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        numbers = self.pieces.finite(slot.attribute, domain).code
        codes = np.array([numbers.get(name, 0) for name in known] or [0], np.int64)
        self._leave(members.conjunctions, codes[of] == 0)
        members = _Members(members.conjunctions, codes[of])
        if operator in (pairing.IN, pairing.CONTAINS):
            bound = Bound(members.values, False)
            return [Piece(slot, PieceKind.CODES, members.conjunctions, bound, bound)]
        if operator in (pairing.NOT_IN, pairing.LACKS):
            return self._other_names(slot, domain, members.sorted())
        return self._kinds_of(slot, domain, operator, members, of, known)

    def _other_names(self, slot: Slot, domain: Finite, members: _Members) -> list[Piece]:
        """The names between these codes."""
        conjunctions, first = members.conjunctions, members.begins
        last = np.r_[first[1:], True]
        low = np.where(first, 1, np.r_[0, members.values[:-1]] + 1)
        size = len(self.pieces.finite(slot.attribute, domain).code)
        lows = np.r_[low, members.values[last] + 1]
        highs = np.r_[members.values - 1, np.full(int(last.sum()), size)]
        owners = np.r_[conjunctions, conjunctions[last]]
        some = lows <= highs
        without = np.setdiff1d(conjunctions, owners[some])
        if not domain.grows and slot.role != Role.LACKS:
            self.dead[without] = True
        owners = np.r_[owners[some], without]
        lows = np.r_[lows[some], np.full(len(without), NOTHING[0])]
        highs = np.r_[highs[some], np.full(len(without), NOTHING[1])]
        return [Piece(slot, PieceKind.CODES, owners, Bound(lows, False), Bound(highs, False))]

    def _kinds_of(
        self, slot: Slot, domain: Finite, operator: int, members: _Members, of: npt.NDArray[Any], known: list[str]
    ) -> list[Piece]:
        """Names below or above others, as runs of codes."""
        codes = self.pieces.finite(slot.attribute, domain)
        runs = [
            codes.runs((Predicate(slot.attribute, _OPERATOR[operator], string(name)),))
            if name in codes.code
            else [NOTHING]
            for name in known
        ]
        counts = np.array([len(one) for one in runs] or [0])
        if not domain.grows:
            self.dead[members.conjunctions[np.array([one == [NOTHING] for one in runs] or [False])[of]]] = True
        low, high = np.array([edges for one in runs for edges in one] or [NOTHING], np.int64).T
        times = counts[of]
        nth = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        at = np.repeat((np.cumsum(counts) - counts)[of], times) + nth
        conjunctions = np.repeat(members.conjunctions, times)
        return [Piece(slot, PieceKind.CODES, conjunctions, Bound(low[at], False), Bound(high[at], False))]


class _Members:
    """Constants, and the conjunction of each; those of one conjunction belong together."""

    def __init__(self, conjunctions: Longs, values: Column) -> None:
        self.conjunctions = conjunctions
        self.values = values

    def __len__(self) -> int:
        return len(self.conjunctions)

    @cached_property
    def alone(self) -> bool:
        """Whether each is the only one of its conjunction, and these are in order."""
        return bool((self.conjunctions[1:] > self.conjunctions[:-1]).all())

    @property
    def begins(self) -> Mask:
        """Which are the first of their conjunctions."""
        return np.r_[True, self.conjunctions[1:] != self.conjunctions[:-1]]

    def take(self, chosen: npt.NDArray[Any]) -> _Members:
        return _Members(self.conjunctions[chosen], take(self.values, chosen))

    def sorted(self) -> _Members:
        """By conjunction, in order, each value once."""
        if self.alone:
            return self
        rank = ranks(self.values)
        order = np.lexsort((rank, self.conjunctions))
        conjunctions, ranked = self.conjunctions[order], rank[order]
        fresh = (conjunctions[1:] != conjunctions[:-1]) | (ranked[1:] != ranked[:-1])
        return self.take(order[np.r_[True, fresh]])


def _greater(left: Column, right: Column) -> Mask:
    if isinstance(left, pa.Array):
        return np.array(pc.greater(left, right).to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(left > right, np.bool_)


def _is_empty(values: pa.Array) -> Mask:
    return np.asarray(pc.equal(values, "").to_numpy(zero_copy_only=False), np.bool_)
