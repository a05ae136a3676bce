"""Compile subscriptions into an index that Spark jobs match against.

tamis index --schema auctions.toml --subscriptions subscriptions.parquet --out index/
tamis index --update index/ --subscriptions changes.parquet
tamis index --compact index/

Subscriptions have columns `id` and `expression`; in an update an empty expression deletes. What cannot be read is
rejected into a table of its own, unless --on-error says otherwise. An index that was updated very often is compacted
by itself; --compact does so now.
"""

from __future__ import annotations

import argparse

from tamis.batches.refusals import ON_ERROR
from tamis.cli.files import read_schema
from tamis.cli.spark_options import add_spark_options, start_spark
from tamis.errors import OptionError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", metavar="TOML", help="the schema's file; needed for a new index")
    parser.add_argument("--subscriptions", metavar="PATH", help="Parquet, JSON lines or CSV; not for --compact")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", metavar="DIR", help="a new index, or one that gets a new version of all subscriptions")
    place.add_argument("--update", metavar="DIR", help="an index that gets a version with these changes")
    place.add_argument("--compact", metavar="DIR", help="an index that gets a version in as few segments as will do")
    parser.add_argument(
        "--on-error", choices=ON_ERROR, default="collect", help="what cannot be read stops the job, or is left out"
    )
    parser.add_argument("--mode", type=_octal, help="who may read a new index in a local folder (default 700)")
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.out and not arguments.schema:
        raise OptionError("expected --schema for a new index, found none")
    if bool(arguments.subscriptions) == bool(arguments.compact):
        raise OptionError("expected --subscriptions with --out and --update, and only with them")
    schema = read_schema(arguments.schema) if arguments.schema else None
    spark = start_spark(arguments)
    from tamis import spark as ts
    from tamis.spark.running.data_files import read_subscriptions
    from tamis.spark.running.progress import progress

    path = arguments.out or arguments.update or arguments.compact
    with progress(spark, "compiling"):
        if arguments.compact:
            done = ts.compact(path)
        elif schema is not None and arguments.out:
            given = read_subscriptions(spark, arguments.subscriptions)
            done = ts.index(given, schema, path, on_error=arguments.on_error, mode=arguments.mode)
        else:
            done = ts.update(path, read_subscriptions(spark, arguments.subscriptions), on_error=arguments.on_error)
    print(
        f"{path}: version {done.version} has {done.subscriptions:,} subscriptions in {done.segments} segments, "
        f"{done.size_bytes / 1e6:,.1f} MB"
    )
    if done.removed:
        print(f"{done.removed:,} subscriptions were replaced or deleted")
    tell_rejected(path, done.rejected, kept=arguments.on_error == "collect")
    return 0


def _octal(text: str) -> int:
    if len(text) not in (3, 4) or set(text) - set("01234567"):
        raise argparse.ArgumentTypeError(
            f"expected a folder's mode as chmod takes it, such as 755, found {text[:40]!r}"
        )
    return int(text, 8)


def tell_rejected(path: str, count: int, *, kept: bool) -> None:
    """How many and, if they were kept, the first three."""
    if count:
        print(f"{count:,} subscriptions were rejected{':' if kept else ''}")
    if count and kept:
        from tamis.spark.steps.indexing import first_rejected

        for id, reason in first_rejected(path, 3):
            print(f"  {id}: {reason}")
