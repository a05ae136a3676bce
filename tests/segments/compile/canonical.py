"""What a reading says, in a form in which two readings of the same text are equal.

Each living conjunction is a set of (what is asked about, what is admitted); one that says what another says, and more,
is left out. Numbers of `contains` mean nothing, and neither does the difference between all values of a domain and any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.errors import LanguageError, LimitError
from tamis.language import parse
from tamis.model import Finite, Integer, Kind, Schema
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT
from tamis.segments.compile.constraints import Piece, PieceKind, Pieces
from tamis.segments.compile.reading import Reading
from tamis.segments.compile.truths import FIRST_TRUTH, Role, Slot

_Conjunction = frozenset[tuple[Any, ...]]
_ANY = frozenset({("any",)})
Said = frozenset[_Conjunction] | str


def what_it_says(reading: Reading, schema: Schema) -> list[Said]:
    """Per text its conjunctions, or the mistake that it is."""
    slots = _slots(reading, schema)
    texts: dict[int, set[_Conjunction]] = defaultdict(set)
    for number, owner in enumerate(reading.owners.tolist()):
        if not reading.dead[number]:
            texts[owner].add(_conjunction(slots[number], schema))
    mistakes = {row: mistake(error) for row, error in reading.rejected}
    count = len(reading.owners) and int(reading.owners.max()) + 1
    return [mistakes.get(row) or _least(texts[row]) for row in range(count)]


def what_the_parser_says(text: str, schema: Schema) -> Said:
    """The same of one text by the real parser."""
    pieces = Pieces(schema)
    try:
        conjunctions = parse(text, schema)
    except (LanguageError, LimitError) as error:
        return mistake(error)
    for number, conjunction in enumerate(conjunctions):
        pieces.add_conjunction(number, conjunction)
    count = len(conjunctions)
    slots = _slots(Reading(pieces, np.zeros(count, np.int64), np.zeros(count, np.bool_), []), schema)
    return _least({_conjunction(slots[number], schema) for number in range(count)})


def mistake(error: LanguageError | LimitError) -> str:
    return f"{type(error).__name__} {getattr(error, 'column', None)} {error}"


def _slots(reading: Reading, schema: Schema) -> dict[int, dict[Slot, set[tuple[object, ...]]]]:
    truths = reading.pieces.truths()
    found: dict[int, dict[Slot, set[tuple[object, ...]]]] = defaultdict(lambda: defaultdict(set))
    for piece in reading.pieces.all():
        for at, number in enumerate(piece.conjunctions.tolist()):
            if piece.slot.role == Role.TRUTH:
                code = int(piece.low.values[at])  # type: ignore[union-attr]
                member = truths[piece.slot._replace(nth=0)].members[code - FIRST_TRUTH]
                found[number][piece.slot._replace(nth=at, operand=member.operand)].add((member,))  # type: ignore[arg-type]
            else:
                found[number][piece.slot] |= _admitted(piece, at, schema)
    return found


def _admitted(piece: Piece, at: int, schema: Schema) -> set[tuple[object, ...]]:
    domain = schema.domain(piece.slot.attribute)
    if piece.kind == PieceKind.NO_VALUE:
        return {("none",)}
    if piece.kind == PieceKind.ANY_VALUE:
        return {("any",)}
    low, high = (None if side is None else (_data(side.values, at), side.open) for side in (piece.low, piece.high))
    if piece.kind == PieceKind.CODES:
        assert low is not None
        assert high is not None
        return {("name", code) for code in range(low[0], high[0] + 1)}
    whole = isinstance(domain, Integer) or piece.kind == Kind.TIMESTAMP
    if whole and piece.kind in (Kind.NUMBER, Kind.TIMESTAMP):
        ends = (domain.min, domain.max) if isinstance(domain, Integer) else (FIRST_INSTANT, LAST_INSTANT)
        first = ends[0] if low is None else int(low[0]) + low[1]
        last = ends[1] if high is None else int(high[0]) - high[1]
        first = first if ends[0] is None or first is None else max(first, ends[0])
        last = last if ends[1] is None or last is None else min(last, ends[1])
        return (
            {(piece.kind, (first, False), (last, False))} if first is None or last is None or first <= last else set()
        )
    if piece.kind == Kind.STRING and low is None:
        low = ("", False)
    if high is not None and low is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        return set()
    return {(piece.kind, low or (None, False), high or (None, False))}


def _data(values: Any, at: int) -> Any:
    return values[at].as_py() if isinstance(values, pa.Array) else values[at : at + 1].tolist()[0]


def _conjunction(slots: dict[Slot, set[tuple[object, ...]]], schema: Schema) -> _Conjunction:
    found: set[tuple[object, ...]] = set()
    bound: dict[str, _Conjunction] = {}
    for slot, admitted in slots.items():
        said = frozenset(_joined(admitted))
        if slot.role == Role.BOUND:
            bound[slot.attribute] = frozenset(admitted)
            found.add((slot.attribute, Role.BOUND, _or_any(slot.attribute, said, schema)))
        elif slot.role == Role.TRUTH:
            found.add((slot.attribute, Role.TRUTH, said))
    for slot, admitted in slots.items():
        if slot.role == Role.LACKS:
            found.add((slot.attribute, Role.LACKS, frozenset(_joined(admitted))))
        elif slot.role > 0 and bound.get(slot.attribute) != frozenset(admitted):
            said = _or_any(slot.attribute, frozenset(_joined(admitted)), schema)
            found.add((slot.attribute, Role.BOUND if said == _ANY else "contains", said))
    return frozenset(one for one in found if one[2] != _ANY or not _present(one[0], found - {one}))


def _present(attribute: str, conjunction: Iterable[tuple[Any, ...]]) -> bool:
    """Whether a conjunction cannot hold without a value of the attribute."""
    for name, role, admitted in conjunction:
        named = {name for (member,) in admitted for name in member.attributes} if role == Role.TRUTH else {name}
        if attribute in named and admitted != frozenset({("none",)}):
            return True
    return False


def _joined(admitted: Iterable[tuple[object, ...]]) -> set[tuple[object, ...]]:
    """Whole intervals that touch as one."""
    names = {one for one in admitted if len(one) < 3}
    found: set[tuple[object, ...]] = set(names)
    rest: list[Any] = [one for one in admitted if len(one) == 3]
    for kind in {one[0] for one in rest}:
        ordered = sorted((one for one in rest if one[0] == kind), key=lambda one: (one[1][0] is not None, *one[1]))
        joined: list[Any] = []
        for _, low, high in ordered:
            last = joined[-1][1] if joined else None
            if last is not None and _touch(kind, last, low):
                joined[-1] = (joined[-1][0], high if high[0] is None else last if last[0] is None else max(last, high))
            else:
                joined.append((low, high))
        found |= {(kind, low, high) for low, high in joined}
    return found


def _touch(kind: Any, last: Any, low: Any) -> bool:
    if last[0] is None or low[0] is None:
        return True
    return bool(low[0] < last[0] or (low[0] == last[0] and not (low[1] and last[1])))


def _or_any(attribute: str, said: _Conjunction, schema: Schema) -> _Conjunction:
    domain = schema.domain(attribute)
    if isinstance(domain, Finite):
        whole = {("name", code) for code in domain.numbers.values()}
        return _ANY if said >= whole and not domain.grows else said
    for kind, ends in (
        (Kind.STRING, (("", False), (None, False))),
        (Kind.TIMESTAMP, ((FIRST_INSTANT, False), (LAST_INSTANT, False))),
        (Kind.NUMBER, (((domain.min, False), (domain.max, False)) if isinstance(domain, Integer) else ())),
    ):
        if domain is not None and domain.kind is kind and said == frozenset({(kind, *ends)}):
            return _ANY
    if domain is not None and domain.kind is Kind.BOOLEAN and len(said) == 2:
        return _ANY
    return said


def _least(conjunctions: set[_Conjunction]) -> Said:
    """Without those that others cover: the parser compares words, and so it keeps `x = 1` beside `x <= 1`."""
    found = sorted(conjunctions, key=repr)
    return frozenset(
        one
        for at, one in enumerate(found)
        if not any(_covers(other, one) and (not _covers(one, other) or before < at)
                   for before, other in enumerate(found) if before != at)
    )  # fmt: skip


def _covers(wider: _Conjunction, other: _Conjunction) -> bool:
    return all(
        any(asked[:2] == one[:2] and _within(one[2], asked[2]) for one in other)
        or (asked[2] == _ANY and _present(asked[0], other))
        or (
            asked[1] == "contains"
            and any(one[:2] == (asked[0], Role.BOUND) and _within(one[2], asked[2]) for one in other)
        )
        for asked in wider
    )


def _within(admitted: Any, wider: Any) -> bool:
    return all(
        one in wider or any(len(one) == len(two) == 3 and one[0] == two[0] and _inside(one, two) for two in wider)
        for one in admitted
    )


def _inside(one: Any, two: Any) -> bool:
    (_, low, high), (_, least, most) = one, two
    starts = least[0] is None or (
        low[0] is not None and (low[0] > least[0] or (low[0] == least[0] and low[1] >= least[1]))
    )
    ends = most[0] is None or (
        high[0] is not None and (high[0] < most[0] or (high[0] == most[0] and high[1] >= most[1]))
    )
    return bool(starts and ends)
