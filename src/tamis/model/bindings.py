"""Which values can be bound together? What a conjunction asks of attributes that it compares with each other.

A *link* is what a conjunction says of two attributes: in which relations their values may stand. Attributes with n
values each have n × n × … choices; they are not gone through:

- an attribute with one link is a *leaf*: of its only neighbour those values are kept that go with one of its own, and
  it is done. A conjunction whose links form a tree is nothing but leaves;
- what is left is a *core* of rings. Numbers, strings, instants and booleans lie on a line: attributes that go round in
  a circle of `<=` are equal, a circle with a `<` is a contradiction, and the least values that are left do if any do.
  Where two attributes that must differ have the same least value, one of the two is greater: both are tried;
- names under a partial order are on no line, and in a core all choices of them are tried.

So a conjunction costs O(values), times 2 ** (links by `!=` in a core) or the choices of names in a core. What stands
in an exponent is bounded when it is subscribed, for whatever event may come: `MAX_RING_LINKS`, `MAX_RING_NAMES`. An
event costs each subscription O(values), and none is refused for what others subscribed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from tamis.errors import WorkError
from tamis.model.domains import Domain
from tamis.model.events import MAX_VALUES, Event
from tamis.model.finite import Finite
from tamis.model.operators import OPERATORS, Needs, Operator
from tamis.model.orders import PartialOrder
from tamis.model.predicates import Conjunction, Predicate, Reference, compare
from tamis.model.regions import Interval, meet_all, region
from tamis.model.schema import Schema
from tamis.model.values import Kind, Value

__all__ = ["MAX_RING_LINKS", "MAX_RING_NAMES", "Group", "Lines", "check_work", "connected", "some_pair"]

MAX_RING_LINKS = 12
"""Links of one core: at most 2 ** 12 orders of what differs. Five attributes may all differ from each other."""

MAX_RING_NAMES = 10_000
"""Choices of names for the attributes of one core that asks for their order."""

Lines = Mapping[Kind, Sequence[Any]]
"""Values of one attribute: of each kind the data, each once, in order."""

_MIRRORED = str.maketrans("<>", "><")
_AS_A_LINE = str.maketrans({"b": "=", "d": "<>", "<": "", "=": "", ">": "", "|": ""})
_FEW = 16


def connected(predicates: list[Predicate]) -> list[list[Predicate]]:
    """Predicates in groups such that no two groups name the same attribute."""
    leader: dict[str, str] = {}

    def leader_of(name: str) -> str:
        while (above := leader.setdefault(name, name)) != name:
            leader[name] = leader[above]
            name = above
        return name

    for predicate in predicates:
        first, *others = map(leader_of, predicate.attributes)
        for other in others:
            leader[other] = first
    groups: dict[str, list[Predicate]] = {}
    for predicate in predicates:
        groups.setdefault(leader_of(predicate.attribute), []).append(predicate)
    return list(groups.values())


class _Link(NamedTuple):
    """A value of `left` and one of `right` must stand in one of the relations (`operators`)."""

    left: str
    right: str
    relations: str
    order: PartialOrder | None
    """Of the names that are compared; None where values lie on a line."""

    def seen_from(self, name: str) -> _Link:
        if name == self.left:
            return self
        return _Link(self.right, self.left, self.relations.translate(_MIRRORED), self.order)


def _link(domain: Domain | None, name: str, operator: Operator, other: str) -> _Link:
    row = OPERATORS[operator]
    order = domain.order if isinstance(domain, Finite) and row.needs is Needs.ORDER else None
    return _Link(name, other, row.relations, order)


def _links(schema: Schema, group: Conjunction | list[Predicate]) -> list[_Link]:
    """What is said of each pair, whichever stands left, in one link."""
    found: dict[tuple[str, str], _Link] = {}
    for predicate in group:
        if not isinstance(predicate.operand, Reference):
            continue
        domain = schema.domain(predicate.attribute)
        link = _link(domain, predicate.attribute, predicate.operator, predicate.operand.attribute)
        link = link.seen_from(min(link.left, link.right))
        known = found.get((link.left, link.right), link)
        both = "".join(one for one in link.relations if one in known.relations)
        found[link.left, link.right] = link._replace(relations=both, order=link.order or known.order)
    return list(found.values())


def check_work(schema: Schema, conjunction: Conjunction) -> None:
    """`WorkError` if some event could make the conjunction too dear."""
    links = [predicate for predicate in conjunction if isinstance(predicate.operand, Reference)]
    for group in connected(links) if len(links) > 2 else ():  # two make no ring
        Group.of(schema, group).check()


@dataclass(frozen=True)
class Group:
    """Comparisons of attributes that are compared with each other, made ready to be asked about events."""

    schema: Schema
    alone: Mapping[str, list[Predicate]]
    """What is asked of each attribute by itself."""
    limbs: list[_Link]
    """Leaves, as they come off: each is `left`."""
    core: list[_Link]

    @staticmethod
    def of(schema: Schema, predicates: list[Predicate]) -> Group:
        """Of connected comparisons."""
        alone: dict[str, list[Predicate]] = {name: [] for one in predicates for name in one.attributes}
        for predicate in predicates:
            if not isinstance(predicate.operand, Reference):
                alone[predicate.attribute].append(predicate)
        return Group(schema, alone, *_peeled(_links(schema, predicates)))

    def check(self) -> None:
        """`WorkError` if some event could make it too dear."""
        names = tuple(sorted({name for link in self.core for name in (link.left, link.right)}))
        if len(self.core) > MAX_RING_LINKS:
            raise WorkError(
                f"expected at most {MAX_RING_LINKS} comparisons of attributes with each other that form rings, found "
                f"{len(self.core)}",
                names, MAX_RING_LINKS, len(self.core),
            )  # fmt: skip
        if any(link.order is not None for link in self.core):
            choices = prod(_size(self.schema, name) for name in names)
            if choices > MAX_RING_NAMES:
                raise WorkError(
                    f"expected at most {MAX_RING_NAMES:,} choices of names for attributes that are ordered among each "
                    f"other in a ring, found {choices:,}",
                    names, MAX_RING_NAMES, choices,
                )  # fmt: skip

    def find(self, event: Event) -> dict[str, Value] | None:
        """A choice of one value per attribute under which all comparisons hold; None if there is none."""
        left: dict[str, Lines] = {}
        for name, predicates in self.alone.items():
            left[name] = _kept(self.schema, predicates, _lines_of(event, name))
            if not left[name]:
                return None
        for link in self.limbs:
            left[link.right] = _supported(link.seen_from(link.right), left[link.right], left[link.left])
            if not left[link.right]:
                return None
        found = _bind_core(self.core, left) if self.core else _bind_root(self.limbs, left)
        if found is None:
            return None
        for link in reversed(self.limbs):
            other = found[link.right]
            found[link.left] = _least(_supported(link, left[link.left], {other.kind: [other.data]}))
        return found


def _peeled(links: list[_Link]) -> tuple[list[_Link], list[_Link]]:
    """Leaves in the order of their coming off, and the core that has none."""
    of: dict[str, dict[_Link, None]] = {}
    for link in links:
        of.setdefault(link.left, {})[link] = None
        of.setdefault(link.right, {})[link] = None
    limbs: list[_Link] = []
    leaves = [name for name, mine in of.items() if len(mine) == 1]
    while leaves:
        leaf = leaves.pop()
        if len(of[leaf]) == 1:
            (link,) = of[leaf]
            limb = link.seen_from(leaf)
            limbs.append(limb)
            del of[leaf][link], of[limb.right][link]
            if len(of[limb.right]) == 1:
                leaves.append(limb.right)
    return limbs, list(dict.fromkeys(link for mine in of.values() for link in mine))


def _size(schema: Schema, name: str) -> int:
    domain = schema.domain(name)
    return len(domain.numbers) if isinstance(domain, Finite) else MAX_VALUES


# -- values of one attribute --------------------------------------------------------------------------------------


def _lines_of(event: Event, name: str) -> Lines:
    """The values of an attribute in order; sorted once per event, for all who ask."""
    found = event.lines.get(name)
    if found is None:
        kinds: dict[Kind, list[Any]] = {}
        for value in event.values.get(name, ()):
            if value.kind is not Kind.RECORD:
                kinds.setdefault(value.kind, []).append(value.data)
        for data in kinds.values():
            data.sort()
        found = event.lines[name] = kinds
    return found


def _kept(schema: Schema, predicates: list[Predicate], lines: Lines) -> Lines:
    """The values that satisfy comparisons with constants: found by halving where intervals tell which."""
    left = dict(lines)
    for predicate in predicates:
        kind = predicate.constants[0].kind  # across kinds all is false
        domain = schema.domain(predicate.attribute)
        assert domain is not None
        told = region(domain, predicate)
        data = left.get(kind, ())
        if told is not None:
            data = _within(meet_all([told.intervals()]), data)
        elif data:
            operand = predicate.constants
            data = [one for one in data if compare(domain, predicate.operator, Value(kind, one), operand)]
        left = {kind: data} if data else {}
    return left


def _within(intervals: list[Interval], data: Sequence[Any]) -> Sequence[Any]:
    found: list[Any] = []
    for start, end in intervals:
        low = 0 if start is None else (bisect_right if start.after else bisect_left)(data, start.data)
        high = len(data) if end is None else (bisect_right if end.after else bisect_left)(data, end.data)
        found += data[low:high]
    return found


def _least(lines: Lines) -> Value:
    kind = min(lines)
    return Value(kind, lines[kind][0])


# -- two attributes -----------------------------------------------------------------------------------------------


def some_pair(domain: Domain, operator: Operator, event: Event, name: str, other: str) -> bool:
    """Whether a value of one attribute, of this domain, and one of the other satisfy the operator."""
    mine, theirs = event.values[name], event.values[other]
    if len(mine) == len(theirs) == 1:
        return compare(domain, operator, mine[0], theirs[0])
    return bool(_supported(_link(domain, name, operator, other), _lines_of(event, name), _lines_of(event, other)))


def _supported(link: _Link, mine: Lines, theirs: Lines) -> Lines:
    """Those of the values of `link.left` that stand in one of the relations to one of the other's."""
    if link.order is not None:
        names = _names_supported(link, mine.get(Kind.STRING, ()), theirs.get(Kind.STRING, ()))
        return {Kind.STRING: names} if names else {}
    found = {
        kind: _line_supported(_on_line(link.relations, kind), data, theirs[kind])
        for kind, data in mine.items()
        if kind in theirs
    }
    return {kind: data for kind, data in found.items() if data}


def _on_line(relations: str, kind: Kind) -> str:
    """The relations of values on a line; booleans, which have no order, are equal or different."""
    return relations.translate(_AS_A_LINE) if kind is Kind.BOOLEAN else relations


def _line_supported(relations: str, mine: Sequence[Any], theirs: Sequence[Any]) -> Sequence[Any]:
    below, equal, above = (one in relations for one in "<=>")
    if below and above:
        return mine if equal or len(theirs) > 1 else [one for one in mine if one != theirs[0]]
    if below:
        return mine[: (bisect_right if equal else bisect_left)(mine, theirs[-1])]
    if above:
        return mine[(bisect_left if equal else bisect_right)(mine, theirs[0]) :]
    return _in_both(mine, theirs) if equal else ()


def _in_both(mine: Sequence[Any], theirs: Sequence[Any]) -> Sequence[Any]:
    few, many = (mine, theirs) if len(mine) <= len(theirs) else (theirs, mine)
    if len(few) * _FEW > len(many):
        known = set(theirs)
        return [one for one in mine if one in known]
    places = ((one, bisect_left(many, one)) for one in few)
    return [one for one, at in places if at < len(many) and many[at] == one]


def _names_supported(link: _Link, mine: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    """By how many of theirs are above, equal and below: what is left stands beside."""
    order = link.order
    assert order is not None
    known = frozenset(theirs)
    above_them = Counter(name for one in theirs for name in order.above(one))
    found: list[str] = []
    for one in mine:
        counts = {"<": len(order.above(one) & known), "=": int(one in known), ">": above_them[one]}
        counts["|"] = len(known) - sum(counts.values())
        if any(counts.get(relation) for relation in link.relations):
            found.append(one)
    return found


# -- the attributes that are left ---------------------------------------------------------------------------------


def _bind_root(limbs: list[_Link], left: Mapping[str, Lines]) -> dict[str, Value]:
    """The one attribute that is no leaf."""
    leaves = {link.left for link in limbs}
    return {name: _least(lines) for name, lines in left.items() if name not in leaves}


def _bind_core(core: list[_Link], left: Mapping[str, Lines]) -> dict[str, Value] | None:
    names = sorted({name for link in core for name in (link.left, link.right)})
    if any(link.order is not None for link in core):
        return next(_choices(core, names, left, {}), None)
    for kind in Kind:  # values of two kinds stand in no relation, and all of these are linked
        if all(kind in left[name] for name in names):
            found = _Circle(names, core, kind, left).solve()
            if found is not None:
                return {name: Value(kind, found[at]) for at, name in enumerate(names)}
    return None


def _choices(
    core: list[_Link], names: list[str], left: Mapping[str, Lines], bound: dict[str, Value]
) -> Iterator[dict[str, Value]]:
    """All choices that hold, one attribute after another."""
    if len(bound) == len(names):
        yield dict(bound)
        return
    name = names[len(bound)]
    lines = left[name]
    for link in core:
        if name in (link.left, link.right):
            mine = link.seen_from(name)
            if mine.right in bound:
                lines = _supported(mine, lines, {bound[mine.right].kind: [bound[mine.right].data]})
    for value in [Value(kind, data) for kind, listed in lines.items() for data in listed]:
        yield from _choices(core, names, left, bound | {name: value})


class _Circle:
    """A core on a line: attributes by number, what comes before what, and what differs."""

    def __init__(self, names: list[str], core: list[_Link], kind: Kind, left: Mapping[str, Lines]) -> None:
        self._lines = [left[name][kind] for name in names]
        self._before: list[tuple[int, int, bool]] = []  # one, another that is not less, and whether it is greater
        self._differ: list[tuple[int, int]] = []
        self._never = False
        self._met: dict[int, Sequence[Any]] = {}
        place = {name: at for at, name in enumerate(names)}
        for link in core:
            self._add(place[link.left], place[link.right], _on_line(link.relations, kind))

    def _add(self, one: int, other: int, relations: str) -> None:
        below, equal, above = (relation in relations for relation in "<=>")
        if below and above:
            self._differ += [] if equal else [(one, other)]
        elif below:
            self._before.append((one, other, not equal))
        elif above:
            self._before.append((other, one, not equal))
        elif equal:
            self._before += [(one, other, False), (other, one, False)]
        else:
            self._never = True

    def solve(self) -> list[Any] | None:
        return None if self._never else self._solve(self._before, self._differ)

    def _solve(self, before: list[tuple[int, int, bool]], differ: list[tuple[int, int]]) -> list[Any] | None:
        least = self._least(before)
        if least is None:
            return None
        same = next((pair for pair in differ if least[pair[0]] == least[pair[1]]), None)
        if same is None:
            return least
        others = [pair for pair in differ if pair is not same]
        one, other = same
        found = self._solve([*before, (one, other, True)], others)
        return self._solve([*before, (other, one, True)], others) if found is None else found

    def _least(self, before: list[tuple[int, int, bool]]) -> list[Any] | None:
        """The least value of each under what comes before what; there is a choice if there are these."""
        reach = self._reach(before)
        if any(strict and reach[other] >> one & 1 for one, other, strict in before):
            return None
        found: list[Any] = [None] * len(reach)
        for one in sorted(range(len(reach)), key=lambda at: -reach[at].bit_count()):
            circle = reach[one] & sum(1 << at for at, mine in enumerate(reach) if mine >> one & 1)
            line = self._meet(circle)
            low = 0
            for earlier, later, strict in before:
                if circle >> later & 1 and not circle >> earlier & 1:
                    low = max(low, (bisect_right if strict else bisect_left)(line, found[earlier]))
            if low == len(line):
                return None
            found[one] = line[low]
        return found

    def _reach(self, before: list[tuple[int, int, bool]]) -> list[int]:
        """Of each, as bits, itself and all that are not less."""
        reach = [1 << at for at in range(len(self._lines))]
        changed = True
        while changed:
            changed = False
            for one, other, _ in before:
                more = reach[one] | reach[other]
                changed |= more != reach[one]
                reach[one] = more
        return reach

    def _meet(self, circle: int) -> Sequence[Any]:
        """The values that all in a circle have: they are equal."""
        if circle not in self._met:
            members = [self._lines[at] for at in range(len(self._lines)) if circle >> at & 1]
            met = members[0]
            for line in members[1:]:
                met = _in_both(met, line)
            self._met[circle] = met
        return self._met[circle]
