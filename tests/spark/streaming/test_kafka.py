"""Kafka for real: a broker on this machine, events in, notifications out, a driver that dies; `make test-kafka`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import Engine, EventError
from tamis.model import Schema
from tamis.spark.running.here import index_here
from tamis.workloads import auctions
from tests.kafka_broker import BROKER, CONNECTOR, broker, fetch

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROOT = Path(__file__).parents[3]
JARS = ROOT / ".venv" / "kafka"
SCHEMA = Schema.loads(auctions.SCHEMA)


def drive(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.kafka_driver", str(folder), *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, start_new_session=True, timeout=500
    )


def naive_answer(asked: list[tuple[str, str]], events: list[dict[str, object]]) -> set[tuple[str, str]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(asked)
    found = set()
    for one in events:
        try:
            ids = engine.match({name: value for name, value in one.items() if name != "event_id"})
        except EventError:
            continue
        found |= {(str(one["event_id"]), str(id)) for id in ids}
    return found


def test_events_come_from_kafka_and_go_to_kafka_though_the_driver_dies(tmp_path: Path) -> None:
    connector = fetch(CONNECTOR, JARS / "connector", transitive=False)
    server = fetch(BROKER, JARS / "broker", transitive=True)
    (tmp_path / "connector").mkdir()
    for jar in connector:
        shutil.copy(jar, tmp_path / "connector")
    listed = [{"event_id": f"e{number}", **one} for number, one in enumerate(auctions.listings(60))]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, listed)) + "\n{")
    asked = list(auctions.subscriptions(30))
    (tmp_path / "people.jsonl").write_text("\n".join(json.dumps({"id": id}) for id, _ in asked))
    table = pa.table({"id": [id for id, _ in asked], "expression": [text for _, text in asked]})
    pq.write_table(table, tmp_path / "subscriptions.parquet")
    index_here(str(tmp_path / "subscriptions.parquet"), SCHEMA, str(tmp_path / "index"), "raise")

    with broker(server, tmp_path) as servers:
        first = drive(tmp_path, servers, "die")
        second = drive(tmp_path, servers)

    assert first.returncode == -signal.SIGKILL, first.stderr[-3000:]
    assert second.returncode == 0, second.stderr[-3000:]
    done = json.loads(second.stdout.splitlines()[-1])
    wanted = naive_answer(asked, listed)
    rows = [row for one in (tmp_path / "matches").glob("batch_id=*") for row in pq.read_table(one).to_pylist()]
    assert sorted((row["event_id"], row["subscription_id"]) for row in rows) == sorted(wanted)
    told = {(one["batch"], one["event_id"], one["subscription_id"]) for one in map(json.loads, done["told"])}
    assert sorted((event, subscription) for _, event, subscription in told) == sorted(wanted)
    assert done["reports"] == [1, 2, 3]
    assert "{" in [
        row["event"] for one in (tmp_path / "rejected").glob("batch_id=*") for row in pq.read_table(one).to_pylist()
    ]
