"""A real cluster: a master and two workers, each a process of its own, and an executor that dies in the middle."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tamis.spark.running.java import java_home

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = '''
import os, sys
from pathlib import Path
from tamis import Engine, spark as ts
from tamis.workloads.catalogue import find_workload

master, folder = sys.argv[1:]
settings = {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.cores.max": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
}
spark = ts.session(master, "512m", settings)
workload = find_workload("web")
marker = Path(folder, "killed")

def executor_pid():
    """The Java process above this worker and its daemon."""
    pid = os.getpid()
    while True:
        status = Path(f"/proc/{pid}/status").read_text()
        if "Name:\\tjava" in status:
            return pid
        pid = int(status.partition("PPid:")[2].split()[0])

def lose_an_executor(batches):
    for number, batch in enumerate(batches):
        yield batch
        if number == 1:
            try:
                marker.open("x").write(str(executor_pid()))
            except FileExistsError:
                continue
            os.kill(executor_pid(), 9)

path = str(Path(folder, "index"))
done = ts.index(ts.generate_subscriptions(spark, workload, 2000), workload.schema(), path)
engine = Engine(workload.schema())
engine.subscribe_many(workload.subscriptions(2000))
events = ts.generate_events(spark, workload, 2400).repartition(4)
wanted = {(row, id) for row, ids in enumerate(engine.match_many(workload.events(2400))) for id in ids}
assert wanted
for plan in ("everywhere", "groups"):
    lossy = events.mapInArrow(lose_an_executor, events.schema) if plan == "everywhere" else events
    rows = ts.match(lossy, path, plan=plan).collect()
    assert len(rows) == len(wanted), (plan, len(rows), len(wanted))
    assert {(row.event_id, row.subscription_id) for row in rows} == wanted, plan
assert marker.exists()
executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print("right answers", len(wanted), "executors", len(executors) - 1)
'''


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(log: Path, pattern: str) -> None:
    deadline = time.monotonic() + 120
    while not re.search(pattern, log.read_text(errors="replace")):
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


@pytest.fixture
def environment() -> dict[str, str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": paths,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
    }


@pytest.fixture
def cluster(tmp_path: Path, environment: dict[str, str]) -> Iterator[str]:
    """The master's address; all processes end with the test."""
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    url = f"spark://127.0.0.1:{free_port()}"
    port = url.rpartition(":")[2]
    master = ["master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
    worker = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", url]
    started = []
    try:
        for number, (name, *arguments) in enumerate([master, worker, worker]):
            log = tmp_path / f"{number}.log"
            work = ["--work-dir", str(tmp_path / f"work{number}")] if number else []
            command = [str(spark_class), f"org.apache.spark.deploy.{name}", *work, *arguments]
            with log.open("wb") as out:
                started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=tmp_path))
            wait_for(log, r"Successfully registered with master" if number else r"I have been elected leader")
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


def test_answers_are_right_though_an_executor_dies(cluster: str, tmp_path: Path, environment: dict[str, str]) -> None:
    script = tmp_path / "job.py"
    script.write_text(JOB)

    job = subprocess.run(
        [sys.executable, str(script), cluster, str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=280, cwd=tmp_path,
    )  # fmt: skip

    assert job.returncode == 0, job.stderr[-4000:]
    assert job.stdout.startswith("right answers")


MISSING = """
import sys
from tamis import spark as ts
from tamis.errors import JobError
from tamis.model import Schema

spark = ts.session("local[1]", "512m", {"spark.task.maxFailures": "1"})
try:
    ts.index(spark.createDataFrame([("a", "x < 1")], "id string, expression string"), Schema(open=True), sys.argv[1])
except JobError as error:
    print(error)
"""


def test_an_executor_without_the_package_is_told_in_one_line(tmp_path: Path, environment: dict[str, str]) -> None:
    """Its Python is one that has pyspark and pyarrow, but not us."""
    bare = tmp_path / "python"
    site = Path(pyspark.__file__).parents[1]
    hide = "import sys; sys.modules['tamis'] = None"
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(hide)
    bare.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "hidden"}:$PYTHONPATH:{site}" exec {sys.executable} "$@"\n')
    bare.chmod(0o755)
    script = tmp_path / "job.py"
    script.write_text(MISSING)

    job = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "index")],
        env=environment | {"PYSPARK_PYTHON": str(bare), "PYSPARK_DRIVER_PYTHON": sys.executable},
        capture_output=True, text=True, timeout=200, cwd=tmp_path,
    )  # fmt: skip

    assert job.stdout.startswith("an executor's Python has no package 'tamis': install it on every host"), job.stderr
    assert not (tmp_path / "index" / "manifests").exists()
