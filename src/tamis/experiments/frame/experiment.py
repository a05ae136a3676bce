"""What an experiment is: points to measure, one row each; and what is made of the rows: tables, a picture, a verdict.

Nothing but `measure` takes a clock in its hand. The rest is made of rows, and can be made again from a CSV at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

from tamis.experiments.frame.tables import Table
from tamis.workloads.slices import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SCALES",
    "SEED",
    "Cell",
    "Experiment",
    "Point",
    "Rows",
    "Scale",
    "at_size",
    "column",
    "number",
    "tall",
    "where",
]

Cell: TypeAlias = str | int | float | None
"""None is what could not be measured, or was not."""
Point: TypeAlias = Mapping[str, Cell]
Rows: TypeAlias = Sequence[Mapping[str, Cell]]
Scale: TypeAlias = Literal["test", "small", "paper", "max"]

SCALES: tuple[Scale, ...] = get_args(Scale)
"""`test` takes seconds, `small` a minute or two, `paper` has the original sizes, `max` what one machine can hold."""

SEED = 1
"""Of all workloads in all experiments."""


class Experiment(ABC):
    """One table or figure of a paper. `claims` is what the paper says, `choices` what it leaves open and we chose."""

    name: ClassVar[str]
    title: ClassVar[str]
    shows: ClassVar[str]
    claims: ClassVar[str]
    choices: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    """What `measure` finds, in the order of the CSV."""
    alone: ClassVar[bool] = False
    """Each point in a process of its own: memory is measured."""
    size_inches: ClassVar[tuple[float, float]] = (6.4, 4.2)

    @abstractmethod
    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        """What is measured, in this order; all have the same keys."""

    @abstractmethod
    def measure(self, point: Point) -> dict[str, Cell]:
        """One value per column."""

    @abstractmethod
    def tables(self, rows: Rows) -> list[Table]: ...

    @abstractmethod
    def draw(self, rows: Rows, figure: Figure) -> None: ...

    @abstractmethod
    def verdict(self, rows: Rows) -> str:
        """Does the paper's conclusion hold, here and today? One honest sentence, made of the rows."""

    def loads(self, scale: Scale) -> list[tuple[Workload, int, Workload, int]]:
        """Subscriptions (workload and how many) and events (the same) that Spark can make and answer; none if the
        experiment is not about answers."""
        return []


def where(rows: Rows, **wanted: Cell) -> list[Mapping[str, Cell]]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def number(row: Mapping[str, Cell], name: str) -> float:
    """A cell that must be a number."""
    value = row[name]
    assert isinstance(value, int | float), f"{name} is {value!r}"
    return float(value)


def column(rows: Rows, name: str) -> list[float]:
    """The numbers of a column, those that were not measured left out."""
    return [number(row, name) for row in rows if row[name] is not None]


def at_size(rows: Rows, size: Cell, name: str) -> dict[str, float]:
    """Algorithm → its value in this column at a number of subscriptions; those that were not measured left out."""
    some = where(rows, subscriptions=size)
    return {str(row["algorithm"]): number(row, name) for row in some if row[name] is not None}


def tall(rows: Rows, names: Mapping[str, str], cell: str) -> list[Mapping[str, Cell]]:
    """A row per column in place of one with all: `names` says under which `algorithm` each column goes."""
    return [{**row, "algorithm": name, cell: row[source]} for row in rows for source, name in names.items()]
