"""What a subscription costs whoever matches, roughly: the looks that an event takes because of it, and why.

A conjunction with a value to be found by costs next to nothing until an event has that value. One without is looked at
for every event, as is what no index tells. The numbers are for ranking; they are no time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.language import print_predicate
from tamis.lint.reading import Read
from tamis.model import Predicate, Reference, Threshold
from tamis.model.operators import OPERATORS, Shape
from tamis.model.patterns import pattern
from tamis.segments.compile.truths import FIRST_TRUTH, Role, is_keyed

__all__ = ["Cost", "costliest"]

_LISTED = 10
_FOUND = 0.02
"""A conjunction that is found by a value: one event in fifty has it, say."""
_TRIED = 8.0
"""A pattern without a literal is tried on each text."""
_MEMBER = 0.25
_WORTH_TELLING = 4.0
"""Looks, and times the usual subscription's; below, nobody would feel it."""


class Cost(NamedTuple):
    text: int
    looks: float
    why: str


class _Counted(NamedTuple):
    """Per text."""

    conjunctions: npt.NDArray[np.int64]
    unfound: npt.NDArray[np.int64]
    looks: npt.NDArray[np.float64]


def costliest(read: Read, count: int) -> list[Cost]:
    """The subscriptions that cost the most of so many, if they cost much."""
    reasons: dict[int, list[str]] = {}
    extra = _without_index(read, count, reasons)
    counted = _counted(read, count, extra)
    usual = float(np.median(counted.looks)) if count else 0.0
    order = np.argsort(-counted.looks, kind="stable")[:_LISTED].tolist()
    worth = [text for text in order if counted.looks[text] > _WORTH_TELLING * max(usual, 1.0)]
    return [Cost(text, float(counted.looks[text]), _why(text, counted, reasons.get(text, []))) for text in worth]


def _counted(read: Read, count: int, extra: npt.NDArray[np.float64]) -> _Counted:
    reading = read.reading
    found = np.zeros(len(reading.owners), np.bool_)
    for piece in read.pieces:
        if is_keyed(piece.slot) or (
            piece.slot.role >= Role.BOUND and piece.low is piece.high and piece.low is not None
        ):
            found[piece.conjunctions] = True
    alive = ~reading.dead
    conjunctions = np.bincount(reading.owners[alive], minlength=count)
    unfound = np.bincount(reading.owners[alive & ~found], minlength=count)
    return _Counted(conjunctions, unfound, unfound + _FOUND * (conjunctions - unfound) + extra)


def _without_index(read: Read, count: int, reasons: dict[int, list[str]]) -> npt.NDArray[np.float64]:
    """The looks at what no index tells, per text; and what that is."""
    looks = np.zeros(count)
    truths = read.reading.pieces.truths()
    for piece in read.pieces:
        if piece.slot.role != Role.TRUTH:
            continue
        members = truths[piece.slot._replace(nth=0)].members
        assert piece.low is not None
        texts, codes = read.reading.owners[piece.conjunctions], np.asarray(piece.low.values, np.int64)
        for at, member in enumerate(members, FIRST_TRUTH):
            cost, why = _of_member(member)
            if cost:
                mine = texts[codes == at]
                np.add.at(looks, mine, cost)
                for text in mine.tolist() if why else ():
                    reasons.setdefault(text, []).append(why)
    return looks


def _of_member(member: Predicate) -> tuple[float, str]:
    row = OPERATORS[member.operator]
    if isinstance(member.operand, Reference):
        return 1.0, f"{print_predicate(member)} is worked out for each event"
    if isinstance(member.operand, Threshold):
        size = len(member.operand.members)
        return _MEMBER * size, f"it counts which of {size} expressions hold"
    if row.shape is Shape.PATTERN and not any(one.literals for one in pattern(str(member.constants[0].data)).stretches):
        return _TRIED, f"{print_predicate(member)} has no literal to be found by and is tried on every text"
    return (1.0, "") if row.negated else (0.0, "")


def _why(text: int, counted: _Counted, reasons: list[str]) -> str:
    conjunctions, unfound = int(counted.conjunctions[text]), int(counted.unfound[text])
    found = []
    if conjunctions > 1:
        found.append(f"it stands for {conjunctions:,} conjunctions, once every 'or' is multiplied out")
    if unfound > 1:
        found.append(f"{unfound:,} of them have no single value to be found by and are looked at for every event")
    listed = list(dict.fromkeys(reasons))
    found += listed[:2] + ([f"and {len(listed) - 2:,} more like that"] if len(listed) > 2 else [])
    return "; ".join(found) or "nothing in it narrows down the events it is looked at for"
