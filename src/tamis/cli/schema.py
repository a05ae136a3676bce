"""Check, infer or extend a schema.

tamis schema check auctions.toml --events listings.jsonl
tamis schema infer listings.jsonl --out auctions.toml
tamis schema extend auctions.toml --by additions.toml --out auctions2.toml
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping

from tamis.batches.asking import Refusal, ask
from tamis.cli.files import read_events, read_schema, write_text
from tamis.errors import EventError, OptionError, TwinDomainWarning
from tamis.model import Schema

_SHOWN = 3

_EVENTS = "events as JSON lines, or - for standard input"
_OUT = "where to write it; standard output if not given"


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    line = "read a schema, and events against it"
    check = verbs.add_parser("check", help=line, description=f"{line.capitalize()}. Exit code 2 if any is refused.")
    check.add_argument("schema", metavar="TOML", help="the schema's file")
    check.add_argument("--events", metavar="JSONL", help=_EVENTS)
    line = "propose a schema from sample events"
    infer = verbs.add_parser("infer", help=line, description=f"{line.capitalize()}: a start, to read and edit.")
    infer.add_argument("events", metavar="JSONL", help=_EVENTS)
    infer.add_argument("--out", metavar="TOML", help=_OUT)
    line = "add domains, attributes, optional uses and event types; never change any"
    extend = verbs.add_parser("extend", help=line, description=f"{line.capitalize()}.")
    extend.add_argument("schema", metavar="TOML", help="the schema's file")
    extend.add_argument("--by", metavar="TOML", required=True, help="what to add, written as a schema of its own")
    extend.add_argument("--out", metavar="TOML", help=_OUT)


def run(arguments: argparse.Namespace) -> int:
    return {"check": _check, "infer": _infer, "extend": _extend}[arguments.verb](arguments)


def _check(arguments: argparse.Namespace) -> int:
    schema = read_schema(arguments.schema)
    print(
        f"{arguments.schema}: {len(schema.attributes)} attributes, {len(schema.domains)} named domains, "
        f"{len(schema.event_types)} event types"
    )
    return 0 if arguments.events is None else _check_events(schema, arguments.events)


def _check_events(schema: Schema, path: str) -> int:
    refused: list[tuple[int, Refusal]] = []
    accepted = sum(1 for _ in ask(read_events(path), schema, lambda line, error: refused.append((line, error))))
    print(f"{path}: {accepted} events accepted, {len(refused)} refused")
    for line, refusal in refused[:_SHOWN]:
        print(f"  line {line}: {refusal}")
    if len(refused) > _SHOWN:
        print(f"  … and {len(refused) - _SHOWN} more")
    return 2 if refused else 0


def _infer(arguments: argparse.Namespace) -> int:
    samples = list(_read_samples(arguments.events))
    if not samples:
        raise OptionError(f"{arguments.events}: expected at least one event, found none")
    write_text(arguments.out, Schema.infer(samples).dumps())
    return 0


def _read_samples(path: str) -> Iterator[Mapping[str, object]]:
    """Each event, tried here already, so that the error for one that is refused can name its line."""

    def refuse(line: int, error: Refusal) -> None:
        raise EventError(f"{path}, line {line}: {error}") from None

    for numbered in read_events(path):
        for _ in ask([numbered], Schema(open=True), refuse):
            yield numbered[1]


def _extend(arguments: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TwinDomainWarning)
        extended = read_schema(arguments.schema).extend(read_schema(arguments.by))
    for warning in caught:
        print(f"tamis schema: warning: {warning.message}", file=sys.stderr)
    write_text(arguments.out, extended.dumps())
    return 0
