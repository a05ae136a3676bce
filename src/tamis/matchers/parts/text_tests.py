"""Tests of what stands in a text, found from the text: one automaton over all needles, run once per text.

A test has a *needle*, some text that it cannot do without, perhaps at an end:

    ends with 'bc'     bc at the end       like 'a%b_cde'          cde at the end, the rarest of its literals
    includes 'bc'      bc anywhere         = 'ab' ignoring case    ab from start to end, of the folded text

Whoever has no wildcards holds where its needle is found; a pattern is then tried on the text. One without a literal,
`like '___'`, has no needle and is tried on every text. Tests that ignore case have an automaton of their own, which is
given the text folded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log2
from typing import NamedTuple, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.letters import letters_of
from tamis.kernels.automaton import END, START, Found, automaton_of, search
from tamis.kernels.patterns import ANY, SOME, UNSURE, Programs, fit_pairs
from tamis.matchers.parts.arrays import Ints, Scratches
from tamis.model import COMPARISONS, OPERATORS, Operator, Predicate, String, Value, compare
from tamis.model.operators import Shape
from tamis.model.patterns import pattern

__all__ = ["Holding", "TextIndex", "TextTests", "as_test", "literals"]

_START, _END = bytes([START]), bytes([END])
_YOUNG = 32
"""So many new tests are tried one by one before an automaton is made of them."""


def literals(test: Predicate) -> list[list[bytes]]:
    """For each constant, the texts that a value must have if the test holds by it; none if there is no such text."""
    texts = [str(value.data) for value in test.constants]
    shape = OPERATORS[test.operator].shape
    match shape:
        case Shape.POINTS:
            return [[_START + text.encode() + _END] for text in texts]
        case Shape.PREFIX:
            return [[_START + text.encode()] for text in texts]
        case Shape.SUFFIX:
            return [[text.encode() + _END] for text in texts]
        case Shape.SUBSTRING:
            return [[text.encode()] for text in texts]
        case Shape.PATTERN:
            return [_literals_of(text) for text in texts]
        case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM | Shape.COUNT | Shape.RECORDS | Shape.PRESENCE:
            raise AssertionError(f"{test.operator.value!r} is not about text")
        case never:
            assert_never(never)


def _literals_of(text: str) -> list[bytes]:
    stretches = pattern(text).stretches
    found: list[bytes] = []
    for at, stretch in enumerate(stretches):
        for one in stretch.literals:
            first = at == 0 and one.offset == 0
            last = at == len(stretches) - 1 and one.offset + len(one.text) == stretch.length
            found.append(_START * first + one.text.encode() + _END * last)
    return found


def _program(text: str) -> bytes:
    """A pattern as the kernel has it."""
    some, any_one = bytes([SOME]), bytes([ANY])
    return some.join(stretch.filled(any_one) for stretch in pattern(text).stretches)


class _Rarity:
    """How rare a literal is, guessed from its letters: those that tests seldom have are taken to be rare in texts."""

    def __init__(self, listed: Iterable[list[bytes]]) -> None:
        counts = Counter(letter for some in listed if len(some) > 1 for one in some for letter in one)
        total = counts.total() + 256
        self._bits = [log2(total / (counts[letter] + 1)) for letter in range(256)]

    def rarest(self, some: list[bytes]) -> bytes:
        return some[0] if len(some) == 1 else max(some, key=lambda one: sum(map(self._bits.__getitem__, one)))


class Holding(NamedTuple):
    """Test `tests[i]` holds for text `texts[i]`."""

    texts: Ints
    tests: Ints


class _Half:
    """Tests that look at texts as they are, or at folded ones; each with its number."""

    def __init__(self, tests: Sequence[tuple[int, Predicate]]) -> None:
        needles: dict[bytes, list[int]] = {}
        self.tried: list[tuple[int, str]] = []
        """Tests without a needle."""
        self.patterns = {
            number: str(test.constants[0].data)
            for number, test in tests
            if OPERATORS[test.operator].shape is Shape.PATTERN
        }
        listed = [(number, some) for number, test in tests for some in literals(test)]
        rarity = _Rarity(some for _, some in listed)
        for number, some in listed:
            if some:
                needles.setdefault(rarity.rarest(some), []).append(number)
            else:
                self.tried.append((number, self.patterns[number]))
        letters = np.frombuffer(b"".join(needles), np.uint8)
        ends = np.cumsum([0, *map(len, needles)], dtype=np.int64)
        self._automaton = automaton_of(letters, ends) if needles else None
        self._counts = np.array([len(some) for some in needles.values()], np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        self._tests = np.array([number for some in needles.values() for number in some], np.int32)
        self._most = 4.0
        """How many needles a text has, as far as is known: room is made for as many."""
        self._program_of = np.full(max((number for number, _ in tests), default=-1) + 1, -1, np.int32)
        self._program_of[list(self.patterns)] = np.arange(len(self.patterns))
        programs = [_program(text) for text in self.patterns.values()]
        self._programs = Programs(
            np.frombuffer(b"".join(programs) or b"\0", np.uint8),
            np.cumsum([0, *map(len, programs)], dtype=np.int64),
        )
        self._scratches = Scratches(lambda: _Seen(len(needles)))
        self.looked_up = 0
        """Tests that a needle was found of, or that were tried for want of one, once for each text."""

    def holding(self, texts: pa.Array) -> Iterator[Holding]:
        if self._automaton is not None:
            found = self._found(texts)
            counts = self._counts[found.tests]
            skipped = self._starts[found.tests] - (np.cumsum(counts) - counts)
            tests = self._tests[np.repeat(skipped, counts) + np.arange(int(counts.sum()))]
            of = np.repeat(found.texts, counts)
            self.looked_up += len(tests)
            yield Holding(of, tests) if not self.patterns else self._fitting(texts, of, tests)
        for number, text in self.tried:
            fits = pattern(text).fits
            self.looked_up += len(texts)
            of = np.array([at for at, one in enumerate(texts.to_pylist()) if fits(one)], np.int32)
            yield Holding(of, np.full(len(of), number, np.int32))

    def _found(self, texts: pa.Array) -> Holding:
        """The needles of each text."""
        assert self._automaton is not None
        ends, letters = letters_of(texts)
        seen = self._scratches.borrow()
        room = 64 + int(self._most * len(texts))
        while True:
            found = Found(np.empty(room, np.int32), np.empty(room, np.int32), seen.last)
            count = search(self._automaton, letters, ends, seen.number(len(texts)), found)
            self._most = max(self._most, count / max(len(texts), 1))
            if count <= room:
                break
            room = count
        self._scratches.give_back(seen)
        return Holding(found.texts[:count], found.needles[:count])

    def _fitting(self, texts: pa.Array, of: Ints, tests: Ints) -> Holding:
        """Less those that are patterns and do not fit."""
        ends, letters = letters_of(texts)
        fits = np.empty(len(of), np.uint8)
        fit_pairs(letters, ends, of, self._program_of[tests], self._programs, fits)
        for at in np.flatnonzero(fits == UNSURE).tolist():
            fits[at] = pattern(self.patterns[int(tests[at])]).fits(texts[int(of[at])].as_py())
        keep = fits.astype(np.bool_)
        return Holding(of[keep], tests[keep])


class _Seen:
    """Scratch of a search; numbers grow, so that nothing is ever wiped."""

    def __init__(self, needles: int) -> None:
        self.last = np.zeros(needles, np.int64)
        self._next = 1

    def number(self, texts: int) -> int:
        first, self._next = self._next, self._next + texts
        return first


class TextIndex:
    """Tests, none negated, that do not change. A text costs its length, what it holds, and the patterns tried on it."""

    def __init__(self, tests: Sequence[Predicate]) -> None:
        numbered = list(enumerate(tests))
        self._plain = _Half([(at, one) for at, one in numbered if not OPERATORS[one.operator].folded])
        folded = [(at, one) for at, one in numbered if OPERATORS[one.operator].folded]
        self._folded = _Half(folded) if folded else None

    @property
    def looked_up(self) -> int:
        """Tests looked at by all searches so far."""
        return self._plain.looked_up + (0 if self._folded is None else self._folded.looked_up)

    def holding(self, texts: pa.Array) -> Holding:
        """Which tests hold for which texts, each pair once; of a column of strings without nulls."""
        found = list(self._plain.holding(texts))
        if self._folded is not None:
            found += self._folded.holding(_folded(texts))
        if not found:
            return Holding(np.empty(0, np.int32), np.empty(0, np.int32))
        return Holding(*(np.concatenate(some) for some in zip(*found, strict=True)))


def _folded(texts: pa.Array) -> pa.Array:
    """Texts as they are compared when case is ignored; of ASCII that is lower case."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_lower(texts).cast(pa.large_string())
    return pa.array([text.casefold() for text in texts.to_pylist()], pa.large_string())


# -- tests that come and go -----------------------------------------------------------------------------------------


class _Askers(NamedTuple):
    """Predicates by id: those that say the test, and those that say its contrary."""

    plain: dict[int, None]
    negated: dict[int, None]


class _Run(NamedTuple):
    tests: list[Predicate]
    texts: TextIndex


class TextTests:
    """Predicates about text. New tests wait in a short list, then become a run with an automaton; runs of like sizes
    are made one, so that an insertion costs O(log n) times its needle, and a search O(log n) automata."""

    def __init__(self) -> None:
        self._askers: dict[Predicate, _Askers] = {}
        self._young: dict[Predicate, None] = {}
        self._negated: dict[Predicate, None] = {}
        self._runs: list[_Run] = []
        self.looked_up = 0

    def __bool__(self) -> bool:
        return bool(self._askers)

    def insert(self, pid: int, predicate: Predicate) -> None:
        test, negated = as_test(predicate)
        if test not in self._askers:
            self._askers[test] = _Askers({}, {})
            self._young[test] = None  # though a run may still have it from before: it is found twice and told once
        (self._askers[test].negated if negated else self._askers[test].plain)[pid] = None
        if negated:
            self._negated[test] = None
        if len(self._young) > _YOUNG:
            self._settle()

    def delete(self, pid: int, predicate: Predicate) -> None:
        test, negated = as_test(predicate)
        askers = self._askers[test]
        del (askers.negated if negated else askers.plain)[pid]
        if not askers.negated:
            self._negated.pop(test, None)
        if not askers.plain and not askers.negated:
            del self._askers[test]
            self._young.pop(test, None)

    def _settle(self) -> None:
        tests = list(self._young)
        while self._runs and len(self._runs[-1].tests) <= 2 * len(tests):
            tests += self._runs.pop().tests
        tests = [test for test in dict.fromkeys(tests) if test in self._askers]
        self._runs.append(_Run(tests, TextIndex(tests)))
        self._young = {}

    def search(self, value: Value) -> Iterator[int]:
        """Predicates that hold for the text, each once."""
        holding = self._holding(value)
        for test in holding:
            yield from self._askers[test].plain
        for test in self._negated:
            if test not in holding:
                yield from self._askers[test].negated

    def _holding(self, value: Value) -> dict[Predicate, None]:
        found: dict[Predicate, None] = {}
        texts = pa.array([value.data], pa.large_string())
        for run in self._runs:
            before = run.texts.looked_up
            hits = run.texts.holding(texts).tests.tolist()
            self.looked_up += 1 + run.texts.looked_up - before
            found |= {run.tests[at]: None for at in hits if run.tests[at] in self._askers}
        for test in self._young:
            self.looked_up += 1
            if _holds(test, value):
                found[test] = None
        return found


def as_test(predicate: Predicate) -> tuple[Predicate, bool]:
    """What is asked of one text, and whether it shall not be so. A set that has a text has one that equals it."""
    row = OPERATORS[predicate.operator]
    operator = row.complement if row.negated else predicate.operator
    operator = operator if operator in COMPARISONS else Operator.FOLDED_EQ
    return Predicate(predicate.attribute, operator, predicate.operand), row.negated


def _holds(test: Predicate, value: Value) -> bool:
    return compare(String(), test.operator, value, test.constants)
