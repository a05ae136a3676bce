"""Le Subscribe, section 4: where equalities are not selective, equality-preferred may be better than quarantining."""

from __future__ import annotations

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

_EVENTS = 100
_ALGORITHMS = ("equality-preferred", "quarantining")
_SIZE: dict[Scale, int] = {"test": 4_000, "small": 50_000, "paper": 400_000, "max": 800_000}
_WORDS: dict[Scale, tuple[int, ...]] = {
    "test": (200, 2),
    "small": (200, 50, 10, 5, 2),
    "paper": (200, 50, 20, 10, 5, 2),
    "max": (200, 100, 50, 20, 10, 5, 2),
}


class _Exception(Experiment):
    name = "lesub-exception"
    title = "Le Subscribe, the exception"
    shows = "equality-preferred and quarantining over the number of values of the three strings, p = 0.5"
    claims = (
        "If equalities are not very selective, many subscriptions are partially verified, and quarantining is worse "
        "than equality-preferred. A sentence, without a measurement."
    )
    choices = (
        "The strings, which are compared by equality alone, have 200 values as elsewhere, and then fewer, down to 2; "
        "400,000 subscriptions at paper scale; thread time in one process."
    )
    columns = (
        *("match_ms", "match_low_ms", "match_high_ms", "bumped", "verified", "evaluated", "members"),
        *("matches", "checksum"),
    )

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [
            {"subscriptions": _SIZE[scale], "words": words, "algorithm": name}
            for words in _WORDS[scale]
            for name in _ALGORITHMS
        ]

    def measure(self, point: Point) -> dict[str, Cell]:
        load = LeSub(0.5, words=int(number(point, "words")))
        one = subject(str(point["algorithm"]), load, int(number(point, "subscriptions")), (load, _EVENTS))
        work = one.work()
        names = ("counters_bumped", "candidates_verified", "predicates_evaluated", "members_found")
        found = [*timed(one.match, _EVENTS), *[work[name] for name in names], *answers_of(one.match())]
        return dict(zip(self.columns, found, strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        shared = {"down": "words", "across": "algorithm"}
        return [
            pivot("Matching, ms per event (thread time)", rows, **shared, cell="match_ms"),
            pivot("Counters bumped per event", rows, **shared, cell="bumped"),
            pivot("Candidates verified per event", rows, **shared, cell="verified"),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        spread = ("match_low_ms", "match_high_ms")
        draw_lines(axes, rows, x="words", y="match_ms", by="algorithm", spread=spread)
        axes.set(xlabel="values of a string", ylabel="ms", xscale="log", yscale="log")
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        preferred, quarantining = (where(rows, algorithm=name) for name in _ALGORITHMS)
        clock = [
            number(one, "match_ms") / number(other, "match_ms")
            for one, other in zip(preferred, quarantining, strict=False)
        ]
        first, last = quarantining[0], quarantining[-1]
        return (
            f"The reason holds by counters: from {first['words']} values to {last['words']} quarantining verifies "
            f"{shown(first['verified'])} and then {shown(last['verified'])} candidates per event, while its counters "
            f"bumped stay ({shown(first['bumped'])} and {shown(last['bumped'])}). By the clock equality-preferred "
            f"takes {shown(clock[0])} and {shown(clock[-1])} times as long as quarantining at the two ends: "
            f"{_conclusion(clock[0], clock[-1])} It bumps {shown(preferred[-1]['bumped'])} counters there."
        )

    def loads(self, scale: Scale) -> list[tuple[Workload, int, Workload, int]]:
        found = [LeSub(0.5, words=words) for words in _WORDS[scale]]
        return [(load, _SIZE[scale], load, _EVENTS) for load in found]


def _conclusion(many: float, few: float) -> str:
    if few >= 1:
        return "the conclusion does not hold, as bumping costs more than what is verified."
    if many >= 1:
        return "the conclusion holds."
    return "it is faster at both, so that at this size selectivity does not decide it."


EXPERIMENT = _Exception()
