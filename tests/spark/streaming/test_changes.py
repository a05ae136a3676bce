"""Subscriptions that change while events stream: every batch against the naive matcher on the set of its version."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tamis import Engine, EventError
from tamis import spark as ts
from tamis.errors import JobError
from tamis.model import Schema
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads(auctions.SCHEMA)
IDS = "id string, expression string"
CHANGES = "id string, expression string, seq int"

ROUNDS: list[list[tuple[str, str | None, int]]] = [
    [("new", "price > 100", 1), ("s1", "quantity >= 2", 2)],
    [("new", "price > 5000", 3), ("new", "price > 300", 4), ("s2", None, 5), ("bad", "price <", 6)],
    [("s1", None, 7), ("s1", "price < 900", 8), ("other", "category <= storage", 9), ("other", None, 10)],
]


def write(folder: Path, number: int, lines: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f".{number}").write_text("\n".join(lines))
    os.utime(folder / f".{number}", (1.7e9 + number, 1.7e9 + number))
    (folder / f".{number}").rename(folder / f"{number:03}.jsonl")


def changed(before: dict[str, str], changes: list[tuple[str, str | None, int]]) -> dict[str, str]:
    """The set after some changes, in their order; one that cannot be read changes nothing."""
    after = dict(before)
    for id, text, _ in changes:
        if text is None:
            after.pop(id, None)
        elif id != "bad":
            after[id] = text
    return after


def naive_answer(asked: dict[str, str], lines: list[str]) -> set[tuple[str, str]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(list(asked.items()))
    found = set()
    for line in lines:
        event = json.loads(line)
        id = event.pop("event_id")
        try:
            found |= {(id, subscription) for subscription in engine.match(event)}
        except EventError:
            continue
    return found


def test_every_batch_is_matched_against_the_set_of_its_version_also_when_it_comes_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Changes arrive between batches of events; the third batch of events fails when it was written, and comes again
    after another change."""
    listed = [{"event_id": f"e{number}", **one} for number, one in enumerate(auctions.listings(48))]
    lines = [[json.dumps(one) for one in listed[at : at + 12]] for at in range(0, 48, 12)]
    asked = {id.replace("-", ""): text for id, text in list(auctions.subscriptions(20))}
    asked |= {"s1": "price > 50", "s2": "price < 5000"}
    index = str(tmp_path / "index")
    ts.index(spark.createDataFrame(list(asked.items()), IDS), SCHEMA, index)
    sets, failing = {1: asked}, [True]

    def change(number: int) -> None:
        rows = [json.dumps(dict(zip(("id", "expression", "seq"), row, strict=True))) for row in ROUNDS[number]]
        write(tmp_path / "changes", number, rows)
        frame = spark.readStream.schema(CHANGES).json(str(tmp_path / "changes"))
        stream = ts.stream_changes(frame, index, tmp_path / "changes checkpoint", order="seq", once=True)
        stream.wait()
        for one in stream.reports:
            assert one.version is not None
            sets[one.version] = changed(sets[max(sets)], ROUNDS[number])

    def fail(_: DataFrame, number: int) -> None:
        if number == 2 and failing[0]:
            raise RuntimeError("power cut")

    def match() -> None:
        events = ts.event_files(spark, tmp_path / "incoming", SCHEMA, max_files=1)
        people = spark.createDataFrame([("s1",)], "id string")
        places = ts.Outputs(tmp_path / "matches", notifications=fail, people=people)
        ts.stream(events, index, tmp_path / "checkpoint", places, once=True).wait()

    write(tmp_path / "incoming", 0, lines[0])
    match()
    change(0)
    write(tmp_path / "incoming", 1, lines[1])
    match()
    change(1)
    write(tmp_path / "incoming", 2, lines[2])
    with pytest.raises(JobError, match="power cut"):
        match()
    change(2)
    failing[0] = False
    write(tmp_path / "incoming", 3, lines[3])
    match()

    rows = spark.read.parquet(str(tmp_path / "matches")).collect()
    versions = {row.batch_id: row.index_version for row in rows}
    assert versions == {0: 1, 1: 2, 2: 3, 3: 4}
    assert len(rows) == len({(row.event_id, row.subscription_id) for row in rows})
    for number, version in versions.items():
        mine = {(row.event_id, row.subscription_id) for row in rows if row.batch_id == number}
        assert mine == naive_answer(sets[version], lines[number])
    assert [row.id for row in ts.rejected_subscriptions(index, 3).collect()] == ["bad"]
