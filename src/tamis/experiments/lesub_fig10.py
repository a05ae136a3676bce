"""Le Subscribe, figure 10: the influence of p, the share of equalities among predicates on numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, number, where
from tamis.experiments.frame.loads import answers_of
from tamis.experiments.frame.measuring import timed
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.subjects import subject
from tamis.experiments.frame.tables import Table, pivot, shown
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_EVENTS_OF = LeSub(0.5)
"""p is part of a workload's seed: the events are the same for every p."""
_EVENTS = 100
_ALGORITHMS = ("fair-predicate", "equality-preferred", "quarantining", "adaptive")
_SIZE: dict[Scale, int] = {"test": 5_000, "small": 50_000, "paper": 800_000, "max": 3_200_000}
_STEPS: dict[Scale, int] = {"test": 2, "small": 4, "paper": 10, "max": 10}


class _Figure10(Experiment):
    name = "lesub-fig10"
    title = "Le Subscribe, figure 10"
    shows = "processing time over p, the share of equalities"
    claims = (
        "The more equalities, the faster all three; at p = 1 equality-preferred and quarantining are the same. "
        "The paper prints no numbers."
    )
    choices = (
        "p goes from 0 to 1, at paper scale by tenths and with 800,000 subscriptions; the events are the same for "
        "every p; thread time in one process."
    )
    columns = ("match_ms", "match_low_ms", "match_high_ms", "bumped", "verified", "evaluated", "matches", "checksum")

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        steps = _STEPS[scale]
        return [
            {"subscriptions": _SIZE[scale], "p": step / steps, "algorithm": name}
            for step in range(steps + 1)
            for name in _ALGORITHMS
        ]

    def measure(self, point: Point) -> dict[str, Cell]:
        load = LeSub(number(point, "p"))
        one = subject(str(point["algorithm"]), load, int(number(point, "subscriptions")), (_EVENTS_OF, _EVENTS))
        work = one.work()
        counters = [work.get(name) for name in ("counters_bumped", "candidates_verified", "predicates_evaluated")]
        found = [*timed(one.match, _EVENTS), *counters, *answers_of(one.match())]
        return dict(zip(self.columns, found, strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        return [
            pivot("Matching, ms per event (thread time)", rows, down="p", across="algorithm", cell="match_ms"),
            pivot("Counters bumped per event", rows, down="p", across="algorithm", cell="bumped"),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        spread = ("match_low_ms", "match_high_ms")
        draw_lines(axes, rows, x="p", y="match_ms", by="algorithm", spread=spread)
        axes.set(xlabel="p", ylabel="ms", yscale="log")
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        falls = [name for name in _ALGORITHMS[:3] if _falls([number(r, "bumped") for r in where(rows, algorithm=name)])]
        by_clock = [name for name in _ALGORITHMS if _ends_lower(rows, name)]
        equal = {name: where(rows, algorithm=name)[-1] for name in ("equality-preferred", "quarantining")}
        same = number(equal["equality-preferred"], "bumped") == number(equal["quarantining"], "bumped") == 0
        ratio = number(equal["equality-preferred"], "match_ms") / number(equal["quarantining"], "match_ms")
        ends = {name: number(where(rows, algorithm=name)[-1], "match_ms") for name in _ALGORITHMS[:3]}
        fastest = min(ends, key=ends.__getitem__)
        return (
            f"At {shown(rows[0]['subscriptions'])} subscriptions it holds for {len(falls)} of 3 by counters: "
            f"sums fall with every step of p ({', '.join(falls) or 'for none'}); "
            f"by the clock p = 1 is faster than p = 0 for {', '.join(by_clock)}. "
            f"At p = 1 equality-preferred and quarantining {'count nothing at all' if same else 'still differ'}, and "
            f"their times are {shown(ratio)} to 1; the fastest of the three there is {fastest}."
        )

    def loads(self, scale: Scale) -> list[tuple[Workload, int, Workload, int]]:
        values = dict.fromkeys(float(str(point["p"])) for point in self.points(scale))
        return [(LeSub(p), _SIZE[scale], _EVENTS_OF, _EVENTS) for p in values]


def _falls(values: list[float]) -> bool:
    return all(after < before for before, after in pairwise(values))


def _ends_lower(rows: Rows, name: str) -> bool:
    some = where(rows, algorithm=name)
    return number(some[-1], "match_ms") < number(some[0], "match_ms")


EXPERIMENT = _Figure10()
