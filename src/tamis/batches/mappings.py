"""Events as dictionaries → a batch of columns, by way of the bytes that Python's `marshal` writes.

`marshal` writes plain objects in C, each with its type, and changes nothing: a kernel then reads what is used. What it
does not know (a datetime, a decimal, a number of numpy, a mapping that is no dict) it refuses, and the event is read
one by one, as is any that the kernel is not certain about.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch, batch_of_events
from tamis.batches.columns import Accepted, Columns
from tamis.batches.plans import PlanOf, plan_for
from tamis.batches.token_columns import Stretch, add_stretches, gather, token_room
from tamis.batches.whole import ReadWhenAsked
from tamis.kernels.batches.marshalled import BROKEN, MOST_CONTAINERS, Refs, Trail, read_marshalled
from tamis.kernels.batches.tokens import CAREFUL, REAL, SOUND, STRING, TRUTH, WHOLE
from tamis.kernels.batches.words import PADDING
from tamis.model import Schema
from tamis.model.names import MAX_DEPTH, Used

__all__ = ["batch_of_mappings"]

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_VERSION = 4
_FEW = 16
"""So many events are sooner read one by one."""
_AT_ONCE = 8192


def batch_of_mappings(events: Sequence[Raw], schema: Schema, refuse: Refuse, used: Used | None) -> Batch:
    """The accepted events, in order; only what is `used` of them, where that is given."""
    plan = plan_for(schema, used if used is not None else schema.every)
    if len(events) < _FEW or not plan.whole or not _knows_marshal():
        return batch_of_events([event for _, event in ask(enumerate(events), schema, refuse, used=used)])
    read = [_read(list(events[at : at + _AT_ONCE]), plan) for at in range(0, len(events), _AT_ONCE)]
    columns = Columns(np.concatenate([states for states, _ in read]) == SOUND)
    add_stretches(columns, [stretch for _, stretch in read], plan.names, schema)
    columns.check(schema)

    def asked(good: Mask) -> Accepted:
        rows = np.flatnonzero(~good).tolist()
        return dict(ask(((row, events[row]) for row in rows), schema, refuse, used=used))

    return columns.batch(asked, lambda known: ReadWhenAsked(events.__getitem__, schema, used, known))


def _read(events: list[Raw], plan: PlanOf) -> tuple[Bytes, Stretch]:
    """The state of each event, and what was found in them."""
    text = np.frombuffer(_written(events) + bytes(PADDING), np.uint8)
    size, names = len(text) - PADDING, max(len(plan.names), 1)
    states = np.empty(len(events), np.uint8)
    tokens = token_room(size)
    refs = Refs(np.empty(size // 2 + 2, np.int64), *(np.empty(size // 2 + 2, np.int32) for _ in range(2)))
    nodes = len(plan.plan.attribute)
    trail = Trail(
        np.empty(MOST_CONTAINERS, np.int64),
        np.empty(MOST_CONTAINERS, np.int32),
        np.zeros(nodes, np.int64),
        MAX_DEPTH + 1,
    )
    rows, used = read_marshalled(text, size, plan.plan, tokens, states, refs, trail)
    if rows == BROKEN:
        return np.full(len(events), CAREFUL, np.uint8), Stretch(len(events), {})
    return states, gather(text, tokens, used, names, len(events))


def _written(events: list[Raw]) -> bytes:
    """The events as `marshal` writes them; nothing where it cannot."""
    try:
        return marshal.dumps(events, _VERSION)
    except ValueError:
        return marshal.dumps([event if _can_be_written(event) else None for event in events], _VERSION)


def _can_be_written(event: Raw) -> bool:
    try:
        marshal.dumps([event], _VERSION)
    except ValueError:
        return False
    return True


@cache
def _knows_marshal() -> bool:
    """Does this Python write as those that we know? Nobody has promised it."""
    name = "".join(("na", "me"))
    events: list[Raw] = [{"n": n, name: f"é{n}", "in": {"r": [n / 2, None, n > 1], "long": -(3**36)}} for n in range(3)]
    plan = PlanOf(Used.of(("n", "name", "in.r", "in.long")), strict=True)
    states, found = _read(events, plan)
    said: dict[tuple[str, int], list[object]] = {}
    for (_, attribute), values in found.values.items():
        for at, (row, kind) in enumerate(zip(values.rows.tolist(), values.kinds.tolist(), strict=True)):
            data = values.data[at : at + 1]
            text = values.texts[at].as_py() if values.texts is not None else None
            of = {STRING: text, WHOLE: int(data[0]), REAL: float(data.view(np.float64)[0]), TRUTH: bool(data[0])}
            said.setdefault((plan.names[attribute], row), []).append(of[kind])
    expected: dict[tuple[str, int], list[object]] = {}
    for n in range(3):
        expected |= {("n", n): [n], ("name", n): [f"é{n}"], ("in.r", n): [n / 2, n > 1], ("in.long", n): [-(3**36)]}
    return said == expected and bool((states == SOUND).all())
