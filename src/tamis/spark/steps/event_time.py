"""Event time: what came twice, and who is told too often. Spark's own state, in the plan, in RocksDB.

State belongs to a query: in `foreachBatch`, and so in `ts.stream`, there is none. A stream that needs it reads with
`format("tamis")`, whose rows carry the version to match against, and stays one plan.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from tamis.errors import OptionError
from tamis.spark.columns import EVENT_ID, SUBSCRIPTION_ID
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import check_frame

__all__ = ["ROCKS_DB", "STATE_STORE", "deduplicate", "throttle"]

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_DELAY = "spark.watermarkDelayMs"
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def deduplicate(events: DataFrame, time: str, within: str) -> DataFrame:
    """A stream of events without those whose `event_id` came before, not longer ago than `within` ("10 minutes") by
    the column `time`."""
    return _first(events, time, within, EVENT_ID, "deduplicate")


def throttle(matches: DataFrame, time: str, every: str) -> DataFrame:
    """A stream of matches with at most one per subscription and `every` ("1 hour"), by the column `time`: let `match`
    keep it. The first that is seen is kept. Behind `deduplicate` the span must be the same."""
    return _first(matches, time, every, SUBSCRIPTION_ID, "throttle")


def _first(frame: DataFrame, time: str, within: str, key: str, step: str) -> DataFrame:
    check_frame(frame, "events" if key == EVENT_ID else "matches")
    if not frame.isStreaming:
        raise OptionError(
            f"{step}: expected a stream, found a batch; in foreachBatch, as in ts.stream, there is no state: read with "
            "format('tamis') and match in the plan"
        )
    for name in (time, key):
        if name not in frame.columns:
            raise OptionError(f"{step}: expected a column {name!r}, found {', '.join(frame.columns)}")
    if not isinstance(frame.schema[time].dataType, TimestampType):
        found = frame.schema[time].dataType.simpleString()
        raise OptionError(f"{step}: expected a timestamp in the column {time!r}, found {found}")
    if frame.sparkSession.conf.get(STATE_STORE, "") != ROCKS_DB:
        raise OptionError(f"{step}: expected state in RocksDB; set {STATE_STORE} to {ROCKS_DB}, as ts.session does")
    return _marked(frame, time, within, step).dropDuplicatesWithinWatermark([key])


def _marked(frame: DataFrame, time: str, within: str, step: str) -> DataFrame:
    """With the watermark. Spark allows one per query: what has one already keeps it, if it is the same."""
    with told():
        marked = frame.withWatermark(time, within)
        wanted = marked.schema[time].metadata[_DELAY]
    known = frame.schema[time].metadata.get(_DELAY)
    if known is None:
        return marked
    if known != wanted:
        raise OptionError(
            f"{step}: expected the span of the step before, {known / 1000:g} seconds, since Spark allows one watermark "
            f"per query, found {within!r}"
        )
    return frame
