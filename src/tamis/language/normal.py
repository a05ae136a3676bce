"""Syntax → normal form: `not` pushed to the tests, `or` pulled to the top, one constraint per attribute.

The meaning of an expression with `or` and `not` *is* its normal form: a subscription matches when one of its
conjunctions does, each under a binding of its own. The number of conjunctions is counted before any is made,
so that a short expression cannot fill the memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

from tamis.errors import LimitError
from tamis.language.grammar import Any, AtLeast, Group, Not, Syntax, Test
from tamis.language.links import partner, simplify_links
from tamis.language.printer import print_predicate
from tamis.language.resolve import Resolver
from tamis.language.simplify import NEVER, simplify_comparisons
from tamis.model import (
    COMPARISONS,
    COMPLEMENT,
    Among,
    Conjunction,
    Operator,
    Predicate,
    Records,
    Reference,
    Schema,
    Threshold,
    Value,
)
from tamis.model.bindings import check_work
from tamis.model.predicates import is_about_event

__all__ = ["MAX_CONJUNCTIONS", "MAX_PREDICATES", "at_least_of", "disjuncts", "normalise", "ranked", "simplify"]

_O = Operator

MAX_CONJUNCTIONS = 256
"""How many conjunctions one subscription may stand for."""

MAX_PREDICATES = 16_384
"""How many predicates there may be in all of them together."""

_RANK = {operator: rank for rank, operator in enumerate(Operator)}


@dataclass(frozen=True, slots=True)
class _Junction:
    every: bool
    parts: tuple[_Junction | Predicate, ...]


def disjuncts(tree: Syntax, resolver: Resolver) -> list[Conjunction]:
    """The conjunctions of an expression as they stand, before anything is merged or dropped."""
    pushed = _push(tree, resolver, negate=False)
    size = _size(pushed)
    _check_limit(size.conjunctions, MAX_CONJUNCTIONS, "conjunctions")
    _check_limit(size.predicates, MAX_PREDICATES, "predicates")
    return _expand(pushed)


def _check_limit(found: int, limit: int, what: str) -> None:
    if found > limit:
        many = f"{found:,}" if found < 10**12 else f"some 10^{len(str(found)) - 1}"
        raise LimitError(
            f"expected at most {limit:,}, found {many} {what} once every 'or' under an 'and' is multiplied out; "
            "split the expression into several subscriptions",
            limit,
            found,
        )


def normalise(conjunctions: Iterable[Conjunction], schema: Schema) -> tuple[Conjunction, ...]:
    """Each conjunction simplified; those that never hold and those that another covers dropped."""
    simple = [simplified for one in conjunctions if (simplified := simplify(one, schema)) is not NEVER]
    for one in simple:
        check_work(schema, one)
    kept = {frozenset(one): one for one in reversed(simple)}  # of equal ones, the first
    least = [one for predicates, one in kept.items() if not any(fewer < predicates for fewer in kept)]
    return tuple(sorted(least, key=lambda one: [_key(predicate) for predicate in one]))


def _push(tree: Syntax, resolver: Resolver, *, negate: bool) -> _Junction | Predicate:
    if isinstance(tree, Not):
        return _push(tree.part, resolver, negate=not negate)
    if isinstance(tree, AtLeast):
        return _count(tree, resolver, negate)
    if isinstance(tree, Any):
        return _any(tree, resolver, negate)
    if isinstance(tree, Group):
        parts = tuple(_push(part, resolver, negate=negate) for part in tree.parts)
        return _Junction(tree.every is not negate, parts)
    return _test(tree, resolver, negate)


def _count(tree: AtLeast, resolver: Resolver, negate: bool) -> _Junction | Predicate:
    """Each member in a normal form of its own.

    Fewer than k of n hold when at least n - k + 1 do not.
    """
    least = len(tree.parts) - tree.least + 1 if negate else tree.least
    raw = [disjuncts(Not(part) if negate else part, resolver) for part in tree.parts]
    _check_limit(sum(len(one) for member in raw for one in member), MAX_PREDICATES, "predicates")
    found = at_least(least, [normalise(member, resolver.schema) for member in raw])
    return _Junction(every=False, parts=()) if found is NEVER else found


def _any(tree: Any, resolver: Resolver, negate: bool) -> _Junction | Predicate:
    """What a record must satisfy, in a normal form of its own. No `not` is pushed into it: that speaks of none."""
    inner = resolver.within(tree.attribute, tree.column)
    conjunctions = normalise(disjuncts(tree.part, inner), inner.schema)
    if not conjunctions and not negate:
        return _Junction(every=False, parts=())
    if not conjunctions and isinstance(resolver.schema.domain(tree.attribute), Records):
        return Predicate(tree.attribute, _O.PRESENT)  # elsewhere it still says: a list of records, nothing else
    return Predicate(tree.attribute, _O.NOT_ANY if negate else _O.ANY, Among(conjunctions))


def at_least(least: int, members: Sequence[tuple[Conjunction, ...]]) -> Predicate | None:
    """So many of these; members that never hold count for nothing, and NEVER is what too few are."""
    ranks = ranked(members)
    return at_least_of(least, [members[at] for at in sorted(range(len(members)), key=ranks.__getitem__)])


def at_least_of(least: int, ordered: list[tuple[Conjunction, ...]]) -> Predicate | None:
    """The same of members that are in the order of their ranks."""
    held = tuple(member for member in ordered if member)
    return NEVER if len(held) < least else Predicate("", _O.AT_LEAST, Threshold(least, held))


def ranked(members: Sequence[tuple[Conjunction, ...]]) -> list[int]:
    """Where each member stands in the order in which all are written."""
    keys = [[[_key(one) for one in conjunction] for conjunction in member] for member in members]
    ranks = [0] * len(members)
    for rank, at in enumerate(sorted(range(len(members)), key=keys.__getitem__)):
        ranks[at] = rank
    return ranks


def _test(test: Test, resolver: Resolver, negate: bool) -> Predicate:
    predicate = resolver.predicate(test)
    if not negate:
        return predicate
    return Predicate(predicate.attribute, COMPLEMENT[predicate.operator], predicate.operand)


class _Size(NamedTuple):
    """What a tree will be once it is multiplied out."""

    conjunctions: int
    predicates: int


def _size(tree: _Junction | Predicate) -> _Size:
    if isinstance(tree, Predicate):
        return _Size(1, 1)
    sizes = [_size(part) for part in tree.parts]
    if not tree.every:
        return _Size(sum(one.conjunctions for one in sizes), sum(one.predicates for one in sizes))
    total = prod(one.conjunctions for one in sizes)
    if total == 0:
        return _Size(0, 0)
    return _Size(total, sum(one.predicates * (total // one.conjunctions) for one in sizes))


def _expand(tree: _Junction | Predicate) -> list[Conjunction]:
    if isinstance(tree, Predicate):
        return [(tree,)]
    parts = [_expand(part) for part in tree.parts]
    if not tree.every:
        return [conjunction for part in parts for conjunction in part]
    if all(len(part) == 1 for part in parts):  # also spares `product` a thousand arguments
        return [tuple(predicate for part in parts for predicate in part[0])]
    return [tuple(predicate for one in chosen for predicate in one) for chosen in product(*parts)]


# -- one conjunction --------------------------------------------------------------------------------------------


def simplify(conjunction: Conjunction, schema: Schema) -> Conjunction | None:
    """The fewest predicates that say the same, in a fixed order; NEVER if they contradict each other."""
    groups: dict[str, list[Predicate]] = defaultdict(list)
    links = [predicate for predicate in conjunction if isinstance(predicate.operand, Reference)]
    for predicate in conjunction:
        if not is_about_event(predicate):
            groups[predicate.attribute].append(predicate)
    kept = simplify_links(links, schema)
    if kept is NEVER:
        return NEVER
    inner = dict.fromkeys(one for one in conjunction if isinstance(one.operand, Threshold | Among))
    if any(Predicate(one.attribute, COMPLEMENT[one.operator], one.operand) in inner for one in inner if one.attribute):
        return NEVER
    kept += inner
    linked = {name for link in links for name in (link.attribute, partner(link))}
    linked |= {one.attribute for one in inner}
    for attribute, predicates in groups.items():
        merged = _merge(attribute, predicates, schema, attribute in linked)
        if merged is NEVER:
            return NEVER
        kept += merged
    return tuple(sorted(kept, key=_key))


def _merge(attribute: str, predicates: list[Predicate], schema: Schema, linked: bool) -> list[Predicate] | None:
    """All predicates on one attribute, merged; presence is kept only where nothing else asks for a value."""
    if any(predicate.operator is _O.MISSING for predicate in predicates):
        alone = not linked and all(predicate.operator is _O.MISSING for predicate in predicates)
        return [Predicate(attribute, _O.MISSING)] if alone else NEVER
    comparisons = [predicate for predicate in predicates if predicate.operator in COMPARISONS]
    domain = schema.domain(attribute)
    assert domain is not None
    merged = simplify_comparisons(attribute, domain, comparisons) if comparisons else []
    if merged is NEVER:
        return NEVER
    sets = _merge_sets(attribute, predicates, merged) if len(comparisons) < len(predicates) else []
    if sets is NEVER:
        return NEVER
    found = merged + sets
    return found if found or linked else [Predicate(attribute, _O.PRESENT)]


def _merge_sets(attribute: str, predicates: list[Predicate], merged: list[Predicate]) -> list[Predicate] | None:
    """What is said of the set of values, less what the one bound value already settles."""
    found: list[Predicate] = []
    for words in _SETS:
        some = _merge_contains(attribute, predicates, merged, words)
        if some is NEVER:
            return NEVER
        found += some
    return found


class _Words(NamedTuple):
    """The operators that speak of the same values: of the set, and of the one."""

    contains: Operator
    lacks: Operator
    one: tuple[Operator, Operator]


_SETS = (
    _Words(_O.CONTAINS, _O.LACKS, (_O.EQ, _O.IN)),
    _Words(_O.FOLDED_CONTAINS, _O.FOLDED_LACKS, (_O.FOLDED_EQ, _O.FOLDED_IN)),
)


def _merge_contains(
    attribute: str, predicates: list[Predicate], merged: list[Predicate], words: _Words
) -> list[Predicate] | None:
    """`contains` and `not contains`, in whatever case or not."""
    within = {value for one in predicates if one.operator is words.contains for value in one.constants}
    outside = {value for one in predicates if one.operator is words.lacks for value in one.constants}
    bound = {value for one in merged if one.operator in words.one for value in one.constants}
    if within & outside or (bound and bound <= outside):
        return NEVER
    if len(bound) == 1:
        within -= bound
    kept = [Predicate(attribute, words.contains, value) for value in within]
    return kept + [Predicate(attribute, words.lacks, value) for value in outside]


def _key(predicate: Predicate) -> tuple[object, ...]:
    operand = predicate.operand
    if operand is None:
        shown: tuple[object, ...] = ()
    elif isinstance(operand, Value):
        shown = (0, operand.kind, operand.data)
    elif isinstance(operand, Reference):
        shown = (1, operand.attribute)
    elif isinstance(operand, Threshold):
        shown = (3, operand.least, print_predicate(predicate))
    elif isinstance(operand, Among):
        shown = (4, print_predicate(predicate))
    else:
        shown = (2, len(operand), operand)
    return (predicate.attribute, _RANK[predicate.operator], shown)
