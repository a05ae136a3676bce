"""Match events against subscriptions, on Spark.

tamis match --schema auctions.toml --subscriptions subscriptions.parquet --events listings.jsonl --out result/
tamis match --index index/ --events listings.parquet --out result/ --wide

Files are Parquet, JSON lines or CSV. Writes matches/ and rejected/ (events that break a rule, with the reason) under
--out; with --subscriptions also index/.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tamis.cli.files import read_schema
from tamis.cli.index import tell_rejected
from tamis.cli.spark_options import add_spark_options, start_spark
from tamis.errors import OptionError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", required=True, metavar="PATH", help="events of the schema; feeds: see integrate")
    parser.add_argument("--schema", metavar="TOML", help="the schema's file; with --index it is the index's own")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--subscriptions", metavar="PATH", help="columns `id` and `expression`")
    source.add_argument("--index", metavar="DIR", help="an index made by `tamis index`")
    parser.add_argument("--version", type=int, help="the index as it stood then (default: the latest)")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    parser.add_argument("--wide", action="store_true", help="arrays of ids instead of a row per match")
    parser.add_argument("--plan", default="auto", help="everywhere or groups (default: by the index's size)")
    parser.add_argument("--strict", action="store_true", help="stop at a subscription or event that is refused")
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from tamis.spark.files import check_new

    check_new(arguments.out)
    if arguments.subscriptions and not arguments.schema:
        raise OptionError("expected --schema beside --subscriptions, found none")
    given = read_schema(arguments.schema) if arguments.schema else None
    spark = start_spark(arguments)
    from tamis import spark as ts
    from tamis.spark.files import read_events, read_subscriptions, write
    from tamis.spark.manifest import read_manifest
    from tamis.spark.progress import progress
    from tamis.spark.storage import storage

    out, path = Path(arguments.out), arguments.index
    if arguments.subscriptions and given is not None:
        path = str(out / "index")
        with progress(spark, "compiling"):
            done = ts.index(read_subscriptions(spark, arguments.subscriptions), given, path, strict=arguments.strict)
        tell_rejected(path, done.rejected)
    manifest = read_manifest(storage(path), path, arguments.version)
    events = read_events(spark, arguments.events, manifest.schema).cache()
    valid, rejected = ts.validate(events, manifest.schema)
    start = time.perf_counter()
    with progress(spark, "matching"):
        found = ts.match(valid, path, version=manifest.version, explode=not arguments.wide, plan=arguments.plan)
        write(rejected, str(out / "rejected"))
        write(found, str(out / "matches"))
    return 0
