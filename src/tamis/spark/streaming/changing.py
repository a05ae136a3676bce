"""Subscriptions as a stream of changes, applied to an index by a query of its own."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError, WriteConflict
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import IndexPath, check_frame, path_text
from tamis.spark.steps.indexing import Commit, subscriptions_of
from tamis.spark.steps.updating import update
from tamis.spark.streaming.running import Stream

__all__ = ["ChangeReport", "stream_changes"]

_ATTEMPTS = 4
_WAIT_S = 0.2
_LAST = "_last"


@dataclass(frozen=True)
class ChangeReport:
    """A micro-batch of changes: how many ids it had, how many could not be read, the version that has the others."""

    batch: int
    changes: int
    rejected: int
    version: int | None
    seconds: float


def stream_changes(
    changes: DataFrame,
    path: IndexPath,
    checkpoint: IndexPath,
    *,
    order: str | None = None,
    once: bool = False,
    every: str | None = None,
) -> Stream[ChangeReport]:
    """Start applying a stream of changes (`id`, `expression`, null to delete) to the index, a version per micro-batch.

    Of several changes to one id in a batch the last counts, by the column `order`; without one they are rejected. A
    batch that comes again after a restart makes a version that says the same: let one stream at a time write an index.
    """
    check_frame(changes, "changes")
    if not changes.isStreaming:
        raise OptionError("stream_changes: expected a stream of changes, found a batch; call update")
    subscriptions_of(changes)
    if order is not None and order not in changes.columns:
        raise OptionError(f"order: expected one of the columns {', '.join(changes.columns)}, found {order!r}")
    if once and every is not None:
        raise OptionError("stream_changes: expected once or every, found both")
    work = _ChangeWork(path_text(path), order)
    return Stream(changes, work, path_text(checkpoint), None if once else every or "0 seconds")


class _ChangeWork:
    def __init__(self, path: str, order: str | None) -> None:
        self._path = path
        self._order = order
        self.stopping = threading.Event()

    def do(self, frame: DataFrame, number: int) -> ChangeReport:
        start = time.monotonic()
        last = self._last(frame).persist()
        try:
            with told():
                count = last.count()
            done = self._apply(last) if count else None
        finally:
            last.unpersist()
        seconds = time.monotonic() - start
        rejected, version = (0, None) if done is None else (done.rejected, done.version)
        return ChangeReport(number, count, rejected, version, seconds)

    def _last(self, frame: DataFrame) -> DataFrame:
        if self._order is None:
            return frame.select(ID, EXPRESSION)
        latest_first = Window.partitionBy(ID).orderBy(F.col(self._order).desc())
        ranked = frame.withColumn(_LAST, F.row_number().over(latest_first))
        return ranked.filter(F.col(_LAST) == 1).select(ID, EXPRESSION)

    def _apply(self, changes: DataFrame) -> Commit:
        """Whoever else writes may go first."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return update(self._path, changes)
            except WriteConflict:
                self.stopping.wait(_WAIT_S)
        return update(self._path, changes)
