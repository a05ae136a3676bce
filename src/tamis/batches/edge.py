"""The one edge: events in whatever form they come, checked once → a batch of columns.

Mappings; tables, record batches and struct columns of Arrow; frames (`frames`); for JSON lines see `json_lines`, which
makes mappings of them. `refuse` is told each event that is refused, by its row, and may raise; the others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.batches.arrow import Arrow, batch_of_arrow, certain, doubtful_rows
from tamis.batches.arrow_checks import check_arrow
from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, Refuse, ask, raise_by_row
from tamis.batches.batch import Batch, batch_of_events
from tamis.batches.frames import Frame, as_arrow, batches_of, mixed_rows
from tamis.errors import OptionError
from tamis.model import Event, Schema
from tamis.model.names import Used
from tamis.model.values import show_raw

__all__ = [
    "Events",
    "Given",
    "check_events",
    "find_refused",
    "given_events",
    "pieces_of",
    "read_batch",
    "read_events",
]

Events: TypeAlias = Iterable[Raw] | pa.Table | pa.RecordBatch | pa.StructArray | Frame


def read_batch(
    events: Events,
    schema: Schema,
    refuse: Refuse = raise_by_row,
    *,
    validated: bool = False,
    used: Used | None = None,
    strange: bool = False,
) -> Batch:
    """The accepted events as columns, in order; of an open schema, what of them is `used`.

    With `validated` no rule is checked again, only what reading needs: a value that cannot be read is still refused.
    Arrow that is `strange`, from whomever, is looked at before any of it is read.
    """
    by_kernel = used is not None and not used.whole and not validated
    used = used if schema.open else None
    source = as_arrow(events)
    text = strange and source is not None and check_events(source)
    if source is not None:
        return batch_of_arrow(source, schema, refuse, validated=validated, used=used, text=text)
    if by_kernel and isinstance(events, list | tuple):
        from tamis.batches.mappings import batch_of_mappings  # and with it Numba

        return batch_of_mappings(events, schema, refuse, used)
    found = ask(enumerate(_mappings(events)), schema, refuse, validated=validated, used=used)
    return batch_of_events([event for _, event in found])


def read_events(events: Events, schema: Schema, refuse: Refuse = raise_by_row, *, strange: bool = False) -> list[Event]:
    """The accepted events one by one, for those who have no use for columns."""
    source = as_arrow(events)
    if strange and source is not None:
        check_events(source)
    found = enumerate(_mappings(events)) if source is None else doubtful_rows(source, np.zeros(len(source), bool))
    return [event for _, event in ask(found, schema, refuse)]


def find_refused(events: Events, schema: Schema, refuse: Refuse) -> None:
    """Have the events judged, and read no more of them than that takes."""
    source = as_arrow(events)
    found = enumerate(_mappings(events)) if source is None else doubtful_rows(source, certain(source, schema))
    for _ in ask(found, schema, refuse):
        pass


def _mappings(events: Any) -> Iterable[Raw]:
    rows = mixed_rows(events)
    if rows is not None:
        return rows
    if isinstance(events, str | bytes) or not isinstance(events, Iterable):
        raise OptionError(f"expected events as mappings, an Arrow table or a frame, found {show_raw(events)}")
    return events


class Given(NamedTuple):
    """Events that can be read again, and the id of each."""

    events: Arrow | Sequence[Raw]
    id_of: Callable[[int], object] | None = None
    strange: bool = False
    """Whether it is Arrow that nobody has looked at."""

    def slice(self, first: int, last: int) -> Given:
        """Some of them."""
        if isinstance(self.events, Sequence):
            events = self.events[first:last]
        else:
            events = self.events.slice(first, last - first)
        id_of = self.id_of
        return Given(events, None if id_of is None else lambda row: id_of(first + row), self.strange)

    def first(self, count: int) -> Iterable[object]:
        """The first ones as they came, as far as they can be read, for whoever wants a sample."""
        few = self.slice(0, count).events
        return few if isinstance(few, Sequence) else raws(few)


def given_events(events: Events, schema: Schema, event_id: str | None = None) -> Given:
    """Events as a caller gives them; `event_id` names the field that has their ids, which is an attribute as well only
    if the schema knows it."""
    source = as_arrow(events)
    if event_id is None:
        return Given(list(_mappings(events)) if source is None else source)
    known = schema.open or schema.domain(event_id) is not None
    if source is not None:
        names = source.column_names if isinstance(source, pa.Table) else [field.name for field in source.type]
        if event_id not in names:
            raise OptionError(f"event_id: expected one of the columns {', '.join(names)}, found {event_id!r}")
        ids = source.column(event_id) if isinstance(source, pa.Table) else source.field(event_id)
        return Given(source if known else _without_column(source, event_id), lambda row: ids[row].as_py())
    rows = list(_mappings(events))
    given = [row.get(event_id) if isinstance(row, Mapping) else None for row in rows]
    return Given(rows if known else [_without(row, event_id) for row in rows], given.__getitem__)


def pieces_of(events: Events, at_once: int) -> Iterator[Sequence[Raw] | pa.Table | pa.StructArray]:
    """The events a few at a time; streams and iterators are read as they are asked for."""
    batches = batches_of(events)
    source = as_arrow(events) if batches is None else None
    for table in batches or ([source] if source is not None else []):
        yield from (table.slice(first, at_once) for first in range(0, len(table), at_once))
    if batches is None and source is None:
        left = iter(_mappings(events))
        while piece := list(islice(left, at_once)):
            yield piece


def _without_column(source: Arrow, name: str) -> Arrow:
    if isinstance(source, pa.Table):
        return source.drop_columns([name])
    kept = [field.name for field in source.type if field.name != name]
    return pa.StructArray.from_arrays([source.field(one) for one in kept], kept, mask=source.is_null())


def _without(row: Raw, name: str) -> Raw:
    return {key: found for key, found in row.items() if key != name} if isinstance(row, Mapping) else row


def check_events(events: object) -> bool:
    """Have Arrow from strangers looked at: whether it is, and all its text is UTF-8; `EventError` if it is damaged."""
    return isinstance(events, pa.Table | pa.RecordBatch | pa.StructArray) and check_arrow(events)
