"""A line on the terminal while Spark works: tasks, events per second and matches, seconds. Silent in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from pyspark.sql import SparkSession

from tamis.spark.workers.tally import LocalTally, Tally

__all__ = ["progress", "progress_here"]

_EVERY_S = 0.5
_CLEAR = "\r\x1b[K"


def progress(spark: SparkSession, what: str, tally: Tally | None = None) -> AbstractContextManager[None]:
    """Show how far the jobs started within have come: by the tally if there is one, else by rows read and written."""
    return _shown(lambda seconds: _line(spark, what, tally, seconds))


def progress_here(what: str, tally: LocalTally) -> AbstractContextManager[None]:
    """The same for a job in this process."""
    return _shown(lambda seconds: f"{what} {_done(tally, seconds)}, {seconds:.0f} s")


@contextmanager
def _shown(line: Callable[[float], str]) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(line, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def _watch(line: Callable[[float], str], done: threading.Event) -> None:
    """The last line stands when all is done, so that even a short job has one."""
    start, last = time.monotonic(), False
    while not last:
        last = done.wait(_EVERY_S)
        print(f"{_CLEAR}{line(time.monotonic() - start)}", end="", file=sys.stderr, flush=True)


def _line(spark: SparkSession, what: str, tally: Tally | None, seconds: float) -> str:
    """A tally is known as tasks end, rows as of the executors' last heartbeat."""
    context: Any = spark.sparkContext
    tasks, finished, rows_in, rows_out = 0, 0, 0, 0
    stages = context._jsc.sc().statusStore().activeStages().iterator()
    while stages.hasNext():
        stage = stages.next()
        tasks, finished = tasks + stage.numTasks(), finished + stage.numCompleteTasks()
        rows_in, rows_out = rows_in + stage.inputRecords(), rows_out + stage.outputRecords()
    bar = "█" * (20 * finished // max(tasks, 1))
    done = f"{rows_in / seconds:,.0f} rows/s in, {rows_out:,} rows out"
    if tally is not None:
        done = _done(tally, seconds)
    return f"{what} {bar:░<20} {finished}/{tasks} tasks, {done}, {seconds:.0f} s"


def _done(tally: Tally | LocalTally, seconds: float) -> str:
    return f"{tally.events / max(seconds, 1e-3):,.0f} events/s, {tally.matches:,} matches"
