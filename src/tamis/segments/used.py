"""Which attributes the subscriptions of some segments name: of an open schema nothing else of an event is read."""

from __future__ import annotations

from tamis.model.names import Used
from tamis.model.predicates import is_about_event
from tamis.segments.compile.coding import Columns
from tamis.segments.segment import Segment

__all__ = ["UsedBySegments", "names_in"]


def names_in(columns: Columns) -> set[str]:
    """Those that a segment looks at, whoever of it has died."""
    found = set(columns.attributes)
    for slot, members in columns.truths:
        if is_about_event(members[0]):
            found.update(name for member in members for name in member.attributes)
        else:
            found.add(slot.attribute)
    return found


class UsedBySegments:
    """Found out once for the same segments, however often they are asked."""

    def __init__(self) -> None:
        self._last: tuple[tuple[Columns, ...], Used] = ((), Used.of(()))

    def by(self, segments: tuple[Segment, ...]) -> Used:
        columns = tuple(segment.layout.columns for segment in segments)
        known, used = self._last
        if len(known) != len(columns) or any(one is not other for one, other in zip(known, columns, strict=True)):
            names = set().union(*map(names_in, columns))
            used = used if used.names == names else Used.of(names)
            self._last = columns, used
        return used
