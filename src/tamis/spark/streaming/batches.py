"""One micro-batch: integrate, validate, match, notify, write; done again, it does the same again.

The version of the index is recorded before anything else. Each output is a job or more of Spark's and is tried again
by itself if it fails: a dead worker, a full table and a lost connection look alike from here.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError, TamisError
from tamis.spark.columns import ARRIVED, EVENT, EVENT_ID, REASON
from tamis.spark.running.failures import told
from tamis.spark.steps.integration import integrate
from tamis.spark.steps.mapping import Mapping
from tamis.spark.steps.matching import match
from tamis.spark.steps.notification import notify
from tamis.spark.steps.validation import is_rejected, judge, split_judged
from tamis.spark.streaming.outputs import BatchKey, FolderJvm, Output, Target, as_output
from tamis.spark.streaming.records import Records, VersionPins
from tamis.spark.streaming.reports import BatchReport, keep_report

if TYPE_CHECKING:
    from tamis.spark.workers.tally import Tally

__all__ = ["BatchWork", "Outputs", "Work"]

_ATTEMPTS = 4
_FIRST_WAIT_S = 0.1
"""Before an output is tried again; ten times as long before each further time."""

_log = logging.getLogger("tamis.spark")
_FILE = re.compile(r"FAILED_READ_FILE.*?reading (?:the )?file:? (\S+?)\.?\s", re.DOTALL)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Outputs:
    """Where a stream's rows go; what has no place is not made. A place is a folder, the URL of a database or a function
    of a DataFrame and the batch's number.

    `notifications` takes `people`: the subscriptions with who asked and how to reach them, as `notify` wants them, or a
    function that reads them anew for each batch. `set_aside` is a folder for files that cannot be read; without one,
    such a file stops the stream.
    """

    matches: Target | None = None
    rejected: Target | None = None
    notifications: Target | None = None
    people: DataFrame | Callable[[], DataFrame] | None = None
    set_aside: str | None = None

    def __post_init__(self) -> None:
        if not self.written():
            raise OptionError("outputs: expected a place for matches, rejected or notifications, found none")
        if (self.notifications is None) != (self.people is None):
            raise OptionError("outputs: expected notifications and people together: a place, and whom to tell")

    def written(self) -> dict[str, Output]:
        """The places of rows, by what goes there."""
        names = [one.name for one in fields(self) if one.name not in ("people", "set_aside")]
        places = {name: getattr(self, name) for name in names}
        return {name: as_output(name, place) for name, place in places.items() if place is not None}

    def told(self) -> DataFrame:
        """The people, as they are now."""
        assert self.people is not None
        return self.people if isinstance(self.people, DataFrame) else self.people()


@dataclass(frozen=True)
class Work:
    """What is done with each batch."""

    index: str
    outputs: Outputs
    mapping: Mapping | None = None
    plan: str = "auto"
    tally: Tally | None = None
    on_batch: Callable[[BatchReport], object] | None = None


@dataclass
class _Batch:
    """What is known of a batch while it is worked on."""

    key: BatchKey
    version: int
    counts: dict[str, int | None] = field(default_factory=dict)
    retries: int = 0


class BatchWork:
    """What `foreachBatch` calls."""

    def __init__(self, work: Work, checkpoint: str) -> None:
        self._work = work
        self._records = Records(checkpoint)
        self._pins = VersionPins(self._records, checkpoint, work.index)
        self._written = work.outputs.written()
        self.stopping = threading.Event()

    def do(self, frame: DataFrame, number: int) -> BatchReport:
        """All of a batch. What it raises ends the query, and the batch will come again."""
        start = time.monotonic()
        manifest = self._pins.version(number)
        batch = _Batch(BatchKey(self._records.stream, number), manifest.version)
        judged = judge(self._events(frame, number), manifest.schema).persist()
        try:
            with told():
                events, rejected, arrived = self._look(judged, batch)
                if events or self._aside(number):
                    self._write(judged, batch, rejected)
        finally:
            judged.unpersist()
        now = time.time()
        done = BatchReport(
            batch=number,
            version=manifest.version,
            events=events,
            rejected=rejected,
            matches=batch.counts.get("matches", None if events else 0),
            notifications=batch.counts.get("notifications", None if events else 0),
            set_aside=len(self._aside(number)),
            retries=batch.retries,
            seconds=time.monotonic() - start,
            lag_seconds=None if arrived is None else max(0.0, now - arrived),
            ended_at=now,
        )
        keep_report(self._records, done)
        if self._work.on_batch is not None:
            self._work.on_batch(done)
        return done

    def _events(self, frame: DataFrame, number: int) -> DataFrame:
        """Ids that nobody gave are made of the batch and the row: a batch that comes again has the same."""
        mapping = self._work.mapping
        events = frame if mapping is None else integrate(frame, mapping)
        if EVENT_ID in events.columns and (mapping is None or mapping.event_id is not None):
            made = F.concat(F.lit(f"{number}-"), F.monotonically_increasing_id())
            id = events.schema[EVENT_ID].dataType.simpleString()
            return events if id != "string" else events.withColumn(EVENT_ID, F.coalesce(EVENT_ID, made))
        return events.withColumn(EVENT_ID, F.concat(F.lit(f"{number}-"), F.monotonically_increasing_id()))

    # -- reading -----------------------------------------------------------------------------------------------------

    def _look(self, judged: DataFrame, batch: _Batch) -> tuple[int, int, float | None]:
        """Events, how many of them are rejected, when the first arrived. This reads them all, once."""
        arrived = F.min(ARRIVED).cast("double") if ARRIVED in judged.columns else F.lit(None).cast("double")
        asked = judged.agg(F.count(F.lit(1)), F.count_if(is_rejected()), arrived)
        row = self._retried("events", lambda: asked.collect()[0], batch)
        return int(row[0]), int(row[1]), row[2]

    def _aside(self, number: int) -> list[dict[str, Any]]:
        """Files that this batch could not read, now or when it was last tried."""
        found = self._records.read(f"aside/{number}")
        return [] if found is None else list(found["files"])

    def _set_aside(self, error: Exception, number: int) -> bool:
        """Move the file that could not be read out of the way, and note it first; False if it is no such error."""
        named = _FILE.search(str(error) + " ")
        if named is None or self._work.outputs.set_aside is None:
            return False
        file, known = named[1], self._aside(number)
        reason = f"{file}: expected a file that can be read; it was moved to {self._work.outputs.set_aside}"
        if file not in [one["file"] for one in known]:
            self._records.write(f"aside/{number}", {"files": [*known, {"file": file, "reason": reason}]})
        folder = FolderJvm(SparkSession.active(), self._work.outputs.set_aside)
        _log.warning("batch %d: %s", number, reason)
        return folder.take_in(file, f"{number}-{file.rpartition('/')[2]}")

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write(self, judged: DataFrame, batch: _Batch, rejected: int) -> None:
        valid, refused = split_judged(judged)
        aside = self._aside(batch.key.number)
        if rejected or aside:
            self._put("rejected", lambda: _with_files(refused, aside), batch)
        work = self._work
        matches = match(
            valid.select(EVENT_ID, EVENT),
            work.index,
            version=batch.version,
            plan=work.plan,
            tally=work.tally,
            validated=True,
        )
        several = "notifications" in self._written and "matches" in self._written
        matches = matches.persist() if several else matches
        try:
            self._put("matches", lambda: matches, batch)
            self._put("notifications", lambda: notify(matches, work.outputs.told()), batch)
        finally:
            if several:
                matches.unpersist()

    def _put(self, name: str, rows: Callable[[], DataFrame], batch: _Batch) -> None:
        output = self._written.get(name)
        if output is not None:
            batch.counts[name] = self._retried(name, lambda: output.write(rows(), batch.key), batch)

    def _retried(self, name: str, attempt: Callable[[], _T], batch: _Batch) -> _T:
        """Again, if it fails: what it writes takes its own place. Our own errors would come again."""
        wait, tried = _FIRST_WAIT_S, 0
        while True:
            try:
                return attempt()
            except TamisError:
                raise
            except Exception as error:  # outputs are anybody's
                aside = self._set_aside(error, batch.key.number)
                tried += 0 if aside else 1
                if tried == _ATTEMPTS or self.stopping.is_set():
                    raise
                batch.retries += 1
                first = str(error).strip().split("\n")[0]
                _log.warning("batch %d, %s: tried again after: %s", batch.key.number, name, first)
            if not aside:
                self.stopping.wait(wait)
                wait *= 10


def _with_files(rejected: DataFrame, aside: list[dict[str, Any]]) -> DataFrame:
    if not aside:
        return rejected
    files = rejected.sparkSession.createDataFrame([(one["reason"],) for one in aside], f"{REASON} string")
    return rejected.unionByName(files, allowMissingColumns=True)
