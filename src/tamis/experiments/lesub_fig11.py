"""Le Subscribe, figure 11: equalities only, p = 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, column, number, where
from tamis.experiments.frame.loads import answers_of
from tamis.experiments.frame.measuring import growth, misfit, timed
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.subjects import subject
from tamis.experiments.frame.tables import Table, pivot, shown
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_LOAD = LeSub(1.0)
_EVENTS_OF = LeSub(0.5)
_EVENTS = 100
_ALGORITHMS = ("equality-preferred", "quarantining")
_SIZES: dict[Scale, tuple[int, ...]] = {
    "test": (1_000, 5_000, 20_000),
    "small": (1_000, 5_000, 25_000, 100_000, 200_000),
    "paper": (1_000, 10_000, *(100_000 << step for step in range(6))),
    "max": (1_000, 10_000, *(100_000 << step for step in range(7))),
}


class _Figure11(Experiment):
    name = "lesub-fig11"
    title = "Le Subscribe, figure 11"
    shows = "equality-preferred (or quarantining) over the number of subscriptions, all predicates equalities"
    claims = (
        "A threshold first, until there is a cluster for every set of attributes; then the time grows slightly, "
        "with a logarithmic look. The paper prints no numbers."
    )
    choices = "The same events as in figure 10; thread time in one process."
    columns = (
        *("match_ms", "match_low_ms", "match_high_ms", "clusters", "looked_up", "members"),
        *("bumped", "evaluated", "matches", "checksum"),
    )

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [{"subscriptions": size, "algorithm": name} for size in _SIZES[scale] for name in _ALGORITHMS]

    def measure(self, point: Point) -> dict[str, Cell]:
        size = int(number(point, "subscriptions"))
        one = subject(str(point["algorithm"]), _LOAD, size, (_EVENTS_OF, _EVENTS))
        work, details = one.work(), one.details()
        looked = [work["clusters_looked_up"], work["members_found"]]
        counters = [work["counters_bumped"], work["predicates_evaluated"]]
        found = [details["clusters"], *looked, *counters, *answers_of(one.match())]
        return dict(zip(self.columns, [*timed(one.match, _EVENTS), *found], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        names = ("match_ms", "clusters", "looked_up", "members", "bumped")
        some = where(rows, algorithm="quarantining")
        lines = [[shown(row["subscriptions"]), *[shown(row[name]) for name in names]] for row in some]
        heads = ["subscriptions", "match ms", "clusters", "looked up", "members found", "counters bumped"]
        caption = "Matching, ms per event (thread time)"
        return [
            pivot(caption, rows, down="subscriptions", across="algorithm", cell="match_ms"),
            Table("Quarantining's work per event", heads, lines),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        spread = ("match_low_ms", "match_high_ms")
        draw_lines(axes, rows, x="subscriptions", y="match_ms", by="algorithm", spread=spread)
        axes.set(xlabel="subscriptions", ylabel="ms", xscale="log")
        axes.set_ylim(bottom=0)
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        some = [row for row in where(rows, algorithm="quarantining") if row["clusters"] == 63]
        sizes = column(some, "subscriptions")
        looked = column(some, "looked_up")
        clock, members = (growth(sizes, column(some, name)) for name in ("match_ms", "members"))
        flat = max(looked) - min(looked) < 0.01 * max(looked)
        smallest = min(column(rows, "subscriptions"))
        seen = "is below the sizes measured" if sizes[0] == smallest else f"ends at {shown(int(sizes[0]))}"
        return (
            f"The threshold {seen}: all 63 clusters are there from {shown(int(sizes[0]))} subscriptions on. Past it "
            f"the look-ups {'are constant' if flat else 'vary'} at {shown(looked[-1])} per event, as clusters are "
            f"hashed and not searched; what grows is the answer: members found grow as N^{members}, the time as "
            f"N^{clock}. {_of_shape(rows)}"
        )

    def loads(self, scale: Scale) -> list[tuple[Workload, int, Workload, int]]:
        return [(_LOAD, size, _EVENTS_OF, _EVENTS) for size in _SIZES[scale]]


_CLEARLY = 0.05
"""The share of variance by which one shape must be better than the other."""


def _of_shape(rows: Rows) -> str:
    """A logarithm or a straight line? Undecided unless it is clear for both algorithms, which do the same here."""
    left = {}
    for name in _ALGORITHMS:
        some = where(rows, algorithm=name)
        sizes, times = column(some, "subscriptions"), column(some, "match_ms")
        left[name] = misfit(list(np.log(sizes)), times), misfit(sizes, times)
    if all(logarithm < line - _CLEARLY for logarithm, line in left.values()):
        word = "there"
    else:
        straight = all(line < logarithm - _CLEARLY for logarithm, line in left.values())
        word = "not there" if straight else "undecided"
    told = ", ".join(f"{100 * one:.0f} and {100 * two:.0f} % for {name}" for name, (one, two) in left.items())
    return f"The logarithmic look is {word}: of the variance a logarithm and a straight line leave unexplained {told}."


EXPERIMENT = _Figure11()
