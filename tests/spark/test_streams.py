"""The steps on a stream give what they give on a batch; the line of progress can be drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.progress import _line
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads(auctions.SCHEMA)


def test_a_stream_is_validated_matched_and_notified_like_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    incoming, index = tmp_path / "incoming", str(tmp_path / "index")
    incoming.mkdir()
    lines = [json.dumps({"event_id": row, "event": json.dumps(one)}) for row, one in enumerate(auctions.listings(60))]
    for part in (0, 1):
        (incoming / f"{part}.json").write_text("\n".join(lines[part::2]))
    people = spark.createDataFrame(list(auctions.subscriptions(40)), "id string, expression string")
    ts.index(people, SCHEMA, index)
    ddl = "event_id int, event string"

    def notices(events):  # type: ignore[no-untyped-def]
        valid, rejected = ts.validate(events, SCHEMA)
        return ts.notify(ts.match(valid, index), people), rejected

    streamed, refused = notices(spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).json(str(incoming)))
    for name, frame in (("told", streamed), ("refused", refused)):
        place = {"path": str(tmp_path / name), "checkpointLocation": str(tmp_path / f"{name} checkpoint")}
        frame.writeStream.format("parquet").options(**place).trigger(availableNow=True).start().awaitTermination()

    told, rejected = notices(spark.read.schema(ddl).json(str(incoming)))
    columns = ["subscriber", "event_id"]
    found = spark.read.parquet(str(tmp_path / "told")).select(columns).collect()
    assert sorted(found) == sorted(told.select(columns).collect())
    assert found
    again = spark.read.parquet(str(tmp_path / "refused")).select("event_id", "reason").collect()
    assert sorted(again) == sorted(rejected.select("event_id", "reason").collect())


def test_the_line_of_progress_says_tasks_rows_and_seconds(spark: SparkSession) -> None:
    assert _line(spark, "matching", 2.0).startswith("matching ░")
    assert _line(spark, "matching", 2.0).endswith(" rows/s in, 0 rows out, 2 s")
