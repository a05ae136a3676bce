"""RAPIDMatch, propositions 3 and 4: its trees, their space, and the nodes that the worst event reaches."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, number, tall, where
from tamis.experiments.frame.light_pairs import effort
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.tables import Table, shown
from tamis.matchers import MATCHERS, Matcher
from tamis.model import Integer, Kind, Operator, Predicate, Schema, Value
from tamis.model.schema import Attribute

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_SHAPES: dict[Scale, tuple[tuple[int, int], ...]] = {
    "test": ((6, 2), (7, 3)),
    "small": ((8, 1), (8, 2), (8, 3), (8, 4)),
    "paper": ((8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (10, 3)),
    "max": ((8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (10, 3), (11, 3)),
}
"""k and c."""


class _Propositions(Experiment):
    name = "rapid-propositions"
    title = "RAPIDMatch, propositions 3 and 4"
    shows = "space, and the nodes of the worst event, over all subscriptions and all events of k properties"
    claims = (
        "Proposition 3: space is at most O(c²kN), as a subscription stands in each of the c² trees at worst. "
        "Proposition 4: an event with t ≤ c ones takes at most O(2^(k(1 - 1/(t + 1)))) time, any other as long as with "
        "the tree."
    )
    choices = (
        "All 3^k - 1 subscriptions over k properties, and all 2^k events: the worst case itself, k = 8 and c = 0 to 4, "
        "and k = 10. The bound in nodes is that of a binary tree as deep as the properties that are tested, "
        "2^(k - ⌊k/(t + 1)⌋ + 1) - 1. All trees are built, (c + 1)(c + 2)/2 + 1 of them."
    )
    columns = ("most_nodes", "bound", "tree_nodes", "trees", "rapid_bytes", "tree_bytes", "subscriptions")

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [{"k": k, "c": c, "ones": ones} for k, c in _SHAPES[scale] for ones in range(k + 1)]

    def measure(self, point: Point) -> dict[str, Cell]:
        k, c, ones = (int(number(point, name)) for name in ("k", "c", "ones"))
        rapid, tree = _found(k, c), _found(k, None)
        bound = 2 ** (k - k // (ones + 1) + 1) - 1 if ones <= c else 2 ** (k + 1) - 1
        found = [int(rapid.nodes[rapid.ones == ones].max()), bound, int(tree.nodes[tree.ones == ones].max())]
        return dict(zip(self.columns, [*found, rapid.trees, rapid.bytes, tree.bytes, rapid.subscriptions], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        found = []
        for k, c in dict.fromkeys((row["k"], row["c"]) for row in rows):
            some = where(rows, k=k, c=c)
            heads = ["ones", "most nodes", "bound", "tree"]
            lines = [[shown(row[name]) for name in ("ones", "most_nodes", "bound", "tree_nodes")] for row in some]
            found.append(Table(f"Proposition 4, k = {k}, c = {c}: nodes of the worst event", heads, lines))
        firsts = where(rows, ones=0)
        heads = ["k", "c", "N", "trees", "bytes", "by tree's", "(c + 1)(c + 2)/2 + 1"]
        lines = [_space(row) for row in firsts]
        return [*found[-2:], Table("Proposition 3: space", heads, lines)]

    def draw(self, rows: Rows, figure: Figure) -> None:
        axes = figure.subplots()
        shape = rows[-1]["k"], rows[-1]["c"]
        names = {"bound": "bound", "tree_nodes": "tree", "most_nodes": "rapid"}
        drawn = tall(where(rows, k=shape[0], c=shape[1]), names, "nodes")
        draw_lines(axes, drawn, x="ones", y="nodes", by="algorithm")
        axes.set(
            xlabel=f"ones in the event (k = {shape[0]}, c = {shape[1]})", ylabel="most nodes visited", yscale="log"
        )
        axes.legend()

    def verdict(self, rows: Rows) -> str:
        within = sum(number(row, "most_nodes") <= number(row, "bound") for row in rows)
        light = [row for row in rows if number(row, "ones") <= number(row, "c")]
        near = max(number(row, "most_nodes") / number(row, "bound") for row in light)
        firsts = where(rows, ones=0)
        trees = all(number(row, "trees") == _trees(row) for row in firsts)
        most = max(number(row, "rapid_bytes") / number(row, "tree_bytes") / number(row, "trees") for row in firsts)
        return (
            f"Both hold: the worst event is within the bound at {within} of {len(rows)} points, and comes as near to "
            f"it as {100 * near:.0f} %; there are "
            f"{'as many trees as the formula says' if trees else 'other numbers of trees'} and each takes at most "
            f"{shown(most)} of what TreeMatch's one takes."
            if within == len(rows)
            else f"Proposition 4 does not hold at {len(rows) - within} of {len(rows)} points."
        )


def _trees(row: Point) -> float:
    c = number(row, "c")
    return (c + 1) * (c + 2) / 2 + 1


def _space(row: Point) -> list[str]:
    cells = [shown(row[name]) for name in ("k", "c", "subscriptions", "trees", "rapid_bytes")]
    return [*cells, shown(number(row, "rapid_bytes") / number(row, "tree_bytes")), shown(int(_trees(row)))]


class _Found(NamedTuple):
    ones: np.ndarray[tuple[int], np.dtype[np.int64]]
    nodes: np.ndarray[tuple[int], np.dtype[np.int64]]
    trees: int
    bytes: int
    subscriptions: int


@lru_cache(maxsize=2)
def _found(k: int, c: int | None) -> _Found:
    """RAPIDMatch with this c, or TreeMatch, asked all events."""
    names = [f"p{at}" for at in range(k)]
    schema = Schema(attributes={name: Attribute(name, Integer(0, 1)) for name in names})
    asks = [[Predicate(name, Operator.EQ, Value(Kind.NUMBER, bit)) for bit in (0, 1)] for name in names]
    matcher: Matcher = MATCHERS["tree"](schema) if c is None else MATCHERS["rapid"](schema, c=c)
    wishes = [tuple(one for one in wish if one) for wish in product(*[(None, *pair) for pair in asks])]
    matcher.add([(key, (wish,)) for key, wish in enumerate(wishes) if wish])
    bits = list(product((0, 1), repeat=k))
    nodes = effort(matcher, [schema.event(dict(zip(names, one, strict=True))) for one in bits]).nodes
    stats = matcher.stats()
    trees = int(stats.details.get("trees", 1))
    return _Found(np.array([sum(one) for one in bits]), nodes, trees, stats.bytes, stats.subscriptions)


EXPERIMENT = _Propositions()
