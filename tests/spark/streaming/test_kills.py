"""Drivers that die, restarted from the checkpoint: every event once, against the set as it stood for its batch.

What the index holds in a version is read back from its segments; what an event matches in it, the naive matcher says.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import Engine, EventError
from tamis.model import Schema
from tamis.spark.running.here import index_here
from tamis.spark.streaming.records import Records
from tamis.spark.versions.manifest import read_manifest
from tamis.spark.versions.storage import root_of, storage
from tamis.spark.workers.building import ReadTexts
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
SCHEMA = Schema.loads(auctions.SCHEMA)
PER_FILE = 8
SEED = 20261118


def lay_out(folder: Path, files: int) -> dict[str, dict[str, object]]:
    """An index, people, and files of events: one has a line that is no event, one cannot be read."""
    listed = [{"event_id": f"e{number}", **one} for number, one in enumerate(auctions.listings(files * PER_FILE))]
    (folder / "incoming").mkdir()
    for number in range(files):
        lines = [json.dumps(one) for one in listed[number * PER_FILE : (number + 1) * PER_FILE]]
        file = folder / "incoming" / f"{number:03}.jsonl"
        file.write_text("\n".join(lines + (["{"] if number == 1 else [])))
        os.utime(file, (1.7e9 + number, 1.7e9 + number))
    poison = folder / "incoming" / "poison.jsonl.gz"
    poison.write_bytes(gzip.compress(b'{"event_id": "lost", "price": 1}')[:-9])
    os.utime(poison, (1.7e9 + 1.5, 1.7e9 + 1.5))
    asked = list(auctions.subscriptions(40))
    table = folder / "subscriptions.parquet"
    pq.write_table(pa.table({"id": [id for id, _ in asked], "expression": [text for _, text in asked]}), table)
    index_here(str(table), SCHEMA, str(folder / "index"), "raise")
    known = [id for id, _ in asked] + [f"{kind}{number}" for kind in ("new", "at") for number in range(60)]
    (folder / "people.json").write_text("\n".join(json.dumps({"id": id}) for id in dict.fromkeys([*known, "s1"])))
    return {str(one["event_id"]): one for one in listed}


def drive(folder: Path, **settings: str) -> subprocess.Popen[str]:
    """A driver with Java in a process group of their own, so that both die together."""
    command = [sys.executable, "-m", "tests.spark.streaming.dying_driver", str(folder)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"} | settings
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def die_at(folder: Path, point: str) -> None:
    driver = drive(folder, TAMIS_DIE=point, TAMIS_CHANGE="1")
    out, error = driver.communicate(timeout=280)
    assert driver.returncode == -signal.SIGKILL, (point, out, error[-2000:])


def finish(folder: Path, **settings: str) -> dict[str, int]:
    driver = drive(folder, **settings)
    out, error = driver.communicate(timeout=280)
    assert driver.returncode == 0, (out, error[-4000:])
    done: dict[str, int] = json.loads(out.splitlines()[-1])
    return done


def set_of(folder: Path, version: int) -> list[tuple[str, str]]:
    """The subscriptions of a version, read back."""
    manifest = read_manifest(storage(str(folder / "index")), str(folder / "index"), version)
    numbers = pa.RecordBatch.from_pydict({"number": list(range(len(manifest.segments)))})
    read = ReadTexts(root_of(str(folder / "index")), manifest)
    return [(row["id"], row["expression"]) for batch in read(iter([numbers])) for row in batch.to_pylist()]


def naive_answer(subscriptions: list[tuple[str, str]], events: list[dict[str, object]]) -> Counter[tuple[str, str]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(subscriptions)
    found: Counter[tuple[str, str]] = Counter()
    for one in events:
        id = str(one["event_id"])
        try:
            ids = engine.match({name: value for name, value in one.items() if name != "event_id"})
        except EventError:
            continue
        found.update((id, str(subscription)) for subscription in ids)
    return found


def check_all(folder: Path, events: dict[str, dict[str, object]], files: int) -> set[int]:
    """Every batch against the naive matcher on the set of its version, in the folders and in the table."""
    versions: set[int] = set()
    for number in range(files + 1):
        rows = rows_in(folder / "matches" / f"batch_id={number}")
        recorded = Records(str(folder / "checkpoint")).read(f"versions/{number}")
        assert recorded is not None
        version = recorded["version"]
        assert {row["index_version"] for row in rows} <= {version}
        with sqlite3.connect(folder / "told.db") as base:
            told = base.execute("SELECT event_id, subscription_id FROM told WHERE batch_id = ?", [number]).fetchall()
        base.close()
        shift = number if number < 2 else number - 1  # the third file is the one that cannot be read
        mine = [events[f"e{one}"] for one in range(shift * PER_FILE, (shift + 1) * PER_FILE)] if number != 2 else []
        wanted = naive_answer(set_of(folder, version), mine)
        assert Counter((row["event_id"], row["subscription_id"]) for row in rows) == wanted
        assert Counter(told) == wanted
        versions.add(version)
    assert not (folder / "matches" / f"batch_id={files + 1}").exists()
    return versions


def rows_in(folder: Path) -> list[dict[str, object]]:
    """As any reader of Parquet would read it: every file in the folder."""
    return pq.read_table(folder).to_pylist() if folder.exists() else []


def check_rejected(folder: Path) -> None:
    rows = [row for one in (folder / "rejected").glob("batch_id=*") for row in rows_in(one)]
    assert sum("expected a file that can be read" in str(row["reason"]) for row in rows) == 1
    assert sum(row.get("event") == "{" for row in rows) == 1
    assert [one.name for one in (folder / "aside").glob("*.gz")] == ["2-poison.jsonl.gz"]


@pytest.mark.timeout(600)
def test_a_driver_that_dies_between_writing_and_committing_loses_nothing_and_does_nothing_twice(
    tmp_path: Path,
) -> None:
    events = lay_out(tmp_path, 4)

    die_at(tmp_path, "named:2")
    die_at(tmp_path, "reported:3")
    done = finish(tmp_path, TAMIS_WORKERS="1")

    assert done["killed"] >= 3
    assert len(check_all(tmp_path, events, 4)) > 1
    check_rejected(tmp_path)


POINTS = [
    "named:2", "committed:2", "recorded:2", "staged:2", "inserted:2", "reported:2", "named:3", "committed:3",
    "reported:3", "named:1", "committed:1", "reported:1",
]  # fmt: skip


@pytest.mark.long
def test_a_driver_killed_a_dozen_times_at_every_point_and_at_random_with_its_workers(tmp_path: Path) -> None:
    files, draw = 40, random.Random(SEED)
    events = lay_out(tmp_path, files)

    for point in POINTS:
        die_at(tmp_path, point)
    for _ in range(3):
        driver = drive(tmp_path, TAMIS_CHANGE="1")
        done = len(list((tmp_path / "matches").glob("batch_id=*")))
        more = done + draw.randrange(1, 3)
        while driver.poll() is None and len(list((tmp_path / "matches").glob("batch_id=*"))) < more:
            try:
                driver.wait(draw.random() / 5)
            except subprocess.TimeoutExpired:
                continue
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate()
    retried = finish(tmp_path, TAMIS_WORKERS="2", TAMIS_CHANGE="1")

    versions = check_all(tmp_path, events, files)
    check_rejected(tmp_path)
    print(f"{len(POINTS) + 3} kills of the driver, {retried['killed']} of workers, {retried['retries']} retries")
    assert retried["killed"] >= 3
    assert len(versions) > 5
