"""Results on disk: a CSV per experiment, written point by point, so that a run goes on where it was ended.

The first line says where the numbers come from, as JSON after a `#`. A file that comes from elsewhere (another
machine, commit, seed or scale) is not added to. A last line without its end is what a killed run leaves: it is told,
dropped and measured again. Any other line that does not fit is a mistake that the user hears of.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from tamis.errors import OptionError
from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale
from tamis.experiments.frame.provenance import Provenance, here, load_average

__all__ = ["Results", "read_results"]

_Tell = Callable[[str], object]


class Results:
    """The rows of one experiment in a folder; `done` are those that are there already."""

    def __init__(self, experiment: Experiment, scale: Scale, folder: Path, tell: _Tell) -> None:
        self.provenance = here(experiment.name, scale)
        self.path = folder / f"{experiment.name}.csv"
        self._columns = [*experiment.points(scale)[0], *experiment.columns, "load"]
        folder.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._take_up(tell)
        else:
            self._begin()

    def _begin(self) -> None:
        """Whole from the first moment: a new name for a complete beginning."""
        fresh = self.path.with_suffix(".csv.new")
        fresh.write_text(f"# {json.dumps(asdict(self.provenance))}\n{','.join(self._columns)}\n", encoding="utf-8")
        fresh.replace(self.path)
        self.done: list[Mapping[str, Cell]] = []

    def _take_up(self, tell: _Tell) -> None:
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            tell(f"{self.path}: the last line is torn, as a run that was killed leaves it; its point is measured again")
            with self.path.open("r+", encoding="utf-8") as file:
                file.truncate(len(whole.encode()))
        provenance, columns, self.done = _parsed(self.path, whole)
        for name, ours in asdict(self.provenance).items():
            if (theirs := getattr(provenance, name)) != ours:
                raise OptionError(
                    f"{self.path} has results of another {name} ({theirs}, here {ours}), which are not mixed with "
                    "new ones: name another folder, or remove the file to begin anew"
                )
        if columns != self._columns:
            raise OptionError(f"{self.path}: expected the columns {','.join(self._columns)}, found {','.join(columns)}")

    def has(self, point: Point) -> bool:
        return any(all(row[name] == value for name, value in point.items()) for row in self.done)

    def add(self, point: Point, found: Point) -> None:
        """Append a row; it is on disk when this returns."""
        row = {**point, **found, "load": load_average()}
        if list(row) != self._columns:
            raise AssertionError(f"{self.path.stem}: measured {list(row)}, promised {self._columns}")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(list(row.values())))
            file.flush()
            os.fsync(file.fileno())
        self.done.append(row)


def read_results(path: Path) -> tuple[Provenance, Rows]:
    """A file of results, whole."""
    provenance, _, rows = _parsed(path, path.read_text(encoding="utf-8"))
    return provenance, rows


def _line(cells: list[Cell]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _parsed(path: Path, text: str) -> tuple[Provenance, list[str], list[Mapping[str, Cell]]]:
    first, _, rest = text.partition("\n")
    try:
        provenance = Provenance(**json.loads(first.removeprefix("# ")))
    except (TypeError, ValueError):
        raise OptionError(f"{path}: expected results of an experiment, found a first line that is not ours") from None
    lines = list(csv.reader(io.StringIO(rest)))
    if not lines:
        raise OptionError(f"{path}: line 2 should name the columns, but the file ends")
    columns, *cells = lines
    for at, line in enumerate(cells, 3):
        if len(line) != len(columns):
            raise OptionError(
                f"{path}: line {at} is broken, with {len(line)} cells in place of {len(columns)}: "
                "remove the line to measure its point again"
            )
    return provenance, columns, [dict(zip(columns, map(_cell, line), strict=True)) for line in cells]


def _cell(text: str) -> Cell:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
