"""ToPSS, figure 4: memory of the byte matrix, the bit matrix, lists with and without what deletion needs, a database.

Each point has a process of its own. Its kernels and libraries are warmed on a few subscriptions under another matcher;
what the process has in memory from then on is the load's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tamis.engine import Engine
from tamis.experiments.frame.experiment import SEED, Cell, Experiment, Point, Rows, Scale, at_size, number, where
from tamis.experiments.frame.loads import entries_between, quiet_collector
from tamis.experiments.frame.memory import resident_bytes
from tamis.experiments.frame.plots import draw_lines
from tamis.experiments.frame.tables import Table, pivot, shown
from tamis.matchers import MATCHERS
from tamis.workloads.topss import TOPSS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_LOAD = TOPSS["w4"]
_COUNTING = ("counting-matrix", "counting-bits", "counting-lists")
_ALGORITHMS = (*_COUNTING, "sql-grouping", "adaptive")
_SLICE = 1 << 17
_WARM = 200
_SIZES: dict[Scale, tuple[int, ...]] = {
    "test": (5_000,),
    "small": (1_000, 10_000, 100_000),
    "paper": (1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000),
    "max": (1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000, 8_000_000),
}


class _Figure4(Experiment):
    name = "topss-fig4"
    title = "ToPSS, figure 4"
    shows = "memory use over the number of subscriptions, W4"
    claims = (
        "Lists alone need least; with the structure that deletion needs they take more than the bit matrix, which "
        "needs none. The bit matrix takes about 122 KB for 1,000 subscriptions and 248 MB for five million; the "
        "database 4,400 KB and about 1 GB."
    )
    choices = (
        "Filled bytes are those of the association table without room to grow; for lists also those of what lets a "
        "subscription find its places in them again. Resident memory is what a process of its own has more after "
        "loading than before, kernels warmed: all of the matcher, with the keys, counts and predicates that each of "
        "them keeps beside the table, and lists with what removal needs. DuckDB in Kdb's place."
    )
    columns = ("resident_bytes", "stats_bytes", "association_bytes", "removal_bytes")
    alone = True

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [{"subscriptions": size, "algorithm": name} for size in _SIZES[scale] for name in _ALGORITHMS]

    def measure(self, point: Point) -> dict[str, Cell]:
        algorithm, size = str(point["algorithm"]), int(number(point, "subscriptions"))
        load = _load_engine if algorithm == "adaptive" else _load_matcher
        load(algorithm, _WARM)
        before = resident_bytes()
        kept = load(algorithm, size)
        after = resident_bytes()
        grown = None if before is None or after is None else after - before
        found = [kept().get(name) for name in self.columns[1:]]
        return dict(zip(self.columns, [grown, *found], strict=True))

    def tables(self, rows: Rows) -> list[Table]:
        lines = [
            [shown(size), *[shown(_each(rows, size, name, column)) for name, column in _FILLED.values()]]
            for size in dict.fromkeys(row["subscriptions"] for row in rows)
        ]
        filled = Table("Filled bytes per subscription", ["subscriptions", *_FILLED], lines)
        shared = {"down": "subscriptions", "across": "algorithm"}
        return [
            filled,
            pivot("Resident memory of the load, KB", rows, **shared, cell=lambda row: _kb(row["resident_bytes"])),
            pivot("By `stats()`, KB, without a database's", rows, **shared, cell=lambda row: _kb(row["stats_bytes"])),
        ]

    def draw(self, rows: Rows, figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        filled = [
            {"subscriptions": row["subscriptions"], "algorithm": label, "mb": number(row, "subscriptions") * each / 1e6}
            for label, (name, column) in _FILLED.items()
            for row in where(rows, algorithm=name)
            if (each := _each(rows, row["subscriptions"], name, column)) is not None
        ]
        resident = [{**row, "mb": number(row, "resident_bytes") / 1e6} for row in rows if row["resident_bytes"]]
        for axes, some, title in ((left, filled, "filled"), (right, resident, "resident")):
            draw_lines(axes, some, x="subscriptions", y="mb", by="algorithm")
            axes.set(xlabel="number of subscriptions", title=title, xscale="log", yscale="log")
            axes.legend()
        left.set_ylabel("memory (MB)")

    size_inches = (9.6, 3.8)

    def verdict(self, rows: Rows) -> str:
        sizes = dict.fromkeys(row["subscriptions"] for row in rows)
        top = [size for size in sizes if set(_COUNTING) <= at_size(rows, size, "association_bytes").keys()][-1]
        each = {label: _each(rows, top, name, column) or 0.0 for label, (name, column) in _FILLED.items()}
        pure = each["lists"] < each["bits"]
        both = each["bits"] < each["lists with removal"]
        resident = {name: value / 1e6 for name, value in at_size(rows, top, "resident_bytes").items()}
        told = ", ".join(f"{name} {shown(mb)}" for name, mb in resident.items())
        whole = resident.get("counting-bits", 0.0) < resident.get("counting-lists", 0.0)
        return (
            f"By filled bytes at {shown(top)} subscriptions it {'holds' if pure and both else 'does not hold'}: lists "
            f"{shown(each['lists'])}, bits {shown(each['bits'])}, lists with removal "
            f"{shown(each['lists with removal'])}, the byte matrix {shown(each['matrix'])} bytes each (the paper's "
            f"bits: 52). In resident megabytes ({told}) the bit matrix is {'still' if whole else 'no longer'} below "
            "lists; keys, counts and predicates by row, which each of the three keeps beside its table, count there "
            "too."
        )


_FILLED: Mapping[str, tuple[str, str]] = {
    "matrix": ("counting-matrix", "association_bytes"),
    "bits": ("counting-bits", "association_bytes"),
    "lists": ("counting-lists", "association_bytes"),
    "lists with removal": ("counting-lists", "with_removal"),
}


def _each(rows: Rows, size: Cell, algorithm: str, column: str) -> float | None:
    """Filled bytes per subscription."""
    found = where(rows, subscriptions=size, algorithm=algorithm)
    if not found:
        return None
    row = found[0]
    extra = number(row, "removal_bytes") if column == "with_removal" else 0.0
    return (number(row, "association_bytes") + extra) / number(row, "subscriptions")


def _kb(count: Cell) -> str:
    return "–" if count is None else shown(round(float(count) / 1e3))


_Kept = Callable[[], dict[str, Cell]]


def _load_matcher(algorithm: str, size: int) -> _Kept:
    """The load, slice by slice, so that the predicates of one slice at a time stand beside it."""
    matcher = MATCHERS[algorithm](_LOAD.schema(), **({} if algorithm.startswith("sql") else {"index": "table"}))
    with quiet_collector():
        for start in range(0, size, _SLICE):
            matcher.add(entries_between(_LOAD, start, min(start + _SLICE, size)))
    matcher.match(_LOAD.schema().event(_LOAD.events(1, SEED).to_pylist()[0]))

    def kept() -> dict[str, Cell]:
        stats = matcher.stats()
        return {"stats_bytes": stats.bytes, **stats.details}

    return kept


def _load_engine(algorithm: str, size: int) -> _Kept:
    engine: Engine[int] = Engine(_LOAD.schema(), algorithm=algorithm, wait=True)
    with quiet_collector():
        for start in range(0, size, _SLICE):
            engine.subscribe_many(_LOAD.subscriptions(min(start + _SLICE, size), SEED, start=start))
    engine.match_many(_LOAD.events(1, SEED))
    return lambda: {"stats_bytes": engine.stats()["bytes"]}


EXPERIMENT = _Figure4()
