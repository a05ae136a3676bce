"""Running an experiment: each point that is not there yet is measured, alone if memory matters, and kept at once."""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tamis.errors import OptionError, TamisError
from tamis.experiments import find_experiment
from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale
from tamis.experiments.frame.plots import has_plots, save_picture
from tamis.experiments.frame.results import Results

__all__ = ["run", "summary"]


def run(experiment: Experiment, scale: Scale, folder: Path) -> str:
    """Measure what is missing, draw, and say what came out."""
    results = Results(experiment, scale, folder, _tell)
    points = experiment.points(scale)
    missing = [point for point in points if not results.has(point)]
    if len(missing) < len(points):
        _tell(f"{experiment.name}: {len(points) - len(missing)} of {len(points)} points are there already")
    for at, point in enumerate(missing, 1):
        _show(f"{experiment.name}: {at} of {len(missing)}, {', '.join(f'{k} {v}' for k, v in point.items())}")
        results.add(point, _alone(experiment, point) if experiment.alone else experiment.measure(point))
    _show("")
    rows = [row for row in results.done if any(all(row[k] == v for k, v in point.items()) for point in points)]
    lines = [summary(experiment, rows, results.provenance.commit, results.provenance.machine), f"{results.path}"]
    if has_plots():
        lines += [str(path) for path in save_picture(experiment, rows, folder)]
    else:
        lines.append("no picture: that needs matplotlib; run: pip install 'tamis[experiments]'")
    return "\n".join(lines)


def summary(experiment: Experiment, rows: Rows, commit: str, machine: str) -> str:
    """Tables and verdict as they stand on a terminal."""
    tables = [table.as_text() for table in experiment.tables(rows)]
    loads = [float(row["load"] or 0) for row in rows]
    origin = f"commit {commit}, {machine}, load {min(loads):.1f} to {max(loads):.1f}"
    return "\n\n".join([f"{experiment.title}: {experiment.shows}", *tables, experiment.verdict(rows), origin])


def _alone(experiment: Experiment, point: Point) -> dict[str, Cell]:
    """In a process of its own, which is given the experiment's name and the point."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(theirs, experiment.name, dict(point)))
    process.start()
    theirs.close()
    try:
        found: Any = ours.recv()
    except EOFError:
        found = None
    process.join()
    if found is None:
        raise OptionError(
            f"{experiment.name}: the process that measured {dict(point)} ended with code {process.exitcode} and no "
            "answer; -9 is mostly a lack of memory: take a smaller scale"
        )
    if isinstance(found, TamisError):
        raise found
    measured: dict[str, Cell] = found
    return measured


def _measure(answer: Connection, name: str, point: dict[str, Cell]) -> None:
    try:
        answer.send(find_experiment(name).measure(point))
    except TamisError as error:
        answer.send(OptionError(str(error)))


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _show(line: str) -> None:
    """How far it is, on a terminal; in a pipe nothing."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
