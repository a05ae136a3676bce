"""Tables: on the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Table", "pivot", "shown"]

_Cell = str | int | float | None


class Table(NamedTuple):
    caption: str
    headers: Sequence[str]
    lines: Sequence[Sequence[str]]

    def as_text(self) -> str:
        """Columns side by side, the first one left, numbers right."""
        widths = [max(map(len, column)) for column in zip(self.headers, *self.lines, strict=True)]
        lines = [_spaced(line, widths) for line in (self.headers, *self.lines)]
        return "\n".join([self.caption, *lines])

    def as_markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.headers) - 1)]
        lines = ["| " + " | ".join(line) + " |" for line in (self.headers, rule, *self.lines)]
        return "\n".join([f"*{self.caption}*", "", *lines])


def _spaced(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
    return "  ".join([line[0].ljust(len(first)), *rest]).rstrip()


def shown(value: _Cell) -> str:
    """Numbers with three digits that count, thousands set apart; a dash for what was not measured."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000 or value == 0:
        return f"{round(value):,}"
    return f"{value:.3g}"


def pivot(
    caption: str,
    rows: Sequence[Mapping[str, _Cell]],
    *,
    down: str,
    across: str,
    cell: str | Callable[[Mapping[str, _Cell]], str],
) -> Table:
    """A line per value of `down`, a column per value of `across`, both in the order in which they come."""
    heads = list(dict.fromkeys(row[across] for row in rows))
    found = {(row[down], row[across]): cell(row) if callable(cell) else shown(row[cell]) for row in rows}
    lines = [
        [shown(first), *[found.get((first, head), "–") for head in heads]]
        for first in dict.fromkeys(row[down] for row in rows)
    ]
    return Table(caption, [down, *map(shown, heads)], lines)
