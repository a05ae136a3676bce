"""RAPIDMatch, figure 4 a and b: matching time over the parameters of the events' distributions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, column, number, tall, where
from tamis.experiments.frame.light_pairs import PAIR_CHOICES, PAIR_COLUMNS, compare, pair_table, ratios
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.tables import Table, shown
from tamis.workloads.light import Light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_EVENTS = 100
_SIZE: dict[Scale, int] = {"test": 1_000, "small": 10_000, "paper": 50_000, "max": 100_000}
_A: dict[Scale, tuple[float, ...]] = {
    "test": (1, 2, 3),
    "small": (1, 2, 3, 4, 5),
    "paper": (1, 1.5, 2, 2.5, 3, 4, 5),
    "max": (1, 1.5, 2, 2.5, 3, 3.5, 4, 5),
}
_P: dict[Scale, tuple[float, ...]] = {
    "test": (0.01, 0.05, 0.1),
    "small": (0.01, 0.05, 0.1, 0.15, 0.2),
    "paper": (0.01, 0.02, 0.05, 0.1, 0.15, 0.2),
    "max": (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2),
}
_KINDS = {"zipf": "a", "exponential": "p"}


class _Figure4(Experiment):
    name = "rapid-fig4"
    title = "RAPIDMatch, figure 4"
    shows = "matching time with different event distribution parameter settings, (a) Zipf, (b) exponential"
    claims = (
        "RAPIDMatch's time falls as a rises or p falls, TreeMatch's stays constant; the ratio of the two flattens past "
        "a = 3. The figure prints no numbers."
    )
    choices = f"50,000 subscriptions at paper scale, a from 1 to 5, p from 0.01 to 0.2. {PAIR_CHOICES}"
    columns = PAIR_COLUMNS
    size_inches = (9.6, 3.8)

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        settings = [("zipf", a) for a in _A[scale]] + [("exponential", p) for p in _P[scale]]
        return [{"subscriptions": _SIZE[scale], "events": kind, "setting": one} for kind, one in settings]

    def measure(self, point: Point) -> dict[str, Cell]:
        setting = number(point, "setting")
        source = Light(setting) if point["events"] == "zipf" else Light(p=setting)
        return compare(int(number(point, "subscriptions")), source, _EVENTS)

    def tables(self, rows: Rows) -> list[Table]:
        return [
            pair_table(f"Per event, {kind}, by {letter}", "setting", where(rows, events=kind))
            for kind, letter in _KINDS.items()
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        for axes, (kind, letter) in zip(figure.subplots(1, 2, sharey=True), _KINDS.items(), strict=True):
            both = tall(where(rows, events=kind), {"rapid_ms": "rapid", "tree_ms": "tree"}, "ms")
            draw_lines(axes, both, x="setting", y="ms", by="algorithm")
            axes.set(xlabel=letter, ylabel="running time (ms)", title=kind)
            axes.set_ylim(bottom=0)
            axes.legend()

    def verdict(self, rows: Rows) -> str:
        zipf, exponential = where(rows, events="zipf"), where(rows, events="exponential")
        falls = _falls(column(zipf, "rapid_nodes")) and _falls(column(exponential, "rapid_nodes")[::-1])
        flat = [max(column(some, "tree_nodes")) / min(column(some, "tree_nodes")) for some in (zipf, exponential)]
        return (
            f"By nodes at {shown(rows[0]['subscriptions'])} subscriptions RAPIDMatch's work "
            f"{'falls with every step' if falls else 'does not fall with every step'} of rising a and of falling p, "
            f"and TreeMatch's varies by a factor of {shown(flat[0])} over a and {shown(flat[1])} over p. The ratio of "
            f"nodes {_told(zipf)}; by p it {_told(exponential)}. {_by_clock(zipf, exponential)}"
        )


def _told(rows: Rows) -> str:
    each = [f"{shown(ratios(row)[0])} at {row['setting']}" for row in rows]
    return "is " + ", ".join(each)


def _by_clock(zipf: Rows, exponential: Rows) -> str:
    first, last, low, high = (ratios(row) for row in (zipf[0], zipf[-1], exponential[0], exponential[-1]))
    return (
        f"By the clock the ratio goes from {shown(first.clock)} to {shown(last.clock)} over a and from "
        f"{shown(low.clock)} to {shown(high.clock)} over p; what both pay per event is why it is flatter than nodes: "
        f"above that floor it goes from {_or_not(first.above)} to {_or_not(last.above)}, and from {_or_not(low.above)} "
        f"to {_or_not(high.above)}."
    )


def _or_not(ratio: float | None) -> str:
    return "too little to tell" if ratio is None else shown(ratio)


def _falls(values: list[float]) -> bool:
    return all(after <= before for before, after in pairwise(values))


EXPERIMENT = _Figure4()
