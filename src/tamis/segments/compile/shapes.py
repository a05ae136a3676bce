"""Shapes → plans: what expressions that are written alike have in common, found out by the real parser, once.

`(brand = § or size in (§)) and price < §` is parsed with the constants that one of them has. What comes out is the
conjunctions before anything is merged; in the place of each constant that another text may have otherwise stands a
*hole*. A plan is made only where the parser accepts the shape whatever the constants are, or where the columns of
constants show which of them it would not; all else is left to the parser, mistakes included.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tamis.errors import LanguageError, LimitError
from tamis.kernels.segments import pairing
from tamis.kernels.segments.expanding import MOST_CONJUNCTIONS, Plans
from tamis.kernels.segments.lexing import MARKS
from tamis.language.grammar import AtLeast, Group, Not, Operand, Syntax, Test, parse_syntax
from tamis.language.normal import disjuncts, simplify
from tamis.language.resolve import Resolver
from tamis.language.tokens import tokenize
from tamis.model import (
    COMPARISONS,
    OPERATORS,
    TOTAL,
    Domain,
    Finite,
    Integer,
    Number,
    Operator,
    Predicate,
    Reference,
    Schema,
    String,
    Timestamp,
    Untyped,
)
from tamis.model.operators import FOLDED, Needs
from tamis.segments.compile.said import TEXT_CODES, Listed

__all__ = ["Example", "Hole", "Planner"]

_CODES = {Operator(word): code for code, word in enumerate(pairing.OPERATORS)}
_CODES |= {Operator.EQ: _CODES[Operator.IN], Operator.NE: _CODES[Operator.NOT_IN]} | TEXT_CODES
_LISTS = frozenset(("numbers", "strings", "timestamps"))
_MOST_NAMES = 1 << 19


class Hole(NamedTuple):
    """A constant of a shape: its number in the unit, the column at which it stands, and what is put in its place."""

    number: int
    column: int
    mark: str


class Example(NamedTuple):
    """The text of a unit, and the marks and columns of its constants."""

    text: str
    marks: list[int]
    columns: list[int]


class _Left(Exception):  # no error: this shape is the parser's
    pass


class _Atom(NamedTuple):
    attribute: str
    code: int
    hole: int
    predicate: Predicate | None = None
    listed: Listed | None = None


_Plan = list[list[_Atom]]
_Kept = dict[bytes, _Plan]
_KEPT: dict[int, tuple[weakref.ref[Schema], _Kept]] = {}
_MOST_KEPT = 4096


def _kept_for(schema: Schema) -> _Kept:
    """The plans made with a schema so far: whoever subscribes a few at a time has most of their shapes again."""
    key = id(schema)  # a schema cannot be hashed
    found = _KEPT.get(key)
    if found is None or found[0]() is not schema:
        found = _KEPT[key] = weakref.ref(schema, lambda _: _KEPT.pop(key, None)), {}
    return found[1]


class Planner:
    """Collects the plans of shapes, the attributes they name and the predicates they have as they stand."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names: dict[str, int] = {}
        self.predicates: list[Predicate] = []
        self.counted: dict[str, Listed] = {}
        self._kept = _kept_for(schema)
        self._plans: dict[int, list[list[tuple[int, int, int]]]] = {}

    def has(self, shape: int) -> bool:
        """Whether it was added."""
        return shape in self._plans

    def add(self, shape: int, letters: bytes, example: Callable[[], Example]) -> None:
        """A shape as it is written, and one of the units that have it, asked for if the shape is new."""
        plan = self._kept.get(letters)
        if plan is None:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            plan = self._kept[letters] = self._plan(letters, example())
        self._plans[shape] = [[self._numbered(atom) for atom in way] for way in plan]

    def plans(self, shapes: int) -> Plans:
        """The plans of so many shapes; one that was not added has none."""
        every = [self._plans.get(shape, []) for shape in range(shapes)]
        ways = [way for plan in every for way in plan]
        atoms = [atom for way in ways for atom in way]
        way_starts, atom_starts = (np.cumsum([0, *map(len, lists)], dtype=np.int32) for lists in (every, ways))
        attributes, codes, holes = zip(*atoms, strict=True) if atoms else ((), (), ())
        columns = np.array(attributes, np.int32), np.array(codes, np.int8), np.array(holes, np.int32)
        return Plans(way_starts, atom_starts, *columns)

    def links(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The two attributes of each predicate that compares two."""
        pairs = [
            [self._name(name) for name in one.attributes] if len(one.attributes) == 2 else [-1, -1]
            for one in self.predicates
        ]
        return np.array(pairs or [[-1, -1]], np.int32).ravel()

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def _numbered(self, atom: _Atom) -> tuple[int, int, int]:
        if atom.listed is not None:
            self.counted[atom.attribute] = atom.listed
        if atom.predicate is None:
            return self._name(atom.attribute), atom.code, atom.hole
        self.predicates.append(atom.predicate)
        for name in atom.predicate.attributes:
            self._name(name)
        return self._name(atom.attribute), atom.code, -len(self.predicates)

    def _plan(self, letters: bytes, example: Example) -> _Plan:
        """Ways of atoms; none where the parser must look at each text."""
        text, marks, columns = example
        kinds = [MARKS[mark - 1] for mark in marks]
        holes = {column: Hole(at, column, kind) for at, (column, kind) in enumerate(zip(columns, kinds, strict=True))}
        resolver = _HoleResolver(text, self.schema, holes)
        try:
            if len(self.names) > _MOST_NAMES:
                raise _Left
            tree = parse_syntax(text)
            inner = tree.part if isinstance(tree, Not) else tree
            if isinstance(inner, AtLeast):
                disjuncts(tree, Resolver(text, self.schema))  # it keeps its limits, which its shape decides
                listed = Listed(_members(text, inner, holes), inner is not tree, len(holes))
                return [[_Atom("\0" + letters.decode("latin-1"), pairing.COUNT, 0, listed=listed)]]
            if not _is_plain(tree):
                raise _Left
            found = disjuncts(tree, resolver)
            if resolver.used != set(holes) or len(found) > MOST_CONJUNCTIONS:
                raise _Left
            return [[atom for predicate in one for atom in self._atom(predicate)] for one in found]
        except (LanguageError, LimitError, _Left):
            return []

    def _atom(self, predicate: Predicate) -> Iterable[_Atom]:
        name, operator, operand = predicate.attribute, predicate.operator, predicate.operand
        if isinstance(operand, Hole):
            finite = isinstance(self.schema.domain(name), Finite)
            meant = operator if finite else TOTAL.get(operator, operator)
            if meant not in _CODES:
                raise _Left
            yield _Atom(name, _CODES[meant], operand.number)
        elif operand is None:
            yield _Atom(name, _CODES[operator], -1)
        else:
            yield self._fixed(predicate)

    def _fixed(self, predicate: Predicate) -> _Atom:
        """A predicate that is the same in all texts, as simple as the parser would have it."""
        link = isinstance(predicate.operand, Reference)
        simple = simplify((predicate,), self.schema) if link or predicate.operator in COMPARISONS else None
        if simple is None or len(simple) != 1:
            raise _Left
        (one,) = simple
        if one.operand is None:
            return _Atom(one.attribute, _CODES[one.operator], -1)
        return _Atom(
            one.attribute, pairing.LINK if isinstance(one.operand, Reference) else pairing.FIXED, -1, predicate=one
        )


class _HoleResolver(Resolver):
    """Resolves tests as ever, but puts a hole where a constant may differ."""

    def __init__(self, text: str, schema: Schema, holes: dict[int, Hole]) -> None:
        super().__init__(text, schema)
        self.holes = holes
        self.used: set[int] = set()

    def predicate(self, test: Test) -> Predicate:
        hole = self.holes.get(test.operands[0].column) if test.operands else None
        if hole is None:
            return super().predicate(test)
        operator = test.operator if test.folding is None else FOLDED.get(test.operator)
        if operator is None or test.operator not in _CODES:
            raise _Left
        domain = self.domain(test.attribute, test.column)
        if test.folding is not None:
            self.check_folding(test, domain, test.folding)
        if test.operator is Operator.IN:
            listed = hole.mark in _LISTS
        else:
            self.check_operator(test, domain)
            listed = hole.mark not in _LISTS
        mark = hole.mark.removesuffix("s")
        if not listed or not _readable(domain, test.operator, mark, test.operands[0]):
            raise _Left
        if test.folding is not None and mark not in ("string", "word"):
            raise _Left
        self.used.add(hole.column)
        operand: Any = hole
        return Predicate(test.attribute, operator, operand)


def _is_plain(tree: Syntax) -> bool:
    """Whether it is made of tests alone: the members of an `at least` are in a normal form of their own."""
    match tree:
        case Not():
            return _is_plain(tree.part)
        case Group():
            return all(map(_is_plain, tree.parts))
    return isinstance(tree, Test)


def _members(text: str, tree: AtLeast, holes: dict[int, Hole]) -> tuple[tuple[str | int, ...], ...]:
    """The members of an `at least` as they are written, with the numbers of holes where constants stand."""
    numbers = {column: hole.number for column, hole in holes.items()}
    tokens = tokenize(text)
    opening = 1 + next(at for at, token in enumerate(tokens) if token.text.lower() == "of")
    found: list[list[str | int]] = [[]]
    depth, skipping = 0, False
    for token, following in pairwise(tokens[opening:]):
        if token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
            skipping = skipping and token.text != ")"
        if depth == 0:
            break
        if depth == 1 and token.text in "(," and token.kind == "mark":
            found += [[]] if token.text == "," else []
        elif token.column in numbers:
            found[-1] += [numbers[token.column], " "]
            skipping = holes[token.column].mark in _LISTS
        elif not skipping:
            found[-1].append(text[token.column - 1 : following.column - 1].rstrip() + " ")
    if len(found) != len(tree.parts) or sum(isinstance(part, int) for one in found for part in one) != len(holes) - 1:
        raise _Left
    return tuple(map(tuple, found))


def _readable(domain: Domain, operator: Operator, mark: str, operand: Operand) -> bool:
    """Whether constants of a sort are values of the domain, as far as their sort can tell."""
    text = OPERATORS[operator].needs is Needs.TEXT
    match mark:
        case "number":
            return operand.kind == "number" and isinstance(domain, Integer | Number | Untyped) and not text
        case "timestamp":
            return operand.kind == "timestamp" and isinstance(domain, Timestamp | Untyped) and not text
        case "string":
            return operand.kind in ("string", "word") and isinstance(domain, String | Untyped | Timestamp | Finite)
        case "word":
            plain = isinstance(domain, Untyped) and not OPERATORS[operator].relations
            return operand.kind == "word" and (plain or isinstance(domain, String | Finite))
    raise AssertionError(mark)
