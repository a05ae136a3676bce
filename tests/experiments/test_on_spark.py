"""On Spark the rows and the answers are the same."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tamis.experiments import find_experiment
from tests.experiments.conftest import Ran

pytestmark = pytest.mark.spark


def test_spark_finds_what_was_found_here(spark: object, tmp_path: Path, ran: Ran) -> None:
    from tamis.experiments.frame.on_spark import run_on_spark

    run_on_spark(spark, find_experiment("lesub-fig11"), "test", tmp_path)  # type: ignore[arg-type]

    with (tmp_path / "lesub-fig11-spark.csv").open(encoding="utf-8") as file:
        there = {(row["subscriptions"], row["matches"], row["checksum"]) for row in csv.DictReader(file)}
    here = {(str(row["subscriptions"]), str(row["matches"]), str(row["checksum"])) for row in ran("lesub-fig11")[0]}
    assert there == here
