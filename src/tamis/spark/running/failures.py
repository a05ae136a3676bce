"""Spark's exceptions as sentences. What a worker raised is buried in a Java stack; here it comes out again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import AnalysisException, PySparkException

from tamis import errors
from tamis.errors import JobError

__all__ = ["told"]


# The last line of a worker's traceback. Values may hold line breaks; the sentence is worth its first line.
_OURS = re.compile(r"^tamis\.(?:errors|model\.values)\.(\w+): (.+)$", re.MULTILINE)
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_FILE = re.compile(r"(?:reading|read) (?:the )?(?:parquet )?file:? (\S+)", re.IGNORECASE)
_CAUSE = re.compile(r"^(?:Caused by: )?[\w.$]*(?:Exception|Error): (.+)$", re.MULTILINE)


@contextmanager
def told() -> Iterator[None]:
    """Turn what Spark raises within into a `JobError` of one line; our own errors pass."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:  # the latter is what PySpark did not translate
        raise JobError(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    text = str(error)
    ours = [found for found in _OURS.finditer(text) if isinstance(getattr(errors, found[1], None), type)]
    if ours:
        return ours[-1][2]
    if absent := _ABSENT.search(text):
        package = absent[1].partition(".")[0]
        remedy = "install it on every host, or name a Python that has it in PYSPARK_PYTHON"
        return f"an executor's Python has no package {package!r}: {remedy}"
    if "FAILED_READ_FILE" in text and (file := _FILE.search(text)):
        return f"{file[1].rstrip('.')}: cannot be read; {_last_cause(text)}"
    if isinstance(error, AnalysisException):
        return text.split("\n")[0].split(" SQLSTATE")[0]
    return _last_cause(text) or text.split("\n")[0]


def _last_cause(text: str) -> str:
    causes = _CAUSE.findall(text)
    return str(causes[-1]) if causes else ""
