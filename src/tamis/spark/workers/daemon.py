"""Spark's Python daemon with our kernels loaded before it forks: `spark.python.daemon.module`.

Every Python worker is a fork of one daemon per executor. What the daemon has imported and loaded, the workers need not:
each starts a second or two of processor time earlier, and they share the memory of it. A session without this setting
works as well, only slower at first.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark import daemon

from tamis.model import Schema
from tamis.spark.workers import answers, judging
from tamis.spark.workers.event_reading import read_batch
from tamis.spark.workers.segment_store import checksum_of, open_segment, write_segment

__all__ = ["quieten", "warm_up"]

_GONE = (BrokenPipeError, ConnectionResetError)
"""What a worker meets whose answer nobody reads on: a `limit` had enough, or the task was called off."""

_LOADED = (answers, judging)
"""Imported for the workers' sake."""


def warm_up() -> None:
    """Compile, open and ask a segment of a few subscriptions, so that their kernels are loaded. One thread only: a
    fork takes no others along."""
    schema = Schema.loads('attributes = { price = "number", name = "string" }')
    texts = ["price < 10 and name = 'x'", "name = 'y' or price > 3", "name in ('a', 'b')"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "warm.segment")
        write_segment(path, pa.array(["a", "b", "c"]), pa.array(texts), schema, None)
        segment = open_segment(path, checksum_of(path), schema)
        events = pa.array([{"price": 1, "name": "x"}, {"price": 5, "name": None}])
        batch = read_batch(events, pa.array([1, 2]), schema).batch
        segment.count(batch)
        segment.match(batch)


def quieten() -> None:
    """Have Spark's daemon keep to itself that a reader went away: its traceback would say nothing else."""

    def say(*words: Any, **options: Any) -> None:
        if not isinstance(sys.exc_info()[1], _GONE):
            print(*words, **options)

    def show() -> None:
        if not isinstance(sys.exc_info()[1], _GONE):
            traceback.print_exc()

    told = SimpleNamespace(format_exc=traceback.format_exc, print_exc=show)
    vars(daemon).update(print=say, traceback=told)  # the names by which it speaks


if __name__ == "__main__":
    warm_up()
    quieten()
    daemon.manager()
