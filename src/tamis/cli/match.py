"""Match events against subscriptions, on Spark.

tamis match --schema auctions.toml --subscriptions subscriptions.parquet --events listings.jsonl --out result/
tamis match --index index/ --events listings.parquet --out result/ --wide

Files are Parquet, JSON lines or CSV. Writes matches/ and rejected/ (events that break a rule, with the reason) under
--out; with --subscriptions also index/. With --on-error raise whatever is refused stops the job instead.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tamis.batches.refusals import ON_ERROR
from tamis.cli.files import read_schema
from tamis.cli.index import tell_rejected
from tamis.cli.spark_options import add_spark_options, start_spark
from tamis.errors import OptionError

if TYPE_CHECKING:
    from tamis.spark.running.jobs import Matched


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
    parser.add_argument(
        "--on-error", choices=ON_ERROR, default="collect", help="what is refused stops the job, or is left out"
    )
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.subscriptions and not arguments.schema:
        raise OptionError("expected --schema beside --subscriptions, found none")
    given = read_schema(arguments.schema) if arguments.schema else None
    spark = start_spark(arguments, new=arguments.out)
    from tamis import spark as ts
    from tamis.spark.running.data_files import read_subscriptions
    from tamis.spark.running.jobs import MatchJob, new_folder
    from tamis.spark.running.progress import progress
    from tamis.spark.versions.storage import join

    with new_folder(arguments.out) as out:
        path = arguments.index or join(out, "index")
        if arguments.subscriptions and given is not None:
            with progress(spark, "compiling"):
                subscriptions = read_subscriptions(spark, arguments.subscriptions)
                done = ts.index(subscriptions, given, path, on_error=arguments.on_error)
            print(f"{done.subscriptions:,} subscriptions compiled")
            tell_rejected(path, done.rejected, kept=arguments.on_error == "collect")
        job = MatchJob(arguments.events, path, arguments.version, arguments.wide, arguments.plan, arguments.on_error)
        _tell(job.run(spark, out), out, kept=arguments.on_error == "collect")
    return 0


def _tell(done: Matched, out: str, *, kept: bool) -> None:
    rate = (done.events - done.rejected) / done.seconds
    print(f"{done.events:,} events read, {done.rejected:,} rejected{':' if done.rejected else ''}")
    for id, rule, reason in done.examples:
        print(f"  {id}: {rule + ': ' if rule else ''}{reason}")
    print(f"segments: asked {done.asked:,} times about an event, skipped {done.skipped:,} times")
    print(f"{done.matches:,} matches against version {done.version} in {done.seconds:.1f} s, {rate:,.0f} events/s")
    print(f"{out}/matches: the matches" + (f"; {out}/rejected: the rejected events" if kept else ""))
