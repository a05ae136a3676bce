"""A driver that streams from Kafka and back, and dies if told to: python -m tests.kafka_driver FOLDER SERVERS [die]"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tamis import spark as ts
from tamis.spark.running.sessions import QUICK_SETTINGS
from tamis.spark.streaming.outputs import BatchKey, Files, FolderJvm

PER_BATCH = 20


class DyingFiles(Files):
    def commit(self, folder: FolderJvm, staged: str, key: BatchKey) -> None:
        super().commit(folder, staged, key)
        if key.number == 1:
            os.killpg(0, signal.SIGKILL)


def main(folder: Path, servers: str, dies: bool) -> None:
    jars = ",".join(str(one) for one in sorted((folder / "connector").glob("*.jar")))
    spark = ts.session("local[2]", "700m", {**QUICK_SETTINGS, "spark.jars": jars})
    spark.sparkContext.setLogLevel("OFF")
    if dies:
        publish(spark.read.text(str(folder / "events.jsonl")), servers, "events")

    def tell(rows: DataFrame, number: int) -> None:
        told = rows.selectExpr("event_id", "subscription_id", "index_version", f"{number} as batch")
        publish(told.selectExpr("to_json(struct(*)) as value"), servers, "told")

    options = {"kafka.bootstrap.servers": servers, "subscribe": "events", "startingOffsets": "earliest"}
    events = ts.kafka_events(spark, options | {"maxOffsetsPerTrigger": str(PER_BATCH)})
    people = spark.read.schema("id string").json(str(folder / "people.jsonl"))
    place = str(folder / "matches")
    outputs = ts.Outputs(DyingFiles(place) if dies else Files(place), folder / "rejected", tell, people)
    stream = ts.stream(events, folder / "index", folder / "checkpoint", outputs, once=True)
    stream.wait()
    print(json.dumps({"reports": [one.batch for one in stream.reports], "told": read_all(spark, servers, "told")}))


def publish(texts: DataFrame, servers: str, topic: str) -> None:
    writer = texts.write.format("kafka").option("kafka.bootstrap.servers", servers)
    writer.option("topic", topic).save()


def read_all(spark: SparkSession, servers: str, topic: str) -> list[str]:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    return [row.text for row in reader.load().selectExpr("cast(value as string) as text").collect()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "die" in sys.argv[3:])
