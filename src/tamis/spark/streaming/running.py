"""A stream: events of any source against an index that lives, exactly once into folders and tables."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.streaming.query import StreamingQuery

from tamis.errors import JobError, OptionError
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import IndexPath, check_frame, check_type, path_text
from tamis.spark.steps.mapping import Mapping
from tamis.spark.steps.matching import check_plan
from tamis.spark.streaming.batches import BatchWork, Outputs, Work
from tamis.spark.streaming.reports import BatchReport
from tamis.spark.workers.tally import Tally

__all__ = ["Stream", "stream"]

_EVERY_S = 0.2
_LAST_REPORTS = 100


def stream(
    events: DataFrame,
    path: IndexPath,
    checkpoint: IndexPath,
    outputs: Outputs,
    *,
    mapping: Mapping | None = None,
    once: bool = False,
    every: str | None = None,
    plan: str = "auto",
    tally: Tally | None = None,
    on_batch: Callable[[BatchReport], object] | None = None,
) -> Stream[BatchReport]:
    """Start matching a stream of events, or of a feed if there is a `mapping`, against the index at `path`.

    Each micro-batch is matched against the newest version that is whole, which is recorded in the checkpoint before
    the batch is worked on; a batch that comes again after a restart is matched against that version again, and what it
    writes takes the place of what it wrote. `once` takes what is there and ends; else a batch is begun `every` so often
    ("10 seconds"), or when the one before is done. `on_batch` is told of each.
    """
    check_frame(events, "events")
    check_type(outputs, Outputs, "outputs")
    check_plan(plan)
    if not events.isStreaming:
        raise OptionError("stream: expected a stream of events, found a batch; call match, or read with readStream")
    if once and every is not None:
        raise OptionError("stream: expected once or every, found both")
    checkpoint = path_text(checkpoint)
    work = BatchWork(Work(path_text(path), outputs, mapping, plan, tally, on_batch), checkpoint)
    return Stream(events, work, checkpoint, None if once else every or "0 seconds")


class _Ended(Exception):
    """Raised in a batch that is not to begin."""


class Report(Protocol):
    """What is known of a batch that was done: its number at least."""

    @property
    def batch(self) -> int: ...


_R = TypeVar("_R", bound=Report)
_R_co = TypeVar("_R_co", bound=Report, covariant=True)


class Worker(Protocol[_R_co]):
    """What is done with each batch; it may look whether it is to end."""

    stopping: threading.Event

    def do(self, frame: DataFrame, number: int) -> _R_co: ...


class Stream(Generic[_R]):
    """A stream that runs. `query` is Spark's own."""

    def __init__(self, events: DataFrame, work: Worker[_R], checkpoint: str, every: str | None) -> None:
        self._work = work
        self._busy = threading.Lock()
        self._thread: int | None = None
        self._reports: deque[_R] = deque(maxlen=_LAST_REPORTS)
        # Counted in the plan as well, so that Spark's progress events tell it.
        seen = events.observe("tamis", F.count(F.lit(1)).alias("events"))
        writer = seen.writeStream.foreachBatch(self._batch).option("checkpointLocation", checkpoint)
        with told():
            timed = writer.trigger(availableNow=True) if every is None else writer.trigger(processingTime=every)
            self.query: StreamingQuery = timed.start()

    def _batch(self, frame: DataFrame, number: int) -> None:
        with self._busy:
            if self._work.stopping.is_set():
                raise _Ended
            self._thread = threading.get_ident()
            try:
                self._reports.append(self._work.do(frame, number))
            finally:
                self._thread = None  # numbers of threads are given again

    @property
    def reports(self) -> Sequence[_R]:
        """Of the last hundred batches since the start; `batch_reports` has more."""
        return tuple(self._reports)

    def wait(self, timeout: float | None = None) -> bool:
        """Until the stream has ended, or for so many seconds; whether it has. `JobError` if it failed."""
        try:
            with told():
                if timeout is None:
                    self.query.awaitTermination()
                    return True
                return bool(self.query.awaitTermination(timeout))  # type: ignore[arg-type]  # parts of seconds will do
        except JobError:
            if self._work.stopping.is_set() and self._only_ended():
                return True
            raise

    def stop(self) -> None:
        """End when the batch that is being worked on is done, and noted as done. Batches are not interrupted. Called
        by what works on a batch, as `on_batch` is, this only asks for it."""
        self._work.stopping.set()
        if self._thread == threading.get_ident():
            return
        with self._busy:  # from here on no batch begins
            last = self._reports[-1].batch if self._reports else None
        while self.query.isActive and not self._noted(last):
            if self.wait(_EVERY_S):  # a batch that was not to begin may end it before the one before it is noted
                break
        self.query.stop()
        self.wait()

    def _noted(self, last: int | None) -> bool:
        progress = self.query.lastProgress
        return last is None or (progress is not None and progress["batchId"] >= last)

    def _only_ended(self) -> bool:
        failure: StreamingQueryException | None = self.query.exception()
        return failure is None or _Ended.__name__ in str(failure)
