"""All sixteen algorithms over a grid of workloads: which one wins where, by how much, and where adaptive is not "
"first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tamis.errors import LimitError
from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, number
from tamis.experiments.frame.grid import Grid
from tamis.experiments.frame.loads import answers_of
from tamis.experiments.frame.measuring import timed
from tamis.experiments.frame.plots import style_of
from tamis.experiments.frame.subjects import subject
from tamis.experiments.frame.systems import clock_of_algorithm
from tamis.experiments.frame.tables import Table, shown
from tamis.matchers import MATCHERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]


class _Grid(NamedTuple):
    """The values of each handle; a scale measures their product."""

    sizes: tuple[int, ...]
    values: tuple[int, ...]
    equal: tuple[float, ...]
    skew: tuple[float, ...]
    dimensions: tuple[int, ...]


_GRIDS: Mapping[Scale, _Grid] = MappingProxyType(
    {
        "test": _Grid((200,), (20,), (0.0, 1.0), (0.0,), (4,)),
        "small": _Grid((1_000, 10_000), (20, 1_000), (0.1, 0.9), (0.0,), (4, 16)),
        "paper": _Grid((1_000, 10_000, 100_000), (20, 1_000), (0.0, 0.5, 1.0), (0.0, 1.0), (4, 16)),
        "max": _Grid((1_000, 10_000, 100_000, 1_000_000), (20, 1_000), (0.0, 0.5, 1.0), (0.0, 1.0), (4, 16)),
    }
)
_HANDLES = ("subscriptions", "values", "equal", "skew", "dimensions")
_EVENTS = 100
_FEW_EVENTS = 3
_SLOW = ("naive", "sql-sequential", "sql-grouping")
_MOST: Mapping[str, int] = MappingProxyType({"naive": 10_000, "sql-sequential": 10_000, "gough": 10_000})
"""Subscriptions that an algorithm is asked to hold here: the oracle and sequential search only get slower with more,
and Gough's tree is past its bound with less."""


class _Map(Experiment):
    name = "field-map"
    title = "A map of the field"
    shows = "all sixteen algorithms over a grid of workloads"
    claims = (
        "No paper has all of them. Le Subscribe and ToPSS say that no algorithm is best everywhere, and that it "
        "depends on selectivity, on the share of equalities, and on the number of subscriptions."
    )
    choices = (
        "The product of: subscriptions; values of an attribute (20: predicates hold often, 1,000: equalities seldom); "
        "the share of equalities; skew (0: uniform, 1: Zipf) of constants and of events alike; dimensions (attributes "
        "of an event). One to four predicates each. 100 events in one call, 3 for the naive matcher and for databases; "
        "three repeats; thread time, wall time for databases (DuckDB). The naive matcher, sequential search and "
        "Gough's tree are not given more than 10,000; what an algorithm refuses to hold counts as not measured. Rapid "
        "has its default c."
    )
    columns = ("match_ms", "match_low_ms", "match_high_ms", "single_ms", "events", "matches", "checksum", "refused")
    size_inches = (9.6, 7.2)

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [
            {**dict(zip(_HANDLES, setting, strict=True)), "algorithm": name}
            for setting in product(*_GRIDS[scale])
            for name in MATCHERS
            if setting[0] <= _MOST.get(name, setting[0])
        ]

    def measure(self, point: Point) -> dict[str, Cell]:
        name = str(point["algorithm"])
        events = _FEW_EVENTS if name in _SLOW else _EVENTS
        load = Grid(
            values=int(number(point, "values")),
            equal=number(point, "equal"),
            skew=number(point, "skew"),
            dimensions=int(number(point, "dimensions")),
        )
        try:
            one = subject(name, load, int(number(point, "subscriptions")), (load, events))
            clock = timed(one.match, events, 3, clock_of_algorithm(name))
            single = timed(one.one_by_one, events, 3).ms if name == "adaptive" else None
        except LimitError as error:
            return dict.fromkeys(self.columns[:-1], None) | {"refused": str(error)}
        return dict(zip(self.columns, [*clock, single, events, *answers_of(one.match()), None], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        heads = [*_HANDLES, "first", "ms", "second", "times", "adaptive's place", "times the first"]
        cells = _cells(rows)
        return [
            Table("Where who wins: ms per event", heads, [_line(setting, some) for setting, some in cells.items()]),
            _standing(rows),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        cells = _cells(rows)
        for at, name in enumerate((*MATCHERS, _SINGLY)):
            found = [(x, some[name] / min(some.values())) for x, some in enumerate(cells.values()) if name in some]
            style = style_of(f"place {at}", at)
            marker = style.marker if at < 7 else "1234+x|_*."[at - 7]
            if found:
                axes.plot(*zip(*found, strict=True), marker, color=style.colour, label=name, markersize=5)
        labels = [" · ".join(map(shown, setting)) for setting in cells]
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=5 if len(labels) > 30 else 7)
        axes.set(yscale="log", ylabel="times the fastest", xlabel=" · ".join(_HANDLES))
        axes.legend(ncol=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=7)

    def verdict(self, rows: Rows) -> str:
        cells = _cells(rows)
        best = {at: min(ms for name, ms in some.items() if name not in _OURS) for at, some in cells.items()}
        firsts = Counter(name for at, some in cells.items() for name, ms in some.items() if ms == best[at])
        refused = Counter(str(row["algorithm"]) for row in rows if row["refused"] is not None)
        return (
            f"That none is best everywhere {'holds' if len(firsts) > 1 else 'does not hold'} among the papers' "
            f"algorithms: over {len(cells)} workloads the first of them is {_counted(firsts)}. The adaptive engine, "
            f"given a batch, is {_behind(cells, best, 'adaptive')}; asked event by event it is "
            f"{_behind(cells, best, _SINGLY)}. Refused: {_counted(refused) or 'none'}."
        )


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in names.most_common())


_SINGLY = "adaptive, event by event"
_OURS = ("adaptive", _SINGLY)
_Setting = tuple[Cell, ...]


def _cells(rows: Rows) -> dict[_Setting, dict[str, float]]:
    """Setting → algorithm → ms, where all were measured or have refused."""
    found: dict[_Setting, dict[str, float]] = {}
    asked: Counter[_Setting] = Counter(tuple(row[name] for name in _HANDLES) for row in rows)
    for row in rows:
        some = found.setdefault(tuple(row[name] for name in _HANDLES), {})
        if row["match_ms"] is not None:
            some[str(row["algorithm"])] = number(row, "match_ms")
        if row["single_ms"] is not None:
            some[_SINGLY] = number(row, "single_ms")
    return {setting: some for setting, some in found.items() if asked[setting] == _wanted(setting[0])}


def _wanted(size: Cell) -> int:
    """Algorithms that are measured at this number of subscriptions."""
    return sum(float(str(size)) <= _MOST.get(name, float("inf")) for name in MATCHERS)


def _line(setting: _Setting, some: dict[str, float]) -> list[str]:
    order = sorted(some, key=some.__getitem__)
    best, second = order[0], order[1] if len(order) > 1 else order[0]
    place = shown(order.index("adaptive") + 1) if "adaptive" in some else "–"
    behind = shown(some["adaptive"] / some[best]) if "adaptive" in some else "–"
    return [*map(shown, setting), best, shown(some[best]), second, shown(some[second] / some[best]), place, behind]


def _standing(rows: Rows) -> Table:
    cells = _cells(rows)
    lines = []
    for name in (*MATCHERS, _SINGLY):
        ratios = sorted(some[name] / min(some.values()) for some in cells.values() if name in some)
        if ratios:
            middle = ratios[len(ratios) // 2]
            wins = sum(ratio == 1 for ratio in ratios)
            lines.append([name, shown(len(ratios)), shown(wins), *map(shown, (ratios[0], middle, ratios[-1]))])
    heads = ["algorithm", "workloads", "first", "least", "middle", "most"]
    return Table("Times the fastest, over all workloads that it was measured at", heads, lines)


def _behind(cells: dict[_Setting, dict[str, float]], best: dict[_Setting, float], name: str) -> str:
    """At how many workloads one of the papers' is before it, and at worst by how much."""
    lost = {at: some[name] / best[at] for at, some in cells.items() if some.get(name, 0.0) > best[at]}
    if not lost:
        return "never behind one of them"
    at = max(lost, key=lost.__getitem__)
    told = ", ".join(f"{handle} {shown(value)}" for handle, value in zip(_HANDLES, at, strict=True))
    return f"behind one of them at {len(lost)}, at worst {shown(lost[at])} times ({told})"


EXPERIMENT = _Map()
