"""ToPSS, table 1: the time to match one event, by a database, a bit matrix and lists."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, column, number, where
from tamis.experiments.frame.loads import answers_of
from tamis.experiments.frame.measuring import timed
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.subjects import subject
from tamis.experiments.frame.systems import KDB, clock_of, made_of, systems_of
from tamis.experiments.frame.tables import Table, pivot, shown
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_LOAD = TOPSS["w4"]
_PAPER_MS: Mapping[int, tuple[float, float, float]] = MappingProxyType(
    {
        1_000: (89.3, 0.3, 0.10),
        5_000: (206.4, 1.9, 0.27),
        10_000: (397.4, 3.8, 0.63),
        50_000: (1800.3, 20.0, 3.85),
        100_000: (3451.2, 40.4, 8.10),
        500_000: (17299.7, 264.0, 79.00),
        1_000_000: (33473.1, 562.4, 190.70),
        5_000_000: (338166.1, 1555.7, 1056.00),
    }
)
"""Kdb, bit-wise, list-based."""


class _Table1(Experiment):
    name = "topss-table1"
    title = "ToPSS, table 1"
    shows = "matching one event, ms, W4"
    claims = (
        "Kdb takes far longer than both, at every size (at 100,000 subscriptions 426 times as long as lists); lists "
        "are faster than the bit matrix, by 3 to 7 times up to half a million subscriptions and 1.5 times at five "
        "million."
    )
    choices = (
        "DuckDB in Kdb's place, with both of the paper's queries, and SQLite and PostgreSQL with the better one, as "
        "far as 500,000 (sequential search: a million). Both stages are timed, on table-based predicate indexes, one "
        "event after the other, the adaptive engine too; making the query is part of its time. 10 events, five "
        "repeats, for databases 3 events and three repeats. Databases: wall time, the others: thread time."
    )
    columns = ("match_ms", "match_low_ms", "match_high_ms", "events", "matches", "checksum")

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return systems_of(scale)

    def measure(self, point: Point) -> dict[str, Cell]:
        system = str(point["system"])
        algorithm, options = made_of(system)
        events, repeats = (3, 3) if "url" in options else (10, 5)
        one = subject(algorithm, _LOAD, int(number(point, "subscriptions")), (_LOAD, events), **options)
        clock = timed(one.one_by_one, events, repeats, clock_of(system))
        return dict(zip(self.columns, [*clock, events, *answers_of(one.match())], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        measured = pivot("One event, ms", rows, down="subscriptions", across="system", cell="match_ms")
        return [measured, _beside_the_paper(rows)]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        draw_lines(axes, rows, x="subscriptions", y="match_ms", by="system", spread=("match_low_ms", "match_high_ms"))
        axes.set(xlabel="# subs", ylabel="matching one event (ms)", xscale="log", yscale="log")
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        ratios = {size: _ratio(rows, size, KDB, "counting-lists") for size in _sizes(rows)}
        slower = all(ratio is None or ratio > 1 for ratio in ratios.values())
        bits = {size: _ratio(rows, size, "counting-bits", "counting-lists") for size in _sizes(rows)}
        behind = [shown(size) for size, ratio in bits.items() if ratio is not None and ratio < 1]
        size, ratio = [(size, ratio) for size, ratio in ratios.items() if ratio is not None][-1]
        paper = _PAPER_MS.get(size)
        before = f"; in the paper {shown(paper[0] / paper[2])} times" if paper else ""
        loads = column(where(rows, system=KDB), "load")
        least = min((float(one), at) for at, one in ratios.items() if one is not None)
        return (
            f"That the database is slower {'holds at every size' if slower else 'does not hold at every size'}, but by "
            f"far less: DuckDB takes {shown(ratio)} times as long as lists at {shown(size)} subscriptions{before}, and "
            f"at the least {shown(least[0])} times, at {shown(least[1])}. That lists beat bits "
            f"{'holds at every size' if not behind else 'does not hold at ' + ', '.join(behind)}: figure 3's counters "
            f"say why, 64 subscriptions to a word. Databases by the wall, with a load of {min(loads):.0f} to "
            f"{max(loads):.0f} on the machine: their times are upper bounds."
        )

    def loads(self, scale: Scale) -> list[tuple[Workload, int, Workload, int]]:
        sizes = dict.fromkeys(int(str(point["subscriptions"])) for point in self.points(scale))
        return [(_LOAD, size, _LOAD, 10) for size in sizes]


def _sizes(rows: Rows) -> list[int]:
    return list(dict.fromkeys(int(number(row, "subscriptions")) for row in rows))


def _ms(rows: Rows, size: int, system: str) -> float | None:
    found = where(rows, subscriptions=size, system=system)
    return number(found[0], "match_ms") if found else None


def _ratio(rows: Rows, size: int, above: str, below: str) -> float | None:
    one, other = _ms(rows, size, above), _ms(rows, size, below)
    return one / other if one is not None and other else None


def _beside_the_paper(rows: Rows) -> Table:
    heads = ["# subs", "Kdb (paper)", "DuckDB", "bit-wise (paper)", "bits", "list-based (paper)", "lists"]
    heads += ["Kdb / lists (paper)", "DuckDB / lists"]
    lines = []
    for size in _sizes(rows):
        paper: tuple[float | None, ...] = _PAPER_MS.get(size, (None, None, None))
        ours = [_ms(rows, size, name) for name in (KDB, "counting-bits", "counting-lists")]
        cells = [shown(cell) for pair in zip(paper, ours, strict=True) for cell in pair]
        before = shown(paper[0] / paper[2]) if paper[0] is not None and paper[2] is not None else "–"
        lines.append([shown(size), *cells, before, shown(_ratio(rows, size, KDB, "counting-lists"))])
    return Table("Beside the paper's numbers, ms (dual Pentium III at 900 MHz)", heads, lines)


EXPERIMENT = _Table1()
