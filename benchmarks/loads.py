"""The papers' workloads as entries for a matcher, as events, and as arrays for the C++ references.

Texts are cut at `and` and each distinct piece is parsed once: a benchmark of matching should not wait for parsing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.reference import MISSING, OPERATORS, EncodedWorkload
from tamis.language import parse
from tamis.matchers import Entry
from tamis.model import Event, Predicate, Schema, Value
from tamis.workloads.slices import Workload

__all__ = ["Load", "load"]


class Load(NamedTuple):
    schema: Schema
    entries: list[Entry]
    events: list[Event]
    encoded: EncodedWorkload


def load(workload: Workload, subscriptions: int, events: int, seed: int = 1) -> Load:
    """Rows 0.. of the workload. The pieces of a text must be about distinct attributes, as they are in the papers'."""
    schema = workload.schema()
    pieces: dict[str, Predicate | None] = {}
    entries: list[Entry] = []
    for key, text in enumerate(workload.subscriptions(subscriptions, seed).column("expression").to_pylist()):
        found = []
        for piece in text.split(" and "):
            if piece not in pieces:
                parsed = parse(piece, schema)
                pieces[piece] = parsed[0][0] if parsed else None
            found.append(pieces[piece])
        entries.append((key, () if None in found else (tuple(found),)))
    read = [schema.event(raw) for raw in workload.events(events, seed).to_pylist()]
    return Load(schema, entries, read, _encode(schema, entries, read))


def _encode(schema: Schema, entries: list[Entry], events: list[Event]) -> EncodedWorkload:
    names = {name: at for at, name in enumerate(schema.attributes)}
    words: dict[str, int] = {}
    ids: dict[Predicate, int] = {}
    pids, sizes = [], []
    for _, conjunctions in entries:
        conjunction = conjunctions[0] if conjunctions else ()
        pids += [ids.setdefault(predicate, len(ids)) for predicate in conjunction]
        sizes.append(len(conjunction))

    def number(value: Value) -> int:
        return words.setdefault(value.data, len(words)) if isinstance(value.data, str) else int(value.data)

    constants = [number(one.operand) if isinstance(one.operand, Value) else 0 for one in ids]
    values = np.full((len(events), len(names)), MISSING, np.int32)
    for row, event in enumerate(events):
        for name, given in event.values.items():
            values[row, names[name]] = number(given[0])
    starts = np.zeros(len(entries) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return EncodedWorkload(
        np.array([names[one.attribute] for one in ids], np.int32),
        np.array([OPERATORS[one.operator.value] for one in ids], np.int8),
        np.array(constants, np.int32),
        starts,
        np.array(pids, np.int32),
        values,
    )
