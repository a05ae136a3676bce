"""Options that every command on Spark has."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tamis.errors import JavaError, OptionError

if TYPE_CHECKING:
    from tamis.spark.running.sessions import SparkSession

__all__ = ["add_spark_options", "spark_installed", "start_spark", "whole"]


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", default="local[*]", help="Spark's master (default local[*]: all cores here)")
    parser.add_argument("--memory", default="2g", help="memory of the driver (default 2g)")


def start_spark(arguments: argparse.Namespace, new: str | None = None, *, quick: bool = False) -> SparkSession:
    """The session, once it is sure that the output `new` does not exist; a missing package is the user's to install.

    `quick` is for a minute's work on small data.
    """
    with spark_installed():
        from tamis import spark as ts
        from tamis.spark.running.data_files import check_new
        from tamis.spark.running.sessions import QUICK_SETTINGS

    if new is not None:
        check_new(new)
    with _java_apart():
        spark = ts.session(arguments.master, arguments.memory, QUICK_SETTINGS if quick else None)
    spark.sparkContext.setLogLevel("OFF")  # a mistake is told in one line, by us
    return spark


@contextmanager
def spark_installed() -> Iterator[None]:
    """A package that is missing is the user's to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise OptionError(f"no package {error.name!r} here; run: pip install 'tamis[spark]'") from None


@contextmanager
def _java_apart() -> Iterator[None]:
    """Java and the workers it starts write to a file instead of standard error: what concerns the user, we tell.

    Java itself warns of a module that Spark asks for, and a worker whose answer nobody wants any more prints a
    traceback. If Java does not start, the last line says why.
    """
    sys.stderr.flush()
    ours = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except RuntimeError as error:  # pyspark's, when Java ends before it has answered
            said.seek(0)
            lines = said.read().decode(errors="replace").split("\n")
            raise JavaError(f"Spark did not start: {next(filter(None, reversed(lines)), error)}") from None
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def whole(text: str) -> int:
    """A whole number from 0 on, for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) < 13):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text[:40]!r}")
    return int(text)
