"""Attribute against attribute: merge the comparisons of one pair.

    bid > @reserve and bid >= @reserve    →  bid > @reserve
    bid <= @reserve and bid >= @reserve   →  bid = @reserve
    bid > @reserve and bid = @reserve     →  never

Two values stand in one of a few relations, and an operator is the set of those it admits; comparisons of the same
pair meet in the intersection.
"""

from __future__ import annotations

from tamis.language.intervals import NEVER
from tamis.model import MIRROR, OPERATORS, Domain, Finite, Kind, Operator, Predicate, Reference, Schema

__all__ = ["partner", "simplify_links"]

_RELATIONS = {operator: frozenset(row.relations) for operator, row in OPERATORS.items() if row.relations}


def partner(link: Predicate) -> str:
    """The attribute on the right."""
    assert isinstance(link.operand, Reference)
    return link.operand.attribute


def simplify_links(links: list[Predicate], schema: Schema) -> list[Predicate] | None:
    """The fewest links that say the same. The attribute that sorts first stands left: `b > @a` is `a < @b`."""
    pairs: dict[tuple[str, str], dict[Operator, None]] = {}
    for link in links:
        left, right, operator = link.attribute, partner(link), link.operator
        if right < left:
            left, right, operator = right, left, MIRROR[operator]
        pairs.setdefault((left, right), {})[operator] = None
    found: list[Predicate] = []
    for (left, right), operators in pairs.items():
        merged = _merge(list(operators), _possible(schema.domain(left), schema.domain(right)))
        if merged is NEVER:
            return NEVER
        found += [Predicate(left, operator, Reference(right)) for operator in merged]
    return found


def _possible(left: Domain | None, right: Domain | None) -> frozenset[str]:
    """The relations in which values of the two domains can stand."""
    assert left is not None
    assert right is not None
    booleans = left.kind in (None, Kind.BOOLEAN) and right.kind in (None, Kind.BOOLEAN)
    return frozenset("<=>" + ("|" if isinstance(left, Finite) else "") + ("bd" if booleans else ""))


def _merge(operators: list[Operator], possible: frozenset[str]) -> list[Operator] | None:
    admitted = {operator: _RELATIONS[operator] & possible for operator in operators}
    left = frozenset.intersection(*admitted.values())
    if not left:
        return NEVER
    same = [operator for operator, relations in _RELATIONS.items() if relations & possible == left]
    if same:
        return same[:1]
    for operator in operators:
        rest = [relations for one, relations in admitted.items() if one is not operator]
        if rest and frozenset.intersection(*rest) == left:
            del admitted[operator]
    return list(admitted)
