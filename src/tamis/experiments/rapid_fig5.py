"""RAPIDMatch, figure 5: running time per match over the number of matches, Zipf with a = 2; figure 6 is its twin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, column, number, tall
from tamis.experiments.frame.light_pairs import PAIR_CHOICES, effort, pair
from tamis.experiments.frame.loads import events_of
from tamis.experiments.frame.measuring import growth, timed
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.tables import Table, shown
from tamis.workloads.light import Light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "TimePerMatch"]

_EVENTS = 100
_SIZES: dict[Scale, tuple[int, ...]] = {
    "test": (500, 1_000, 2_000),
    "small": (500, 1_000, 2_000, 5_000, 10_000, 20_000),
    "paper": (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000),
    "max": (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
}


class TimePerMatch(Experiment):
    """Of a distribution of events."""

    name = "rapid-fig5"
    title = "RAPIDMatch, figure 5"
    shows = "matching performance measured as time/output, Zipf with a = 2"
    claims = (
        "The more subscriptions match, the less time either takes per match; RAPIDMatch is always better than "
        "TreeMatch, and more so for few matches. The figure prints no numbers."
    )
    choices = (
        "With the number of subscriptions fixed, answers hardly differ in size (about 0.6 % match), so the number of "
        "subscriptions varies, from 500 to 100,000, and each is a bin: sums of time and of nodes by the sum of "
        f"matches, over the events that match at all; the others are counted apart. {PAIR_CHOICES}"
    )
    columns = (
        *("matches", "empty", "rapid_us", "tree_us", "rapid_nodes", "tree_nodes", "rapid_rows", "tree_rows", "same"),
    )
    source = Light(2.0)

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [{"subscriptions": size} for size in _SIZES[scale]]

    def measure(self, point: Point) -> dict[str, Cell]:
        events = events_of(self.source, _EVENTS)
        both = pair(int(number(point, "subscriptions")))
        spent = [effort(matcher, events) for matcher in both]
        some = np.flatnonzero(spent[0].matches)
        total = max(int(spent[0].matches.sum()), 1)
        asked = [events[at] for at in some.tolist()]
        clocks = [1000 * timed(partial(matcher.match_many, asked)).ms / total for matcher in both]
        found: list[Cell] = [total / max(len(some), 1), len(events) - len(some), *clocks]
        found += [int(one.nodes[some].sum()) / total for one in spent] + [
            int(one.rows[some].sum()) / total for one in spent
        ]
        return dict(zip(self.columns, [*found, int((spent[0].matches == spent[1].matches).all())], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        heads = ["subscriptions", "matches", "events without", "rapid µs", "tree µs", "ratio"]
        heads += ["rapid nodes", "tree nodes", "ratio of nodes"]
        lines = []
        for row in rows:
            clock, nodes = (number(row, f"tree_{what}") / number(row, f"rapid_{what}") for what in ("us", "nodes"))
            cells = [row["matches"], row["empty"], row["rapid_us"], row["tree_us"], clock]
            cells += [row["rapid_nodes"], row["tree_nodes"], nodes]
            lines.append([shown(row["subscriptions"]), *map(shown, cells)])
        return [Table("Per match", heads, lines)]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        both = tall(rows, {"rapid_us": "rapid", "tree_us": "tree"}, "us")
        draw_lines(axes, both, x="matches", y="us", by="algorithm")
        axes.set(xlabel="number of matches", ylabel="time / output (µs)", xscale="log", yscale="log")
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        sizes = column(rows, "matches")
        falls = {name: growth(sizes, column(rows, f"{name}_nodes")) for name in ("rapid", "tree")}
        nodes = [number(row, "tree_nodes") / number(row, "rapid_nodes") for row in rows]
        clock = [number(row, "tree_us") / number(row, "rapid_us") for row in rows]
        less = all(one > 1 for one in nodes)
        more = nodes[0] > nodes[-1]
        fall = max(one.exponent for one in falls.values()) < 0
        both = (
            f"{'both fall, if slowly' if fall else 'they do not both fall'}, as nodes grow with N nearly as matches do"
        )
        return (
            f"Per match, nodes change as matches^{falls['rapid']} for RAPIDMatch and matches^{falls['tree']} for "
            f"TreeMatch: {both}. RAPIDMatch "
            f"{'always' if less else 'not always'} visits fewer; its advantage is {shown(nodes[0])} at "
            f"{shown(sizes[0])} matches and {shown(nodes[-1])} at {shown(sizes[-1])}, so that it is greater for small "
            f"outputs {'holds' if more else 'does not hold'}. By the clock time per match falls, as what an event "
            f"costs in any case is shared by more matches; the advantage is {shown(clock[0])} and {shown(clock[-1])}, "
            f"with TreeMatch the faster at {sum(one < 1 for one in clock)} of {len(clock)} sizes."
        )


EXPERIMENT = TimePerMatch()
