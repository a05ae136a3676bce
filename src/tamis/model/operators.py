"""The operators, one row each: everything that differs between them and is not their meaning on a value.

    word         as it is written, and printed
    complement   what `not` makes of it
    relations    in which relations two values may stand for it to hold: what it says of another attribute (`@name`)
    shape        which values it admits, told by its constants; for those in `TRUTHS` no interval of the order tells it
    negated      whether it admits all values of the constants' kind *but* those of its shape
    needs        what its attribute and its constants must have: an order, or text
    sql          how SQL says that the value `e.val` satisfies it with the constant `p.val`, one of which is enough
    folded       whether the value is compared after case folding; its constants are folded already

`predicates.compare` is the meaning, and `regions.region` the set of values that a shape and constants come to. A new
operator begins here; `make check` then lists the places that tell operators or shapes apart, each of which ends in
`assert_never`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["COMPARISONS", "COMPLEMENT", "FOLDED", "MIRROR", "OPERATORS", "TOTAL", "Needs", "Operator", "Row", "Shape"]
__all__ += ["IGNORING_CASE", "TRUTHS"]

IGNORING_CASE = " ignoring case"
"""What is written behind the constants of a folded operator."""


class Operator(StrEnum):
    """The operators that remain in normal form, each with its word."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NOT_LT = "not <"
    NOT_LE = "not <="
    NOT_GT = "not >"
    NOT_GE = "not >="
    IN = "in"
    NOT_IN = "not in"
    STARTS = "starts with"
    NOT_STARTS = "not starts with"
    ENDS = "ends with"
    NOT_ENDS = "not ends with"
    INCLUDES = "includes"
    NOT_INCLUDES = "not includes"
    LIKE = "like"
    NOT_LIKE = "not like"
    CONTAINS = "contains"
    LACKS = "not contains"
    PRESENT = "is present"
    MISSING = "is missing"
    AT_LEAST = "at least"
    ANY = "any"
    NOT_ANY = "not any"
    FOLDED_EQ = "= ignoring case"
    FOLDED_NE = "!= ignoring case"
    FOLDED_IN = "in ignoring case"
    FOLDED_NOT_IN = "not in ignoring case"
    FOLDED_STARTS = "starts with ignoring case"
    FOLDED_NOT_STARTS = "not starts with ignoring case"
    FOLDED_ENDS = "ends with ignoring case"
    FOLDED_NOT_ENDS = "not ends with ignoring case"
    FOLDED_INCLUDES = "includes ignoring case"
    FOLDED_NOT_INCLUDES = "not includes ignoring case"
    FOLDED_LIKE = "like ignoring case"
    FOLDED_NOT_LIKE = "not like ignoring case"
    FOLDED_CONTAINS = "contains ignoring case"
    FOLDED_LACKS = "not contains ignoring case"

    __hash__ = str.__hash__  # Enum's own is a Python call


class Shape(Enum):
    """Which values of a kind a comparison admits, by its constants c."""

    POINTS = auto()
    """The constants themselves."""
    BELOW = auto()
    """Values before c,"""
    UP_TO = auto()
    """and c with them."""
    ABOVE = auto()
    FROM = auto()
    PREFIX = auto()
    """Strings that begin with c."""
    SUFFIX = auto()
    """Strings that end with c: no interval, so that each value is looked at and the answer kept as a *truth*."""
    SUBSTRING = auto()
    """Strings that have c somewhere, a truth like the others below."""
    PATTERN = auto()
    """Strings that fit the pattern c (`model.patterns`)."""
    COUNT = auto()
    """No value's matter: how many of several expressions hold."""
    RECORDS = auto()
    """No value's matter: whether one record of a list satisfies an expression."""
    PRESENCE = auto()
    """No matter which value: whether there is one."""


TRUTHS = frozenset({Shape.SUFFIX, Shape.SUBSTRING, Shape.PATTERN, Shape.COUNT, Shape.RECORDS})
"""Shapes that are no region of the order."""


class Needs(Enum):
    """What an operator asks of the attribute it is used with."""

    NOTHING = auto()
    ORDER = auto()
    TEXT = auto()


class Row(NamedTuple):
    """What the table has of an operator; the module's docstring says what each is."""

    complement: Operator
    shape: Shape
    negated: bool = False
    relations: str = ""
    needs: Needs = Needs.NOTHING
    sql: str | None = None
    folded: bool = False


_O, _S, _ORDER, _TEXT = Operator, Shape, Needs.ORDER, Needs.TEXT

# Relations: < = > as written; | neither, as a partial order allows; b and d booleans, equal and different, which have
# no order. None at all: the operator takes constants only.
_PLAIN: Mapping[Operator, Row] = MappingProxyType(
    {
        _O.EQ: Row(_O.NE, _S.POINTS, relations="=b", sql="e.val = p.val"),
        _O.NE: Row(_O.EQ, _S.POINTS, negated=True, relations="<>|d", sql="e.val <> p.val"),
        _O.LT: Row(_O.NOT_LT, _S.BELOW, relations="<", needs=_ORDER, sql="e.val < p.val"),
        _O.LE: Row(_O.NOT_LE, _S.UP_TO, relations="<=", needs=_ORDER, sql="e.val <= p.val"),
        _O.GT: Row(_O.NOT_GT, _S.ABOVE, relations=">", needs=_ORDER, sql="e.val > p.val"),
        _O.GE: Row(_O.NOT_GE, _S.FROM, relations="=>", needs=_ORDER, sql="e.val >= p.val"),
        _O.NOT_LT: Row(_O.LT, _S.BELOW, negated=True, relations="=>|", needs=_ORDER, sql="e.val >= p.val"),
        _O.NOT_LE: Row(_O.LE, _S.UP_TO, negated=True, relations=">|", needs=_ORDER, sql="e.val > p.val"),
        _O.NOT_GT: Row(_O.GT, _S.ABOVE, negated=True, relations="<=|", needs=_ORDER, sql="e.val <= p.val"),
        _O.NOT_GE: Row(_O.GE, _S.FROM, negated=True, relations="<|", needs=_ORDER, sql="e.val < p.val"),
        _O.IN: Row(_O.NOT_IN, _S.POINTS, sql="e.val = p.val"),
        _O.NOT_IN: Row(_O.IN, _S.POINTS, negated=True),
        _O.STARTS: Row(_O.NOT_STARTS, _S.PREFIX, needs=_TEXT, sql="substr(e.val, 1, length(p.val)) = p.val"),
        _O.NOT_STARTS: Row(
            _O.STARTS, _S.PREFIX, negated=True, needs=_TEXT, sql="substr(e.val, 1, length(p.val)) <> p.val"
        ),
        _O.ENDS: Row(_O.NOT_ENDS, _S.SUFFIX, needs=_TEXT),
        _O.NOT_ENDS: Row(_O.ENDS, _S.SUFFIX, negated=True, needs=_TEXT),
        _O.INCLUDES: Row(_O.NOT_INCLUDES, _S.SUBSTRING, needs=_TEXT),
        _O.NOT_INCLUDES: Row(_O.INCLUDES, _S.SUBSTRING, negated=True, needs=_TEXT),
        _O.LIKE: Row(_O.NOT_LIKE, _S.PATTERN, needs=_TEXT),
        _O.NOT_LIKE: Row(_O.LIKE, _S.PATTERN, negated=True, needs=_TEXT),
        _O.CONTAINS: Row(_O.LACKS, _S.POINTS, sql="e.val = p.val"),
        _O.LACKS: Row(_O.CONTAINS, _S.POINTS, negated=True),
        _O.PRESENT: Row(_O.MISSING, _S.PRESENCE, sql="TRUE"),
        _O.MISSING: Row(_O.PRESENT, _S.PRESENCE, negated=True),
        _O.AT_LEAST: Row(_O.AT_LEAST, _S.COUNT),  # `not` turns its operand, not the operator
        _O.ANY: Row(_O.NOT_ANY, _S.RECORDS),
        _O.NOT_ANY: Row(_O.ANY, _S.RECORDS, negated=True),  # the list is there, and no record does
    }
)

FOLDED: Mapping[Operator, Operator] = {
    operator: _O(operator.value + IGNORING_CASE) for operator in _PLAIN if operator.value + IGNORING_CASE in set(_O)
}
"""What an operator is called when it ignores case; those that compare strings as a whole or piece by piece have one."""

OPERATORS: Mapping[Operator, Row] = MappingProxyType(
    {
        **_PLAIN,
        **{
            folded: Row(
                FOLDED[_PLAIN[plain].complement], _PLAIN[plain].shape, _PLAIN[plain].negated, "", _TEXT, None, True
            )
            for plain, folded in FOLDED.items()
        },
    }
)

_ABOUT_SETS = {_O.CONTAINS, _O.LACKS, _O.FOLDED_CONTAINS, _O.FOLDED_LACKS, _O.PRESENT, _O.MISSING}
_ABOUT_SETS |= {_O.AT_LEAST, _O.ANY, _O.NOT_ANY}
COMPARISONS = frozenset(_O) - _ABOUT_SETS
"""Operators about the one bound value; the others are about the set of values, or about the event."""

COMPLEMENT: Mapping[Operator, Operator] = {operator: row.complement for operator, row in OPERATORS.items()}
"""What `not` makes of an operator. It keeps "missing satisfies nothing": both sides need a value of the kind."""

_BY_RELATIONS = {frozenset(row.relations): operator for operator, row in OPERATORS.items() if row.relations}

MIRROR: Mapping[Operator, Operator] = {
    operator: _BY_RELATIONS[frozenset(row.relations.translate(str.maketrans("<>", "><")))]
    for operator, row in OPERATORS.items()
    if row.relations
}
"""`a < @b` says the same as `b > @a`."""

TOTAL: Mapping[Operator, Operator] = {
    operator: _BY_RELATIONS[frozenset(row.relations) - {"|"}]
    for operator, row in OPERATORS.items()
    if row.needs is Needs.ORDER and row.negated
}
"""What the negated comparisons come to under a total order; a partial one has values that are neither."""
