"""RAPIDMatch beside TreeMatch on the same subscriptions and the same events, looked at event by event.

c is 8: the paper does not name it. An event with more than c ones costs what it costs the tree, so that at c = 4 the
ratio of means could not reach the paper's 8 (`1 / P(t > 4)` is 7.7), and its 1.2 for p = 0.1 would be 1.02.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from tamis.experiments.frame.experiment import Cell, Rows, number
from tamis.experiments.frame.loads import answers_of, events_of, loaded
from tamis.experiments.frame.measuring import REPEATS, timed
from tamis.experiments.frame.tables import Table, shown
from tamis.matchers import Matcher
from tamis.model import Event
from tamis.workloads.light import Light

__all__ = ["PAIR_CHOICES", "PAIR_COLUMNS", "C", "Effort", "Ratios", "compare", "effort", "pair", "pair_table", "ratios"]

C = 8
_LOAD = Light()
"""Subscriptions are the same for every distribution of events."""
_FEW = 200
"""Subscriptions that leave next to nothing to search: what is left is Python's work per event."""
_CLEAR = 0.1
"""The part of the floor by which a time must be above it, for ratios of what is above it to mean anything."""

PAIR_CHOICES = (
    "c is 8 (the paper does not name it: see `frame/light_pairs.py`). The same subscriptions throughout; 100 events; "
    "thread time. Trees are built before the clock starts. `floor` is the time per event with 200 subscriptions, where "
    "the search is next to nothing: reading the event's hundred properties. `asked again` is the ratio where each "
    "event is matched several times in a row, so that its tree is in the cache."
)
PAIR_COLUMNS = (
    *("rapid_ms", "rapid_low_ms", "rapid_high_ms", "tree_ms", "tree_low_ms", "tree_high_ms"),
    *(
        "rapid_floor_ms",
        "tree_floor_ms",
        "rapid_again_ms",
        "tree_again_ms",
        "rapid_nodes",
        "tree_nodes",
        "rapid_rows",
        "tree_rows",
    ),
    *("ones", "mean_ratio", "least_ratio", "matches", "rapid_checksum", "tree_checksum"),
)


@lru_cache(maxsize=4)
def _matcher(name: str, size: int) -> Matcher:
    return loaded(name, _LOAD, size, **({"c": C} if name == "rapid" else {}))


def pair(size: int) -> tuple[Matcher, Matcher]:
    """RAPIDMatch and TreeMatch with so many subscriptions; the last two are kept."""
    return _matcher("rapid", size), _matcher("tree", size)


class Effort(NamedTuple):
    """Of each event: nodes of trees visited, rows of buckets looked at, matches."""

    nodes: np.ndarray[tuple[int], np.dtype[np.int64]]
    rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    matches: np.ndarray[tuple[int], np.dtype[np.int64]]


def effort(matcher: Matcher, events: Sequence[Event]) -> Effort:
    found = []
    before = matcher.stats().work
    for event in events:
        matches = len(matcher.match(event))
        after = matcher.stats().work
        found.append([*(after[name] - before[name] for name in ("nodes_visited", "bucket_rows")), matches])
        before = after
    return Effort(*np.array(found, np.int64).reshape(-1, 3).T)


def compare(size: int, source: Light, many: int) -> dict[str, Cell]:
    """One row: clocks, nodes, and the ratio of nodes event by event."""
    events = events_of(source, many)
    both = pair(size)
    spent = [effort(matcher, events) for matcher in both]
    clocks = [timed(partial(one.match_many, events), many) for one in both]
    floors = [timed(partial(one.match_many, events), many, 3).ms for one in pair(_FEW)]
    each = spent[1].nodes / np.maximum(spent[0].nodes, 1)
    ones = np.mean([sum(value.data == 1 for (value,) in event.values.values()) for event in events])
    answers = [answers_of(one.match_many(events)) for one in both]
    cells: list[Cell] = [*clocks[0], *clocks[1], *floors, *(_again(one, events) for one in both)]
    cells += [float(one.nodes.mean()) for one in spent] + [float(one.rows.mean()) for one in spent]
    cells += [float(ones), float(each.mean()), float(each.min())]
    cells += [answers[0].matches, *(one.checksum for one in answers)]
    return dict(zip(PAIR_COLUMNS, cells, strict=True))


def _again(matcher: Matcher, events: Sequence[Event]) -> float:
    """Milliseconds to match an event that was matched a moment ago, what it needs being in the cache."""
    seconds = 0.0
    for event in events:
        matcher.match(event)
        started = time.thread_time()
        for _ in range(REPEATS):
            matcher.match(event)
        seconds += time.thread_time() - started
    return float(f"{1000 * seconds / REPEATS / len(events):.5g}")


class Ratios(NamedTuple):
    """Tree by rapid: nodes; time; time above the floor, None if that is too little to tell; time if asked again."""

    nodes: float
    clock: float
    above: float | None
    again: float


def ratios(row: Mapping[str, Cell]) -> Ratios:
    nodes = number(row, "tree_nodes") / number(row, "rapid_nodes")
    clock = number(row, "tree_ms") / number(row, "rapid_ms")
    above = [number(row, f"{name}_ms") - number(row, f"{name}_floor_ms") for name in ("tree", "rapid")]
    clear = min(above) > _CLEAR * number(row, "rapid_floor_ms")
    again = number(row, "tree_again_ms") / number(row, "rapid_again_ms")
    return Ratios(nodes, clock, above[0] / above[1] if clear else None, again)


def pair_table(caption: str, down: str, rows: Rows) -> Table:
    heads = [
        down,
        "rapid ms",
        "tree ms",
        "ratio",
        "above floor",
        "asked again",
        "rapid nodes",
        "tree nodes",
        "ratio of means",
    ]
    heads += ["mean of ratios", "least ratio", "ones"]
    lines = []
    for row in rows:
        nodes, clock, above, again = ratios(row)
        cells = [row["rapid_ms"], row["tree_ms"], clock, above, again, row["rapid_nodes"], row["tree_nodes"], nodes]
        cells += [row["mean_ratio"], row["least_ratio"], row["ones"]]
        lines.append([shown(row[down]), *map(shown, cells)])
    return Table(caption, heads, lines)
