"""What was done, batch by batch: a table, and a line to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from pyspark.sql import DataFrame, SparkSession

from tamis.spark.steps.arguments import IndexPath, path_text
from tamis.spark.streaming.records import Records

__all__ = ["BatchReport", "batch_reports", "keep_report"]


@dataclass(frozen=True)
class BatchReport:
    """One micro-batch. Counts that nobody knows, as of a function's rows, are None."""

    batch: int
    version: int
    events: int
    rejected: int
    matches: int | None
    notifications: int | None
    set_aside: int
    """Files that could not be read."""
    retries: int
    seconds: float
    lag_seconds: float | None
    """From the arrival of the oldest event until the batch was done, where events have a time of arrival."""
    ended_at: float
    """Seconds since 1970, in UTC."""

    @property
    def events_per_second(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0

    def line(self) -> str:
        """As a terminal shows it."""
        found = "–" if self.matches is None else f"{self.matches:,}"
        parts = [
            f"batch {self.batch}: {self.events:,} events",
            f"{self.rejected:,} rejected",
            f"{found} matches",
            f"version {self.version}",
            f"{self.events_per_second:,.0f} events/s",
        ]
        parts += [f"lag {self.lag_seconds:.1f} s"] if self.lag_seconds is not None else []
        parts += [f"{self.set_aside} files set aside"] if self.set_aside else []
        parts += [f"{self.retries} retries"] if self.retries else []
        return ", ".join(parts)


_DDL = (
    "batch long, version long, events long, rejected long, matches long, notifications long, set_aside long, "
    "retries long, seconds double, lag_seconds double, ended_at double"
)
_FOLDER = "batches"


def keep_report(records: Records, report: BatchReport) -> None:
    """A batch that is done again reports anew."""
    records.write(f"{_FOLDER}/{report.batch}", asdict(report))
    records.forget(_FOLDER, report.batch)


def batch_reports(checkpoint: IndexPath) -> DataFrame:
    """A row for each of the last 10,000 micro-batches of the stream with this checkpoint."""
    records = Records(path_text(checkpoint))
    found = [records.read(f"{_FOLDER}/{number}") for number in records.numbers(_FOLDER)]
    names = [one.name for one in fields(BatchReport)]
    rows = [tuple(one[name] for name in names) for one in found if one is not None]
    return SparkSession.active().createDataFrame(rows, _DDL)
