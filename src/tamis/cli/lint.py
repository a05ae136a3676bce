"""What is wrong with subscriptions: dead, equal, covered, misspelt or dear ones.

tamis lint --schema auctions.toml --subscriptions subscriptions.parquet --events listings.jsonl
tamis lint alerts/ --events listings.jsonl --out findings.parquet

Subscriptions are a file (Parquet, JSON lines or CSV, with columns `id` and `expression`), or PATH, the folder of a
durable engine or the file of a saved one. Without --schema they may name any attribute. Of --events the first ten
thousand are looked at: which attributes and kinds of values are there at all? --out writes every finding, as Parquet,
JSON lines or CSV. Exit codes: 0 nothing to mend, 1 something found, 2 your mistake.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis import Engine, Schema
from tamis.cli.check import FILE, FOLDER, kind_of
from tamis.cli.files import read_schema
from tamis.cli.spark_options import spark_installed
from tamis.errors import OptionError

if TYPE_CHECKING:
    from tamis.lint import Report  # brings the compiler with it

_FORMATS = (".parquet", ".jsonl", ".csv")
_LOOKED_AT = 10_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", metavar="PATH", help="a durable engine's folder or a saved engine's file")
    parser.add_argument("--schema", metavar="TOML", help="the schema's file (default: any attribute may come)")
    parser.add_argument("--subscriptions", metavar="PATH", help="columns `id` and `expression`")
    parser.add_argument("--events", metavar="PATH", help="events to compare with")
    parser.add_argument("--out", metavar="FILE", help="all findings, as .parquet, .jsonl or .csv")


def run(arguments: argparse.Namespace) -> int:
    if bool(arguments.path) == bool(arguments.subscriptions):
        raise OptionError("expected PATH or --subscriptions, and not both")
    if arguments.path and arguments.schema:
        raise OptionError("expected --schema with --subscriptions only: PATH has its own")
    if arguments.out and Path(arguments.out).suffix not in _FORMATS:
        raise OptionError(f"--out: expected a name ending in {', '.join(_FORMATS)}, found {arguments.out!r}")
    report = _lint_kept(arguments) if arguments.path else _lint_files(arguments)
    print(report)
    if arguments.out:
        _write(report.to_arrow(), Path(arguments.out))
    return 1 if report.mistakes else 0


def _lint_kept(arguments: argparse.Namespace) -> Report[Any]:
    path = Path(arguments.path)
    kind = kind_of(path)
    if kind not in (FOLDER, FILE):
        raise OptionError(f"{path}: expected an engine's folder or a saved engine, found a Spark index")
    engine: Engine[Any] = Engine.open(path, read_only=kind == FOLDER)
    with engine:
        return engine.lint(_events(arguments.events, engine.schema))


def _lint_files(arguments: argparse.Namespace) -> Report[Any]:
    schema = read_schema(arguments.schema) if arguments.schema else Schema(open=True)
    with spark_installed():
        from tamis.spark.running.data_files import check_there
        from tamis.spark.running.local_files import subscriptions_in

        check_there(arguments.subscriptions)
        table = subscriptions_in(arguments.subscriptions)
    engine: Engine[Any] = Engine(schema, wait=True)
    receipt = engine.subscribe_many(table, on_error="collect")
    return engine.lint(_events(arguments.events, schema)).with_refused(receipt.errors)


def _events(path: str | None, schema: Schema) -> list[Mapping[str, object]] | None:
    if path is None:
        return None
    with spark_installed():
        from tamis.spark.running.data_files import check_there
        from tamis.spark.running.local_files import events_in

        check_there(path)
        return list(islice(_mappings(events_in(path, schema)), _LOOKED_AT))


def _mappings(batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[str, object]]:
    """Events one by one; what is no JSON is none."""
    for batch in batches:
        column = batch.column("event")
        if pa.types.is_struct(column.type):
            yield from (event for event in column.to_pylist() if event is not None)
            continue
        for text in column.cast(pa.binary()).to_pylist():
            try:
                event = json.loads(text)
            except (ValueError, RecursionError, TypeError):
                continue
            if isinstance(event, dict):
                yield event


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, path)
        elif path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        else:
            lines = (json.dumps(row, ensure_ascii=False) for row in table.to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror or error}") from None
