"""Match events as they arrive, on Spark, until told to stop; every batch once, whatever dies meanwhile.

tamis stream --index index/ --events incoming/ --out result/ --checkpoint checkpoint/
tamis stream --index index/ --events incoming/ --out result/ --checkpoint checkpoint/ --once
tamis stream --index index/ --kafka kafka.bootstrap.servers=host:9092 --kafka subscribe=events --out … --checkpoint …

Files are JSON lines, CSV or Parquet. Writes matches/batch_id=N/, rejected/batch_id=N/ and, with --notify,
notifications/batch_id=N/ under --out, or tables of those names with --sql. Ctrl-C and SIGTERM end it after the batch at
work; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tamis.cli.files import read_schema
from tamis.cli.index import tell_rejected
from tamis.cli.spark_options import add_spark_options, start_spark, whole
from tamis.errors import OptionError

if TYPE_CHECKING:
    from tamis.spark import BatchReport, Outputs, Stream
    from tamis.spark.running.sessions import SparkSession

_LOOK_S = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--events", metavar="DIR", help="a folder in which files of events appear, by renaming")
    source.add_argument("--kafka", metavar="KEY=VALUE", action="append", help="an option of Spark's Kafka connector")
    parser.add_argument("--mapping", metavar="TOML", help="how a publisher's columns become events (with --events)")
    parser.add_argument("--format", choices=("json", "csv", "parquet"), help="of the files (default: by their names)")
    parser.add_argument("--max-files", type=whole, metavar="N", help="files per batch at most")
    subscriptions = parser.add_mutually_exclusive_group(required=True)
    subscriptions.add_argument("--index", metavar="DIR", help="an index; new versions are taken up as they come")
    subscriptions.add_argument("--subscriptions", metavar="PATH", help="compiled into OUT/index when first started")
    parser.add_argument("--schema", metavar="TOML", help="beside --subscriptions")
    parser.add_argument("--notify", metavar="PATH", help="`id`, `subscriber`, `channel`: whom to tell of a match")
    parser.add_argument("--out", required=True, metavar="DIR", help="a folder of this stream's own")
    parser.add_argument("--sql", metavar="URL", help="tables, not folders: sqlite:///…, duckdb:///…, postgresql://…")
    parser.add_argument("--checkpoint", required=True, metavar="DIR", help="where the stream remembers how far it is")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--once", action="store_true", help="take what is there, and end")
    when.add_argument("--every", metavar="TIME", help='begin a batch so often, as "10 seconds" (default: at once)')
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.subscriptions and not arguments.schema:
        raise OptionError("expected --schema beside --subscriptions, found none")
    if arguments.mapping and not arguments.events:
        raise OptionError("expected --events beside --mapping, found none")
    kafka = _kafka_options(arguments.kafka or [])
    spark = start_spark(arguments)
    total = _Total()
    with _told_to_stop() as asked:
        stream = _started(spark, arguments, kafka, total)
        while not stream.wait(_LOOK_S):
            if asked.is_set():
                stream.stop()
                break
    print(total.line(arguments.sql or arguments.out))
    return 0


def _kafka_options(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise OptionError(f"--kafka: expected KEY=VALUE, found {name!r}")
    return {name: text for name, _, text in pairs}


def _started(
    spark: SparkSession, arguments: argparse.Namespace, kafka: dict[str, str], total: _Total
) -> Stream[BatchReport]:
    from tamis import spark as ts
    from tamis.spark.versions.manifest import read_manifest
    from tamis.spark.versions.storage import storage

    index = arguments.index or _compiled(spark, arguments)
    schema = read_manifest(storage(index), index).schema
    mapping = ts.Mapping.load(arguments.mapping) if arguments.mapping else None
    if kafka:
        events = ts.kafka_events(spark, kafka)
    elif mapping is not None:
        events = ts.feed_files(spark, arguments.events, format=arguments.format, max_files=arguments.max_files)
    else:
        events = ts.event_files(spark, arguments.events, schema, format=arguments.format, max_files=arguments.max_files)
    how: dict[str, Any] = {"mapping": mapping, "once": arguments.once, "every": arguments.every}
    return ts.stream(events, index, arguments.checkpoint, _outputs(spark, arguments), on_batch=total.add, **how)


def _outputs(spark: SparkSession, arguments: argparse.Namespace) -> Outputs:
    from tamis import spark as ts
    from tamis.spark.running.data_files import check_there, read_subscriptions
    from tamis.spark.versions.storage import join

    def place(name: str) -> str:
        return arguments.sql or join(arguments.out, name)

    aside = join(arguments.out, "set_aside")
    if arguments.notify is None:
        return ts.Outputs(place("matches"), place("rejected"), set_aside=aside)
    check_there(arguments.notify)
    people = lambda: read_subscriptions(spark, arguments.notify)  # noqa: E731  # read anew for each batch
    return ts.Outputs(place("matches"), place("rejected"), place("notifications"), people, aside)


def _compiled(spark: SparkSession, arguments: argparse.Namespace) -> str:
    """The index of this stream, made of the subscriptions when it first starts."""
    from tamis import spark as ts
    from tamis.spark.running.data_files import read_subscriptions
    from tamis.spark.versions.manifest import latest
    from tamis.spark.versions.storage import join, storage

    path = join(arguments.out, "index")
    if latest(storage(path)) is None:
        done = ts.index(read_subscriptions(spark, arguments.subscriptions), read_schema(arguments.schema), path)
        print(f"{done.subscriptions:,} subscriptions compiled")
        tell_rejected(path, done.rejected, kept=True)
    return path


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C or SIGTERM; a second Ctrl-C interrupts. Spark's handler would cancel its jobs."""
    asked = threading.Event()

    def ask(number: int, _: object) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()
        if sys.stderr.isatty():
            print("stopping after this batch", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Total:
    """What all batches came to; on a terminal each has its line."""

    def __init__(self) -> None:
        self.batches = self.events = self.rejected = self.matches = 0

    def add(self, report: BatchReport) -> None:
        self.batches += 1
        self.events += report.events
        self.rejected += report.rejected
        self.matches += report.matches or 0
        if sys.stdout.isatty():
            print(report.line(), flush=True)

    def line(self, out: str) -> str:
        return (
            f"{self.batches:,} batches, {self.events:,} events, {self.rejected:,} rejected, "
            f"{self.matches:,} matches: {out}"
        )
