"""No example has a deadline; one local session serves all quick tests of the pipeline, its commands and its pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The kernels are what is tested; tests/test_first_calls.py has the oracle in their place.
os.environ["TAMIS_WAIT"] = "1"
settings.register_profile("tamis", deadline=None)  # the first example may have to wait for the compiler
settings.load_profile("tamis")

TEST_SETTINGS = {
    # Two partitions show what a shuffle breaks; more only cost tasks on a small machine.
    "spark.sql.shuffle.partitions": "2",
    # Small batches, so that even a small test has several of them.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    # Compiling a query costs more than running it on a few hundred rows.
    "spark.sql.codegen.wholeStage": "false",
    # Fails at once instead of four times: a test that expects an error should not wait for retries.
    "spark.task.maxFailures": "1",
    # Neither is worth its work on small data, and fewer threads start.
    "spark.sql.adaptive.enabled": "false",
    "spark.cleaner.referenceTracking": "false",
    # A zone with a history: whatever depends on the session's zone shows.
    "spark.sql.session.timeZone": "America/Sao_Paulo",
}


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """Start-up takes ten seconds or so, hence once per test process; the JVM ends with the process."""
    from tamis.spark.running.sessions import session

    return session("local[2]", memory="1g", settings=TEST_SETTINGS)


@pytest.fixture
def spark_for_commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The commands find this session running; they say so little because they turn Spark's own log off."""
    # This one first: what it was before is looked up in the other.
    monkeypatch.setattr("tamis.spark.session", lambda *_, **__: spark, raising=False)
    monkeypatch.setattr("tamis.spark.running.sessions.session", lambda *_, **__: spark)
    yield
    spark.sparkContext.setLogLevel("ERROR")
