"""Counters of a matching job: what its workers did, known as their tasks end.

They are Spark's accumulators. A task that fails counts nothing; one that Spark runs again after it had succeeded,
because what it made was lost, counts again.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

__all__ = ["LocalTally", "Tally"]


class Tally:
    """Give one to `match`; read it while the job runs or afterwards. Several jobs add up.

    A segment is *asked* about an event, or *skipped* because nothing in it can match the event.
    """

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._events, self._matches = context.accumulator(0), context.accumulator(0)
        self._asked, self._skipped = context.accumulator(0), context.accumulator(0)
        self._opened = context.accumulator(0)

    def add(self, events: int = 0, matches: int = 0, asked: int = 0, skipped: int = 0, opened: int = 0) -> None:
        """In a worker."""
        self._opened.add(opened)
        self._events.add(events)
        self._matches.add(matches)
        self._asked.add(asked)
        self._skipped.add(skipped)

    @property
    def events(self) -> int:
        """Events that were matched."""
        return self._events.value

    @property
    def matches(self) -> int:
        return self._matches.value

    @property
    def asked(self) -> int:
        """Pairs of an event and a segment that was asked about it."""
        return self._asked.value

    @property
    def skipped(self) -> int:
        """Pairs of an event and a segment that could be left out."""
        return self._skipped.value

    @property
    def opened(self) -> int:
        """Segments that a worker had to open: none, where it had them open already."""
        return self._opened.value

    def __repr__(self) -> str:
        return f"Tally(events={self.events}, matches={self.matches}, asked={self.asked}, skipped={self.skipped})"


@dataclass
class LocalTally:
    """As `Tally`, for what this process does itself."""

    events: int = 0
    matches: int = 0
    asked: int = 0
    skipped: int = 0
    opened: int = 0

    def add(self, events: int = 0, matches: int = 0, asked: int = 0, skipped: int = 0, opened: int = 0) -> None:
        self.opened += opened
        self.events, self.matches = self.events + events, self.matches + matches
        self.asked, self.skipped = self.asked + asked, self.skipped + skipped
