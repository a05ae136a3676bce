"""An index on a file system that is not local: Hadoop's viewfs, which is a real one and needs no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import OptionError, SegmentError
from tamis.spark.versions.storage import HadoopStorage, Storage

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = """
import sys
from pathlib import Path
from tamis import Engine, spark as ts
from tamis.errors import JobError
from tamis.spark.running.failures import told
from tamis.spark.running.data_files import write
from tamis.spark.running.jobs import MatchJob, new_folder
from tamis.spark.versions.storage import fetch, root_of
from tamis.workloads.catalogue import find_workload

local = Path(sys.argv[1])
spark = ts.session("local[2]", "512m", {"spark.hadoop.fs.viewfs.mounttable.tests.link./data": f"file://{local}"})
workload, path = find_workload("lesub"), "viewfs://tests/data/an index"
engine = Engine(workload.schema())
engine.subscribe_many(workload.subscriptions(300))
ts.index(ts.generate_subscriptions(spark, workload, 300), workload.schema(), path)
changes = spark.createDataFrame([(7, None), (1000, "n0 > 1")], "id long, expression string")
done = ts.update(path, changes)
engine.unsubscribe(7)
engine.subscribe(1000, "n0 > 1")
assert (done.version, done.subscriptions) == (2, 300), done
wanted = {(row, id) for row, ids in enumerate(engine.match_many(workload.events(100))) for id in ids}
events = ts.generate_events(spark, workload, 100)
for plan in ("everywhere", "groups"):
    found = {(row.event_id, row.subscription_id) for row in ts.match(events, path, plan=plan).collect()}
    assert found == wanted, plan
ts.compact(path)
write(events, "viewfs://tests/data/events")
with new_folder("viewfs://tests/data/out") as out:
    matched = MatchJob("viewfs://tests/data/events", path).run(spark, out)
assert (matched.events, matched.matches, matched.version) == (100, len(wanted), 3), matched
assert ts.vacuum(path, min_age_hours=0) > 0
root = root_of(path)

def fetch_nothing(batches):
    for _ in batches:
        fetch(root, ["segments/none"])
        yield from ()

try:
    with told():
        spark.range(1).mapInArrow(fetch_nothing, "id long").collect()
except JobError as error:
    print(error)
"""


def test_an_index_lives_on_another_file_system(tmp_path: Path) -> None:
    """Workers write and fetch through Hadoop; the local folder behind the mount shows what they wrote."""
    (tmp_path / "data").mkdir()
    script = tmp_path / "job.py"
    script.write_text(JOB)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

    job = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "data")],
        env=environment, capture_output=True, text=True, timeout=280, cwd=tmp_path,
    )  # fmt: skip

    assert job.returncode == 0, job.stderr[-4000:]
    assert job.stdout.endswith("segments/none': No such file or directory\n"), job.stdout
    assert list((tmp_path / "data" / "out" / "matches").glob("*.parquet"))
    assert not list((tmp_path / "data").rglob("*_COPYING_"))


def test_a_name_is_created_once_and_read_whole(spark: SparkSession, tmp_path: Path) -> None:
    through_jvm: Storage = HadoopStorage(f"file://{tmp_path}/other")

    assert through_jvm.list("manifests") == {}
    assert through_jvm.create("manifests/1", b"first")
    assert not through_jvm.create("manifests/1", b"second")
    assert through_jvm.read("manifests/1") == b"first"
    assert list(through_jvm.list("manifests")) == ["1"]
    assert through_jvm.names() == ("manifests",)
    assert through_jvm.exists()
    through_jvm.delete("manifests/1")
    with pytest.raises(SegmentError, match="cannot be read"):
        through_jvm.read("manifests/1")
    through_jvm.clear()
    assert not (tmp_path / "other").exists()
    with pytest.raises(OptionError, match="nosuch"):
        HadoopStorage("nosuch://here/x")
