"""What lint has found: a list to go through, a page to read, a table to keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Generic, NamedTuple

import pyarrow as pa

from tamis.batches.refusals import Refusals
from tamis.model.predicates import Id, SubscriptionId

__all__ = ["Finding", "FindingKind", "Report"]

_SHOWN = 5
"""Findings of a kind that are printed."""


class FindingKind(StrEnum):
    """What may be wrong, the worst first; the words stand in Arrow's column `kind`."""

    REFUSED = "refused"
    NEVER = "never"
    ATTRIBUTE = "attribute"
    KIND = "kind"
    DATE = "date"
    CONTAINS = "contains"
    EQUAL = "equal"
    COVERED = "covered"
    DEAR = "dear"
    UNDECIDED = "undecided"

    @property
    def heading(self) -> str:
        return _HEADINGS[self]

    @property
    def is_mistake(self) -> bool:
        """Whether somebody should look at it; the others are good to know."""
        return self not in (FindingKind.DEAR, FindingKind.UNDECIDED)


_HEADINGS = {
    FindingKind.REFUSED: "cannot be read",
    FindingKind.NEVER: "never match",
    FindingKind.ATTRIBUTE: "ask for an attribute that no event had",
    FindingKind.KIND: "compare with another kind of value than events have",
    FindingKind.DATE: "compare dates as text",
    FindingKind.CONTAINS: "say 'contains' where events have one value",
    FindingKind.EQUAL: "say the same as another",
    FindingKind.COVERED: "are covered by another",
    FindingKind.DEAR: "cost the most",
    FindingKind.UNDECIDED: "not decided whether another covers them",
}


class Finding(NamedTuple):
    """One sentence about a subscription, and what it is about."""

    kind: FindingKind
    id: SubscriptionId
    other: SubscriptionId | None
    """The other subscription of which it speaks: the equal one, or the nearest that covers this one."""
    attribute: str | None
    sentence: str


class Report(Generic[Id]):
    """The findings about a set of subscriptions, the worst kinds first, within a kind in the order of subscribing."""

    def __init__(self, findings: Sequence[Finding], subscriptions: int, events: int, work: dict[str, int]) -> None:
        order = {kind: at for at, kind in enumerate(FindingKind)}
        self.findings = sorted(findings, key=lambda one: order[one.kind])
        self.subscriptions = subscriptions
        """How many were looked at."""
        self.events = events
        """How many events their attributes and values were compared with."""
        self.work = work
        """What it took to find who covers whom: distinct `conjunctions`, `nodes` of the index visited, conjunctions
        `looked_at` there, and `compared` claim by claim."""

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [one for one in self.findings if one.kind == FindingKind(kind)]

    @property
    def mistakes(self) -> int:
        """Findings that somebody should look at: all but what is dear and what is not decided."""
        return sum(one.kind.is_mistake for one in self.findings)

    def with_refused(self, refusals: Refusals) -> Report[Id]:
        """The same and subscriptions that were refused, so that nobody else looked at them."""
        refused = [
            Finding(
                FindingKind.REFUSED,
                one.id if isinstance(one.id, str | int) else f"row {one.row}",
                None,
                None,
                one.reason,
            )
            for one in refusals
        ]
        return Report([*refused, *self.findings], self.subscriptions + len(refused), self.events, self.work)

    def __repr__(self) -> str:
        return f"<Report: {self.subscriptions:,} subscriptions, {len(self):,} findings>"

    def __str__(self) -> str:
        """A page: under each kind the first few sentences."""
        found = f"findings: {self.mistakes:,}" if self.mistakes else "nothing to mend"
        lines = [f"subscriptions: {self.subscriptions:,}, events looked at: {self.events:,}, {found}"]
        kinds: dict[FindingKind, list[Finding]] = defaultdict(list)
        for one in self.findings:
            kinds[one.kind].append(one)
        for kind, some in kinds.items():
            lines += ["", f"{len(some):,} {kind.heading}"]
            lines += [f"  {one.id!r}: {one.sentence}" for one in some[:_SHOWN]]
            lines += [f"  and {len(some) - _SHOWN:,} more"] if len(some) > _SHOWN else []
        return "\n".join(lines)

    def to_arrow(self) -> pa.Table:
        """Columns `kind`, `id`, `other`, `attribute` and `sentence`, one row per finding."""
        ids = _ids([one.id for one in self.findings])
        return pa.table(
            {
                "kind": pa.array([one.kind.value for one in self.findings], pa.string()),
                "id": ids,
                "other": _ids([one.other for one in self.findings]).cast(ids.type),
                "attribute": pa.array([one.attribute for one in self.findings], pa.string()),
                "sentence": pa.array([one.sentence for one in self.findings], pa.string()),
            }
        )


def _ids(listed: Sequence[SubscriptionId | None]) -> pa.Array:
    """Ids, as text where one type cannot hold them."""
    kinds = {type(id) for id in listed if id is not None}
    if kinds == {int} and all(id is None or -(2**63) <= int(id) < 2**63 for id in listed):
        return pa.array(listed, pa.int64())
    return pa.array([None if id is None else str(id) for id in listed], pa.string())
