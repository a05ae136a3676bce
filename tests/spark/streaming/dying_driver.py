"""A driver of a stream that kills itself, whole, at a given point: python -m tests.spark.streaming.dying_driver FOLDER

Points, as TAMIS_DIE="point:n" for the n-th time that it is passed: `recorded` (the version is, no work is done),
`staged` (a folder is written, but has not its name), `named` (it has), `inserted` (rows are, the transaction is open),
`committed` (it is closed), `reported` (all is written; Spark has not noted the batch). TAMIS_WORKERS=n kills the Python
workers while the n-th batch is written. The subscriptions change after the first batch of every run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.running.sessions import QUICK_SETTINGS
from tamis.spark.streaming import outputs, records
from tamis.spark.streaming.outputs import BatchKey, FolderJvm
from tamis.spark.versions.manifest import latest
from tamis.spark.versions.storage import storage
from tamis.store.batch_rows import BatchTable
from tamis.workloads import auctions

SCHEMA = Schema.loads(auctions.SCHEMA)
IDS = "id string, expression string"
_passed: Counter[str] = Counter()


def pass_by(point: str) -> None:
    """Die here, with Java and all, if this is the point."""
    _passed[point] += 1
    if os.environ.get("TAMIS_DIE") == f"{point}:{_passed[point]}":
        os.killpg(0, signal.SIGKILL)


class DyingFiles(outputs.Files):
    def write(self, rows: DataFrame, key: BatchKey) -> int:
        _passed["write"] += 1
        if os.environ.get("TAMIS_WORKERS") == str(_passed["write"]):
            threading.Thread(target=kill_workers, daemon=True).start()
        return super().write(rows, key)

    def commit(self, folder: FolderJvm, staged: str, key: BatchKey) -> None:
        pass_by("staged")
        super().commit(folder, staged, key)
        pass_by("named")


class DyingSql(outputs.Sql):
    def commit(self, table: BatchTable, rows: DataFrame, key: BatchKey) -> int:
        found = map(tuple, rows.toLocalIterator())
        count = table.replace(key.stream, key.number, then(found, "inserted"))
        pass_by("committed")
        return count


def then(rows: Iterator[tuple[object, ...]], point: str) -> Iterator[tuple[object, ...]]:
    yield from rows
    pass_by(point)


class DyingRecords(records.Records):
    def write(self, name: str, record: dict[str, object]) -> None:
        super().write(name, record)
        if name.startswith("versions/"):
            pass_by("recorded")


def kill_workers() -> None:
    """Every Python worker there is, three times, a little apart: idle ones at first, then those that match."""
    rounds = 0
    while rounds < 3:
        for worker in (found := workers()):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                _passed["worker killed"] += 1
        rounds += bool(found)
        time.sleep(0.2)


def workers() -> list[int]:
    """Children of a daemon that is a child of our Java."""
    parents = {}
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            try:
                parents[int(one.name)] = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
    javas = {pid for pid, parent in parents.items() if parent == os.getpid()}
    daemons = {pid for pid, parent in parents.items() if parent in javas}
    return [pid for pid, parent in parents.items() if parent in daemons]


def change(spark: SparkSession, index: str) -> None:
    """The next of the changes: an insertion, a replacement, a removal in turn."""
    before = latest(storage(index))
    assert before is not None
    number = before.version
    rows = [(f"new{number}", f"price > {number * 100}"), ("s1", f"quantity < {number}"), (f"new{number - 1}", None)]
    ts.update(index, spark.createDataFrame([rows[number % 3], (f"at{number}", f"price < {number * 90}")], IDS))


def main(folder: Path) -> None:
    records.Records = DyingRecords  # type: ignore[misc]
    from tamis.spark.streaming import batches

    batches.Records = DyingRecords  # type: ignore[attr-defined]
    settings = {**QUICK_SETTINGS, "spark.python.worker.faulthandler.enabled": "false"}
    spark = ts.session("local[2]", "700m", settings)
    spark.sparkContext.setLogLevel("OFF")
    index = str(folder / "index")
    people = spark.read.schema("id string").json(str(folder / "people.json"))

    def after(report: ts.BatchReport) -> None:
        pass_by("reported")
        if _passed["reported"] == 1 and os.environ.get("TAMIS_CHANGE"):
            change(spark, index)

    places = ts.Outputs(
        DyingFiles(str(folder / "matches")),
        ts.Files(str(folder / "rejected")),
        DyingSql(f"sqlite:///{folder}/told.db", "told"),
        people,
        str(folder / "aside"),
    )
    events = ts.event_files(spark, folder / "incoming", SCHEMA, max_files=1)
    stream = ts.stream(events, index, folder / "checkpoint", places, once=True, on_batch=after)
    stream.wait()
    retries = sum(one.retries for one in stream.reports)
    print(json.dumps({"batches": len(stream.reports), "retries": retries, "killed": _passed["worker killed"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
