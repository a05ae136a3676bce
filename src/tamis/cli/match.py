"""Match events against subscriptions: small files in this process, others on Spark.

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
from tamis.cli.spark_options import add_spark_options, spark_installed, start_spark
from tamis.errors import OptionError
from tamis.model import Schema

if TYPE_CHECKING:
    from tamis.spark.running.jobs import Matched

_SMALL = 200_000_000
"""Bytes of text that take a minute here at most, unless nearly every subscription matches nearly every event."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", required=True, metavar="PATH", help="events of the schema; feeds: see integrate")
    parser.add_argument("--schema", metavar="TOML", help="the schema's file; with --index it is the index's own")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--subscriptions", metavar="PATH", help="columns `id` and `expression`")
    source.add_argument("--index", metavar="DIR", help="an index made by `tamis index`")
    parser.add_argument("--version", type=int, help="the index as it stood then (default: the latest)")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    parser.add_argument("--wide", action="store_true", help="arrays of ids instead of a row per match")
    small = f"local files of up to {_SMALL // 10**6} MB"
    parser.add_argument(
        "--on", choices=("auto", "spark", "here"), default="auto", help=f"here: without Java (default: for {small})"
    )
    parser.add_argument("--plan", default="auto", help="on Spark: everywhere or groups (default: by the index's size)")
    parser.add_argument(
        "--on-error", choices=ON_ERROR, default="collect", help="what is refused stops the job, or is left out"
    )
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.subscriptions and not arguments.schema:
        raise OptionError("expected --schema beside --subscriptions, found none")
    given = read_schema(arguments.schema) if arguments.schema else None
    with spark_installed():
        _look_at_files(arguments)
        here = _runs_here(arguments)
    done = _match_here(arguments, given) if here else _match_on_spark(arguments, given)
    _tell(done, arguments.out, kept=arguments.on_error == "collect")
    return 0


def _look_at_files(arguments: argparse.Namespace) -> None:
    """What can be said of the files before Spark is started."""
    from tamis.spark.running.data_files import check_new, check_there, file_format
    from tamis.spark.steps.matching import check_plan
    from tamis.spark.versions.manifest import read_manifest
    from tamis.spark.versions.storage import is_local, storage

    check_plan(arguments.plan)
    check_new(arguments.out)
    for path in filter(None, (arguments.events, arguments.subscriptions)):
        check_there(path)
        if is_local(path):
            file_format(path)
    if arguments.index and is_local(arguments.index):
        read_manifest(storage(arguments.index), arguments.index, arguments.version)


def _runs_here(arguments: argparse.Namespace) -> bool:
    from tamis.spark.running.local_files import local_bytes
    from tamis.spark.versions.storage import is_local

    if arguments.on == "spark":
        return False
    sizes = [local_bytes(path) for path in (arguments.events, arguments.subscriptions) if path]
    reachable = None not in sizes and is_local(arguments.out) and is_local(arguments.index or ".")
    if arguments.on == "here" and not reachable:
        raise OptionError("--on here: expected local files, or folders of files, found others; say --on spark")
    by_itself = sum(size or 0 for size in sizes) <= _SMALL and arguments.plan == "auto"
    return reachable and (arguments.on == "here" or by_itself)


def _match_here(arguments: argparse.Namespace, given: Schema | None) -> Matched:
    from tamis.spark.running.here import HereJob, index_here
    from tamis.spark.running.jobs import new_folder
    from tamis.spark.running.progress import progress_here
    from tamis.spark.versions.storage import join

    with new_folder(arguments.out) as out:
        path = arguments.index or join(out, "index")
        if arguments.subscriptions and given is not None:
            done = index_here(arguments.subscriptions, given, path, arguments.on_error)
            _tell_compiled(done.subscriptions, path, done.rejected, arguments.on_error)
        job = HereJob(arguments.events, path, arguments.version, arguments.wide, arguments.on_error)
        with progress_here("matching", job.tally):
            return job.run(out)


def _match_on_spark(arguments: argparse.Namespace, given: Schema | None) -> Matched:
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
            _tell_compiled(done.subscriptions, path, done.rejected, arguments.on_error)
        job = MatchJob(arguments.events, path, arguments.version, arguments.wide, arguments.plan, arguments.on_error)
        return job.run(spark, out)


def _tell_compiled(count: int, path: str, rejected: int, on_error: str) -> None:
    print(f"{count:,} subscriptions compiled")
    tell_rejected(path, rejected, kept=on_error == "collect")


def _tell(done: Matched, out: str, *, kept: bool) -> None:
    rate = (done.events - done.rejected) / done.seconds
    print(f"{done.events:,} events read, {done.rejected:,} rejected{':' if done.rejected else ''}")
    for id, rule, reason in done.examples:
        print(f"  {id}: {rule + ': ' if rule else ''}{reason}")
    print(f"segments: asked {done.asked:,} times about an event, skipped {done.skipped:,} times")
    print(f"{done.matches:,} matches against version {done.version} in {done.seconds:.1f} s, {rate:,.0f} events/s")
    print(f"{out}/matches: the matches" + (f"; {out}/rejected: the rejected events" if kept else ""))
