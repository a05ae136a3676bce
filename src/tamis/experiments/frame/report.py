"""A page of results: what the papers claim, what came out, and where the numbers come from; made of CSVs alone."""

from __future__ import annotations

from pathlib import Path

from tamis.errors import OptionError
from tamis.experiments import EXPERIMENTS, find_experiment
from tamis.experiments.frame.experiment import SCALES, Experiment
from tamis.experiments.frame.results import read_results

__all__ = ["page"]

_HEAD = """# The papers' experiments, redone

Made by `tamis experiments report docs/experiments` from the CSVs in that folder; `tamis experiments run NAME --scale
paper` measures anew. Times are the middle of five repeats; the CSVs have the least and the most, and the machine's load
beside each row. Counters decide before clocks, which are those of another machine and another decade.

A section whose scale is not `paper`, or that did not reach all points, says so in its last line.
"""


def page(folder: Path) -> str:
    """Markdown; pictures are linked as files of the folder, which stands beside the page."""
    found = [find_experiment(name) for name in EXPERIMENTS if (folder / f"{name}.csv").exists()]
    if not found:
        raise OptionError(f"expected results of experiments in {folder}, found none: tamis experiments run makes them")
    return (
        "\n\n".join([_HEAD.strip(), *_without(folder), *[_section(experiment, folder) for experiment in found]]) + "\n"
    )


def _without(folder: Path) -> list[str]:
    missing = [f"`{name}`" for name in EXPERIMENTS if not (folder / f"{name}.csv").exists()]
    return [f"Not run for this page: {', '.join(missing)}."] if missing else []


def _section(experiment: Experiment, folder: Path) -> str:
    origin, rows = read_results(folder / f"{experiment.name}.csv")
    (scale,) = (one for one in SCALES if one == origin.scale)
    wanted = experiment.points(scale)
    there = sum(any(all(row[k] == v for k, v in point.items()) for row in rows) for point in wanted)
    reached = "all points" if there == len(wanted) else f"**{there} of {len(wanted)} points were reached**"
    loads = [float(row["load"] or 0) for row in rows]
    return "\n\n".join(
        [
            f"## {experiment.title}",
            f"`{experiment.name}`: {experiment.shows}.",
            f"**The paper.** {experiment.claims}",
            f"**Our choices.** {experiment.choices}",
            *[table.as_markdown() for table in experiment.tables(rows)],
            f"![{experiment.title}: {experiment.shows}]({folder.name}/{experiment.name}.svg)",
            f"**Verdict.** {experiment.verdict(rows)}",
            f"Scale `{scale}`, {reached}; seed {origin.seed}, commit {origin.commit}, Python {origin.python}, "
            f"{origin.machine}; load {min(loads):.1f} to {max(loads):.1f}. "
            f"[The rows]({folder.name}/{experiment.name}.csv).",
        ]
    )
