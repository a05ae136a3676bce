"""A Kafka broker of one process, and Spark's connector, as jars from Maven Central by the Ivy that PySpark brings."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tamis.spark.running.java import java_home

CONNECTOR = {
    # 4.3.0's own connector is not to be had; this one works with it.
    "org.apache.spark spark-sql-kafka-0-10_2.13": "4.2.0",
    "org.apache.spark spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "org.apache.kafka kafka-clients": "3.9.1",
    "org.apache.commons commons-pool2": "2.12.1",
}
BROKER = {"org.apache.kafka kafka_2.13": "4.1.0"}
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def java(*arguments: str) -> list[str]:
    return [str(java_home() / "bin" / "java"), *arguments]


def fetch(wanted: dict[str, str], folder: Path, *, transitive: bool) -> list[Path]:
    """Jars, kept between runs; an error if they cannot be had."""
    if not list(folder.glob("*.jar")):
        (ivy,) = Path(pyspark.__file__).with_name("jars").glob("ivy-*.jar")
        for name, version in wanted.items():
            what = ["-dependency", *name.split(), version, *([] if transitive else ["-notransitive"])]
            where = ["-cache", str(folder / "cache"), "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
            confs = ["-confs", "default", "compile", "runtime"] if transitive else []
            done = subprocess.run(
                java("-jar", str(ivy), *what, *confs, *where, "-types", "jar", "bundle"), capture_output=True, text=True
            )
            assert done.returncode == 0, (
                f"{name} {version} cannot be fetched: {done.stdout[-2000:]}{done.stderr[-500:]}"
            )
    found = sorted(folder.glob("*.jar"))
    assert found, f"no jar in {folder}"
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def broker(jars: list[Path], folder: Path) -> Iterator[str]:
    """A broker in KRaft mode, without a second process; its address."""
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(_PROPERTIES.format(port=port, controller=controller, folder=folder))
    path = os.pathsep.join(map(str, jars))
    ready = ["format", "-t", uuid.uuid4().hex[:22], "-c", str(settings)]
    done = subprocess.run(java("-cp", path, "kafka.tools.StorageTool", *ready), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "broker.log").open("w") as said:
        server = subprocess.Popen(java("-Xmx256m", "-cp", path, "kafka.Kafka", str(settings)), stdout=said, stderr=said)
    try:
        _wait_for(port, server, folder / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, f"the broker ended: {log.read_text()[-2000:]}"
        assert time.monotonic() < deadline, f"the broker does not answer: {log.read_text()[-2000:]}"
        time.sleep(0.2)
