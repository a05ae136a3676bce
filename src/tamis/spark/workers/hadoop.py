"""A worker's way to a Hadoop file system: Hadoop's own shell, as a Java process.

The driver speaks to file systems through its JVM, but a Python worker has none. Whatever scheme Spark can read, the
class `FsShell` can, given Spark's jars and the session's settings; pyarrow knows a few schemes only and has settings of
its own. A start takes a second or two, so many files are copied by one. Nothing is renamed: `-d` writes files directly.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark
from pyspark import SparkFiles

from tamis.errors import SegmentError
from tamis.spark.running.java import find_java

__all__ = ["Settings", "copies_of", "put"]

Settings = tuple[tuple[str, str], ...]
"""Hadoop's settings, by name: what the session has under `spark.hadoop.`"""


def put(local: Path, uri: str, settings: Settings) -> None:
    """Copy a local file to a new name; its folder exists."""
    _shell(settings, uri, "-put", "-d", str(local), uri)


def copies_of(uris: Sequence[str], settings: Settings) -> list[Path]:
    """Local copies, fetched once per executor; they go when Spark removes the executor's files."""
    folder = Path(SparkFiles.getRootDirectory(), "tamis-segments")
    folder.mkdir(parents=True, exist_ok=True)
    kept = [folder / uri.rpartition("/")[2] for uri in uris]
    if not all(path.exists() for path in kept):
        with (folder / ".lock").open("w") as lock, tempfile.TemporaryDirectory(dir=folder) as draft:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the executor's other workers want the same files
            missing = [(uri, path) for uri, path in zip(uris, kept, strict=True) if not path.exists()]
            if missing:
                _shell(settings, missing[0][0], "-get", *(uri for uri, _ in missing), draft)
            for _, path in missing:
                Path(draft, path.name).replace(path)
    return kept


def _shell(settings: Settings, uri: str, *command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # nobody else can read it: settings may hold keys
        Path(folder, "core-site.xml").write_text(_site(settings), encoding="utf-8")
        classes = os.pathsep.join(_classes(folder))
        program = [_java(), "-Xmx256m", "-cp", classes, "org.apache.hadoop.fs.FsShell", *command]
        done = subprocess.run(program, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise SegmentError(f"cannot be copied: {said[-1] if said else f'exit code {done.returncode}'}", uri)


def _site(settings: Settings) -> str:
    listed = (f"<property><name>{escape(n)}</name><value>{escape(v)}</value></property>" for n, v in settings)
    return f"<configuration>{''.join(listed)}</configuration>"


def _classes(folder: str) -> list[str]:
    """The settings, then Spark's jars, those that were sent to this executor, and what the host adds."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    host = [found for name in ("HADOOP_CONF_DIR", "SPARK_DIST_CLASSPATH") if (found := os.environ.get(name))]
    return [folder, *host, f"{home}/jars/*", f"{SparkFiles.getRootDirectory()}/*"]


def _java() -> str:
    known = Path(os.environ.get("JAVA_HOME", ""), "bin", "java")
    return str(known if known.is_file() else find_java().home / "bin" / "java")
