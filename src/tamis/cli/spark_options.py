"""Options that every command on Spark has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tamis.errors import OptionError

if TYPE_CHECKING:
    from tamis.spark.sessions import SparkSession

__all__ = ["add_spark_options", "start_spark", "whole"]


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", default="local[*]", help="Spark's master (default local[*]: all cores here)")
    parser.add_argument("--memory", default="2g", help="memory of the driver (default 2g)")


def start_spark(arguments: argparse.Namespace, new: str | None = None) -> SparkSession:
    """The session, once it is sure that the output `new` does not exist; a missing package is the user's to install."""
    try:
        from tamis import spark as ts
        from tamis.spark.files import check_new

        if new is not None:
            check_new(new)
        spark = ts.session(arguments.master, arguments.memory)
        spark.sparkContext.setLogLevel("OFF")  # a mistake is told in one line, by us
        return spark
    except ModuleNotFoundError as error:
        raise OptionError(f"no package {error.name!r} here; run: pip install 'tamis[spark]'") from None


def whole(text: str) -> int:
    """A whole number from 0 on, for argparse."""
    if not (text.isascii() and text.isdigit() and len(text) < 13):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text[:40]!r}")
    return int(text)
