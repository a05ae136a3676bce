"""ToPSS, figure 2 (1-6): predicate matching with tables and with ordered lists, time and memory, W0 to W3."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tamis.experiments.frame.experiment import SEED, Cell, Experiment, Point, Rows, Scale, number, where
from tamis.experiments.frame.loads import quiet_collector
from tamis.experiments.frame.measuring import growth, timed
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.tables import Table, shown
from tamis.indexes import INDEXES, PredicateIndex
from tamis.model import Integer, Kind, Operator, Value
from tamis.workloads.topss import TOPSS, Topss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_WORKLOADS = ("w0", "w1", "w2", "w3")
_INDEXES = ("table", "ordered-list")
_OPERATORS = (Operator.EQ, Operator.NE, Operator.LT, Operator.GT)
_EVENTS = 10
_SIZES: dict[Scale, tuple[int, ...]] = {
    "test": (500, 2_000),
    "small": (1_000, 10_000, 100_000),
    "paper": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "max": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000),
}
_MOST = {"w0": 120 * 4 * 250}
"""Distinct predicates that there are. The paper's "first few thousand" does not follow from its parameters."""


class _Figure2(Experiment):
    name = "topss-fig2"
    title = "ToPSS, figure 2"
    shows = "predicate matching by tables and by lists over the number of predicates: time (1-3) and memory (4-6)"
    claims = (
        "(1) A table's time grows with the size of the domains, (2) a list's hardly depends on it; (3) in the mixture "
        "W3 lists are better for few predicates and tables for many. (4-6) The same for memory: a table's depends on "
        "the domains, a list's on the number of predicates alone. The figure prints no numbers."
    )
    choices = (
        "n distinct predicates, uniform over 120 attributes, the four operators and the domains (W0 has 120,000, and "
        "W3's small domains run out as well); an index per attribute; the first stage only, 10 events of 120 values, "
        "thread time. Memory is the structures' own bytes, summed over the attributes, and needs no process of its "
        "own: what an index remembers of its predicates beside is the same for both. `Looked at` are stripes of 64 "
        "cells and items of lists."
    )
    columns = ("match_ms", "match_low_ms", "match_high_ms", "visited", "satisfied", "bytes", "with_memory_of_all")
    size_inches = (9.6, 6.6)

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [
            {"workload": name, "predicates": size, "index": index}
            for size in _SIZES[scale]
            for name in _WORKLOADS
            if size <= _MOST.get(name, size)
            for index in _INDEXES
        ]

    def measure(self, point: Point) -> dict[str, Cell]:
        load = TOPSS[str(point["workload"])]
        with quiet_collector():
            indexes = _filled(load, str(point["index"]), int(number(point, "predicates")))
        events = [
            [Value(Kind.NUMBER, raw[f"a{at}"]) for at in range(len(indexes))]
            for raw in load.events(_EVENTS, SEED).to_pylist()
        ]
        before = sum(index.visited for index in indexes)
        found = _matched(indexes, events)
        visited = sum(index.visited for index in indexes) - before
        clock = timed(lambda: _matched(indexes, events), _EVENTS, 3)
        sizes = [sum(index.structure_bytes() for index in indexes), sum(index.bytes_used() for index in indexes)]
        return dict(zip(self.columns, [*clock, visited / _EVENTS, found / _EVENTS, *sizes], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        return [
            _by_workload("Figure 2 (1-3): first stage, ms per event", rows, "match_ms"),
            _by_workload("Looked at per event", rows, "visited"),
            _by_workload(
                "Figure 2 (4-6): memory, MB", [{**row, "mb": number(row, "bytes") / 1e6} for row in rows], "mb"
            ),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        sized = [{**row, "mb": number(row, "bytes") / 1e6} for row in rows]
        panels = figure.subplots(2, 3)
        for line, (column, label) in zip(
            panels, (("match_ms", "matching time (ms)"), ("mb", "memory (MB)")), strict=True
        ):
            for axes, index in zip(line, _INDEXES, strict=False):
                _panel(axes, where(sized, index=index), column, "workload", index)
            _panel(line[2], where(sized, workload="w3"), column, "index", "W3")
            line[0].set_ylabel(label)

    def verdict(self, rows: Rows) -> str:
        time, memory = _crossing(rows, "match_ms"), _crossing(rows, "bytes")
        work = _crossing(rows, "visited")
        lists = [_slope(rows, name) for name in _WORKLOADS]
        top = [row for row in rows if row["predicates"] == _common(rows)]
        spans = {index: [number(row, "visited") for row in where(top, index=index)][:3] for index in _INDEXES}
        few = number(_row(rows, "table", "w3", 0), "match_ms") / number(_row(rows, "ordered-list", "w3", 0), "match_ms")
        items = [1000 * number(row, "match_ms") / number(row, "visited") for row in where(rows, index="ordered-list")]
        return (
            f"(1, 2) hold by what is looked at: from W0 to W2 a table looks at {shown(spans['table'][0])} to "
            f"{shown(spans['table'][2])} stripes whatever it holds, a list at {shown(spans['ordered-list'][0])} to "
            f"{shown(spans['ordered-list'][2])} items, and at n^{min(lists):.2f} to n^{max(lists):.2f} of them. (3) by "
            f"what is looked at tables are better from {work} predicates on in W3, by the clock from {time}: for the "
            f"fewest a table takes {shown(few)} times as long as lists, whose cost is then that of 120 calls and not "
            f"of items ({shown(max(items))} µs per item where they are few, {shown(min(items))} where they are many). "
            f"(4-6) memory: {memory}."
        )


def _filled(load: Topss, index: str, size: int) -> list[PredicateIndex]:
    """An index per attribute with its share of the predicates."""
    attributes, operators, constants = _drawn(load, size)
    found = []
    for at, (low, high) in enumerate(load.bounds):
        here = np.flatnonzero(attributes == at).tolist()
        one = INDEXES[index](Integer(low, high))
        given = [(id, _OPERATORS[operators[id]], Value(Kind.NUMBER, int(constants[id]))) for id in here]
        one.insert_many(given)
        found.append(one)
    return found


_Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


@lru_cache(maxsize=2)
def _drawn(load: Topss, size: int) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Attributes, operators and constants of different predicates, as they would come: the first so many draws."""
    random = np.random.default_rng(SEED)
    low, high = (np.array(side, np.int64) for side in zip(*load.bounds, strict=True))
    span = int((high - low).max()) + 1
    codes = np.empty(0, np.int64)
    while len(codes) < size:
        attributes = random.integers(0, len(low), 2 * size)
        offsets = random.integers(0, high[attributes] - low[attributes] + 1)
        drawn = (attributes * len(_OPERATORS) + random.integers(0, len(_OPERATORS), 2 * size)) * span + offsets
        joined = np.concatenate([codes, drawn])
        codes = joined[np.sort(np.unique(joined, return_index=True)[1])]
    codes = codes[:size]
    attributes = codes // span // len(_OPERATORS)
    return attributes, codes // span % len(_OPERATORS), codes % span + low[attributes]


def _matched(indexes: list[PredicateIndex], events: list[list[Value]]) -> int:
    return sum(len(index.search(value)) for event in events for index, value in zip(indexes, event, strict=True))


def _in_mb(rows: Rows) -> list[dict[str, Cell]]:
    return [{**row, "mb": number(row, "bytes") / 1e6} for row in rows]


def _by_workload(caption: str, rows: Rows, name: str) -> Table:
    heads = ["predicates", *[f"{index} {load.upper()}" for index in _INDEXES for load in _WORKLOADS]]
    lines = []
    for size in sorted({number(row, "predicates") for row in rows}):
        cells = []
        for index in _INDEXES:
            for load in _WORKLOADS:
                found = where(rows, predicates=size, index=index, workload=load)
                cells.append(shown(found[0][name]) if found else "–")
        lines.append([shown(int(size)), *cells])
    return Table(caption, heads, lines)


def _panel(axes: Axes, rows: Rows, column: str, by: str, title: str) -> None:
    draw_lines(axes, rows, x="predicates", y=column, by=by)
    axes.set(xlabel="number of predicates", title=title, xscale="log", yscale="log")
    axes.legend()


def _common(rows: Rows) -> Cell:
    """The largest size that all workloads have."""
    return max(int(number(row, "predicates")) for row in where(rows, workload="w0"))


def _row(rows: Rows, index: str, load: str, at: int) -> Point:
    return where(rows, index=index, workload=load)[at]


def _slope(rows: Rows, load: str) -> float:
    some = where(rows, index="ordered-list", workload=load)
    return growth([number(row, "predicates") for row in some], [number(row, "visited") for row in some]).exponent


def _crossing(rows: Rows, name: str) -> str:
    """The first size of W3 at which a table is better, as a word if there is none, or if it is all of them."""
    pairs = [
        (int(number(row, "predicates")), number(row, name), number(other, name))
        for row in where(rows, index="table", workload="w3")
        for other in where(rows, index="ordered-list", workload="w3", predicates=row["predicates"])
    ]
    better = [size for size, table, lists in pairs if table < lists]
    if name == "bytes":
        return f"in W3 tables are smaller from {shown(better[0])} predicates on" if better else _larger(pairs)
    if len(better) == len(pairs):
        return f"the fewest, {shown(pairs[0][0])}, on"
    return shown(better[0]) if better else f"more than {shown(pairs[-1][0])}"


def _larger(pairs: list[tuple[int, float, float]]) -> str:
    size, table, lists = pairs[-1]
    mb = f"{shown(table / 1e6)} against {shown(lists / 1e6)} MB"
    return f"in W3 tables are still larger at {shown(size)} predicates, {mb}"


EXPERIMENT = _Figure2()
