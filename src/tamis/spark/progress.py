"""A line on the terminal while Spark works: tasks done, rows in and out, seconds. Silent in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["progress"]

_EVERY_S = 0.5


@contextmanager
def progress(spark: SparkSession, what: str) -> Iterator[None]:
    """Show how far the jobs started within have come."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, what, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _watch(spark: SparkSession, what: str, done: threading.Event) -> None:
    start = time.monotonic()
    while not done.wait(_EVERY_S):
        print(f"\r\x1b[K{_line(spark, what, time.monotonic() - start)}", end="", file=sys.stderr, flush=True)


def _line(spark: SparkSession, what: str, seconds: float) -> str:
    """Rows are known as of the executors' last heartbeat."""
    context: Any = spark.sparkContext
    tasks, finished, rows_in, rows_out = 0, 0, 0, 0
    stages = context._jsc.sc().statusStore().activeStages().iterator()
    while stages.hasNext():
        stage = stages.next()
        tasks, finished = tasks + stage.numTasks(), finished + stage.numCompleteTasks()
        rows_in, rows_out = rows_in + stage.inputRecords(), rows_out + stage.outputRecords()
    bar = "█" * (20 * finished // max(tasks, 1))
    rows = f"{rows_in / seconds:,.0f} rows/s in, {rows_out:,} rows out"
    return f"{what} {bar:░<20} {finished}/{tasks} tasks, {rows}, {seconds:.0f} s"
