"""Le Subscribe, section 4: the time to add one subscription to a large set."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import mean, median
from typing import TYPE_CHECKING

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, at_size, number, where
from tamis.experiments.frame.loads import answers_of, quiet_collector
from tamis.experiments.frame.measuring import growth
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.subjects import subject
from tamis.experiments.frame.tables import Table, pivot, shown
from tamis.workloads.lesub import LeSub

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_LOAD = LeSub(0.5)
_EVENTS = 100
_PAPER = ("quarantining", "equality-preferred", "fair-predicate")
_ALGORITHMS = (*_PAPER, "adaptive")
_PAPER_MS = 32.2
_ADDED: dict[Scale, int] = {"test": 100, "small": 1_000, "paper": 1_000, "max": 1_000}
_SIZES: dict[Scale, tuple[int, ...]] = {
    "test": (1_000, 4_000),
    "small": (25_000, 50_000, 100_000, 200_000),
    "paper": tuple(100_000 << step for step in range(6)),
    "max": tuple(100_000 << step for step in range(7)),
}


class _Insertion(Experiment):
    name = "lesub-insertion"
    title = "Le Subscribe, insertion"
    shows = "the time to add one subscription to so many, p = 0.5"
    claims = (
        f"Adding one subscription to 3,200,000 takes {_PAPER_MS} ms on average with quarantining, similar with "
        "equality-preferred, and less with fair predicate, whose representation is simpler."
    )
    choices = (
        "A thousand subscriptions are added one by one, each by a call of its own, to a set that was loaded at once; "
        "thread time of each call. What the next hundred events take longer than those after them, since something was "
        "put off, is shared among the calls. The adaptive engine's calls parse a text as well."
    )
    columns = ("added", "mean_ms", "median_ms", "most_ms", "matches", "checksum")

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [
            {"subscriptions": size, "algorithm": name, "more": _ADDED[scale]}
            for size in _SIZES[scale]
            for name in _ALGORITHMS
        ]

    def measure(self, point: Point) -> dict[str, Cell]:
        size, more = int(number(point, "subscriptions")), int(number(point, "more"))
        one = subject(str(point["algorithm"]), _LOAD, size, (_LOAD, _EVENTS))
        one.match()
        calls = one.insertions(_LOAD, size, size + more)
        with quiet_collector():
            spent = [_timed(call) for call in calls]
            later = max(_timed(one.match) - _timed(one.match), 0.0)
        ms = [1000 * (each + later / more) for each in spent]
        found = [float(f"{value:.5g}") for value in (mean(ms), median(ms), max(ms))]
        return dict(zip(self.columns, [more, *found, *answers_of(one.match())], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        shared = {"down": "subscriptions", "across": "algorithm"}
        return [
            pivot("One insertion, ms, mean", rows, **shared, cell="mean_ms"),
            pivot("One insertion, ms, median", rows, **shared, cell="median_ms"),
            pivot("One insertion, ms, the longest", rows, **shared, cell="most_ms"),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        draw_lines(axes, rows, x="subscriptions", y="mean_ms", by="algorithm")
        axes.set(xlabel="subscriptions", ylabel="ms", xscale="log", yscale="log")
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        sizes = list(dict.fromkeys(row["subscriptions"] for row in rows))
        top = [size for size in sizes if set(_PAPER) <= at_size(rows, size, "mean_ms").keys()][-1]
        means, medians = at_size(rows, top, "mean_ms"), at_size(rows, top, "median_ms")
        some = where(rows, algorithm="quarantining")
        slope = growth([number(row, "subscriptions") for row in some], [number(row, "median_ms") for row in some])
        longest = max(number(row, "most_ms") for row in some)
        similar = 0.5 < means["equality-preferred"] / means["quarantining"] < 2
        faster = medians["fair-predicate"] < min(medians["quarantining"], medians["equality-preferred"])
        return (
            f"At {shown(top)} subscriptions quarantining takes {shown(means['quarantining'])} ms on average (the "
            f"paper: {_PAPER_MS} ms at 3,200,000) and {shown(medians['quarantining'])} ms in the middle; that "
            f"equality-preferred is similar {'holds' if similar else 'does not hold'} "
            f"({shown(means['equality-preferred'])}), that fair predicate is faster "
            f"{'holds' if faster else 'does not hold'} by the median ({shown(medians['fair-predicate'])} against "
            f"{shown(medians['quarantining'])} and {shown(medians['equality-preferred'])}). Quarantining's "
            f"median grows as N^{slope} over the {len(some)} sizes measured; its longest call took {shown(longest)} ms."
        )


def _timed(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started


EXPERIMENT = _Insertion()
