r"""What stands in the texts of one attribute: written in the simplest way, and merged.

name like 'ab%'                                     →  name starts with 'ab'       and so for all but real patterns
name ends with 'b' and name ends with 'ab'          →  name ends with 'ab'
name ends with 'ab' and not name ends with 'b'      →  never
name includes 'ab' and name includes 'b'            →  name includes 'ab'
name ends with 'ab' and not name ends with 'c'      →  name ends with 'ab'
name ends with '', name like '%'                    →  name >= ''           any text at all

A test is left out only where another one plainly says more; patterns are not compared with each other.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from tamis.language.intervals import NEVER
from tamis.model import COMPLEMENT, OPERATORS, Kind, Operator, Predicate, String, Value, compare
from tamis.model.operators import FOLDED, Shape
from tamis.model.patterns import pattern, written
from tamis.model.predicates import folded
from tamis.model.values import string

__all__ = ["Texts", "simplify_texts", "text_predicate"]

_O = Operator
_EMPTY = string("")
_COMPARED = 128
"""Past so many tests of one attribute nobody looks for those that others say: it takes their square."""


def text_predicate(attribute: str, operator: Operator, operand: Value | tuple[Value, ...], fold: bool) -> Predicate:
    """A test of strings with its constants, folded if case is ignored, in the simplest words."""
    if fold:
        if OPERATORS[operator].shape is Shape.PATTERN:
            assert isinstance(operand, Value)
            operand = string(pattern(str(operand.data)).folded().text)
        else:
            operand = _folded(operand)
    if operator is _O.LIKE:
        assert isinstance(operand, Value)
        operator, operand = _simplest(str(operand.data))
    if operand == _EMPTY and OPERATORS[operator].shape not in (Shape.POINTS, Shape.PATTERN):
        return Predicate(attribute, _O.GE, _EMPTY)
    return Predicate(attribute, FOLDED[operator] if fold else operator, operand)


def _folded(operand: Value | tuple[Value, ...]) -> Value | tuple[Value, ...]:
    return folded(operand) if isinstance(operand, Value) else tuple(dict.fromkeys(map(folded, operand)))


def _simplest(text: str) -> tuple[Operator, Value]:
    """A pattern in other words, if there are any."""
    found = pattern(text)
    plain = [one.plain for one in found.stretches]
    match plain:
        case [str(whole)]:
            return _O.EQ, string(whole)
        case [str(start), ""]:
            return _O.STARTS, string(start)
        case ["", str(end)]:
            return _O.ENDS, string(end)
        case ["", str(inside), ""]:
            return _O.INCLUDES, string(inside)
    return _O.LIKE, string(written(text))


# -- several tests of one attribute ---------------------------------------------------------------------------------


class Texts(NamedTuple):
    """The fewest tests, and what comes to a bound on the order of strings."""

    left: list[Predicate]
    as_bounds: list[Predicate]


def simplify_texts(attribute: str, tests: list[Predicate]) -> Texts | None:
    """What they say together of the one bound value."""
    wanted = list(dict.fromkeys(test for test in tests if not OPERATORS[test.operator].negated))
    gone = list(dict.fromkeys(_contrary(test) for test in tests if OPERATORS[test.operator].negated))
    if len(tests) > _COMPARED:
        left = wanted + [_contrary(one) for one in gone]
        return NEVER if set(wanted) & set(gone) else Texts(left, [])
    if _contradict(wanted) or any(_says(one, other) for one in wanted for other in gone):
        return NEVER
    kept = [one for one in wanted if not any(other != one and _says(other, one) for other in wanted)]
    gone = [one for one in gone if not any(_excludes(other, one) for other in wanted)]
    widest = [one for one in gone if not any(other != one and _says(one, other) for other in gone)]
    left = kept + [_contrary(one) for one in widest]
    return Texts(left, [] if left else [Predicate(attribute, _O.GE, _EMPTY)])


def _contrary(test: Predicate) -> Predicate:
    return Predicate(test.attribute, COMPLEMENT[test.operator], test.operand)


def _contradict(wanted: list[Predicate]) -> bool:
    return any(_excludes(one, other) for at, one in enumerate(wanted) for other in wanted[at + 1 :])


class _Known(NamedTuple):
    """What is known of a text that passes a test, folded or not: how it begins and ends, what else it has, or which
    texts alone it may be."""

    start: str = ""
    end: str = ""
    inside: tuple[str, ...] = ()
    points: tuple[str, ...] | None = None


def _known(test: Predicate) -> _Known:
    text = str(test.constants[0].data)
    shape = OPERATORS[test.operator].shape
    match shape:
        case Shape.POINTS:
            return _Known(points=tuple(str(value.data) for value in test.constants))
        case Shape.PREFIX:
            return _Known(start=text)
        case Shape.SUFFIX:
            return _Known(end=text)
        case Shape.SUBSTRING:
            return _Known(inside=(text,))
        case Shape.PATTERN:
            stretches = pattern(text).stretches
            start = next((one.text for one in stretches[0].literals if one.offset == 0), "")
            last = stretches[-1]
            end = next((one.text for one in last.literals if one.offset + len(one.text) == last.length), "")
            return _Known(start, end, tuple(one.text for stretch in stretches for one in stretch.literals))
        case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM | Shape.COUNT | Shape.RECORDS | Shape.PRESENCE:
            raise AssertionError(f"{test.operator.value!r} is no truth about text")
        case never:
            assert_never(never)


def _says(test: Predicate, other: Predicate) -> bool:
    """Whether every text that passes the one surely passes the other."""
    row, theirs = OPERATORS[test.operator], OPERATORS[other.operator]
    if test == other:
        return True
    if row.folded and not theirs.folded:
        return False
    known = _known(test)
    if known.points is not None:
        return all(_passes(other, text) for text in known.points)
    if theirs.folded and not row.folded:
        start, end, inside = known.start.casefold(), known.end.casefold(), tuple(map(str.casefold, known.inside))
        known = _Known(start, end, inside)
    text = str(other.constants[0].data)
    if theirs.shape is Shape.PREFIX:
        return known.start.startswith(text)
    if theirs.shape is Shape.SUFFIX:
        return known.end.endswith(text)
    return theirs.shape is Shape.SUBSTRING and any(text in one for one in (known.start, known.end, *known.inside))


def _passes(test: Predicate, text: str) -> bool:
    return compare(String(), test.operator, Value(Kind.STRING, text), test.constants)


def _excludes(test: Predicate, other: Predicate) -> bool:
    """Whether no text passes both, as far as their ends tell."""
    if OPERATORS[test.operator].folded is not OPERATORS[other.operator].folded:
        return False
    one, two = _known(test), _known(other)
    if one.points is not None or two.points is not None:
        listed, against = (one, other) if one.points is not None else (two, test)
        return not any(_passes(against, text) for text in listed.points or ())
    start = not (one.start.startswith(two.start) or two.start.startswith(one.start))
    return start or not (one.end.endswith(two.end) or two.end.endswith(one.end))
