"""The rows of an experiment made and answered on Spark, for sizes that outgrow one machine: answers, and no timings.

A row depends on its number and the seed alone, so these are the rows that the experiment has elsewhere, and the
checksum is the one that it writes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tamis import spark as ts
from tamis.errors import OptionError
from tamis.experiments.frame.experiment import SEED, Experiment, Scale
from tamis.experiments.frame.loads import Answers
from tamis.experiments.frame.tables import Table, shown
from tamis.workloads.slices import Workload

if TYPE_CHECKING:
    from tamis.spark.running.sessions import SparkSession

__all__ = ["answer_on_spark", "run_on_spark"]

_CHECKSUM = "cast(sum((event_id + 1) * (((subscription_id + 1) * 2654435761) % 2147483648)) as bigint)"


def run_on_spark(spark: SparkSession, experiment: Experiment, scale: Scale, folder: Path) -> str:
    """A CSV of answers, and what it says."""
    loads = experiment.loads(scale)
    if not loads:
        raise OptionError(f"{experiment.name} asks no subscriptions for answers: there is nothing to do on Spark")
    lines = []
    for subscriptions, count, events, many in loads:
        found = answer_on_spark(spark, (subscriptions, count), (events, many))
        lines.append([subscriptions.name, str(count), str(many), *map(str, found)])
    heads = ["workload", "subscriptions", "events", "matches", "checksum"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}-spark.csv"
    path.write_text("\n".join(",".join(line) for line in (heads, *lines)) + "\n", encoding="utf-8")
    table = Table(f"{experiment.title}, answered on Spark, seed {SEED}", heads, [_spelt(line) for line in lines])
    return f"{table.as_text()}\n{path}"


def answer_on_spark(spark: SparkSession, subscriptions: tuple[Workload, int], events: tuple[Workload, int]) -> Answers:
    """How many match, and the sum over all pairs that `answers_of` makes too."""
    load, count = subscriptions
    source, many = events
    with tempfile.TemporaryDirectory(prefix="tamis-experiment-") as place:
        path = f"{place}/index"
        ts.index(ts.generate_subscriptions(spark, load, count, SEED), load.schema(), path)
        found = ts.match(ts.generate_events(spark, source, many, SEED), path)
        (row,) = found.selectExpr("count(*) as matches", f"{_CHECKSUM} as checksum").collect()
    return Answers(row.matches, row.checksum or 0)


def _spelt(line: list[str]) -> list[str]:
    return [shown(int(cell)) if cell.isdigit() else cell for cell in line]
