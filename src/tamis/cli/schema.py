"""Check, infer or extend a schema.

tamis schema check auctions.toml --events listings.jsonl
tamis schema infer listings.jsonl --out auctions.toml
tamis schema extend auctions.toml --by additions.toml --out auctions2.toml
"""

from __future__ import annotations

import argparse
import sys
import warnings

from tamis.cli.files import read_events, write_text
from tamis.errors import EventError, TwinDomainWarning
from tamis.model import Schema

_SHOWN = 3


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    check = verbs.add_parser("check", help="read a schema, and events against it")
    check.add_argument("schema", metavar="TOML")
    check.add_argument("--events", metavar="JSONL", help="events as JSON lines, or - for standard input")
    infer = verbs.add_parser("infer", help="propose a schema from sample events")
    infer.add_argument("events", metavar="JSONL", help="events as JSON lines, or - for standard input")
    infer.add_argument("--out", metavar="TOML", help="where to write it; standard output if not given")
    extend = verbs.add_parser("extend", help="add domains, attributes, optional uses and event types; never change any")
    extend.add_argument("schema", metavar="TOML")
    extend.add_argument("--by", metavar="TOML", required=True, help="what to add, written as a schema of its own")
    extend.add_argument("--out", metavar="TOML", help="where to write it; standard output if not given")


def run(arguments: argparse.Namespace) -> int:
    return {"check": _check, "infer": _infer, "extend": _extend}[arguments.verb](arguments)


def _check(arguments: argparse.Namespace) -> int:
    schema = Schema.load(arguments.schema)
    print(
        f"{arguments.schema}: {len(schema.attributes)} attributes, {len(schema.domains)} named domains, "
        f"{len(schema.event_types)} event types"
    )
    return 0 if arguments.events is None else _check_events(schema, arguments.events)


def _check_events(schema: Schema, path: str) -> int:
    refused: list[tuple[int, EventError]] = []
    count = 0
    for count, raw in enumerate(read_events(path), 1):
        try:
            schema.event(raw)
        except EventError as error:
            refused.append((count, error))
    print(f"{path}: {count - len(refused)} events accepted, {len(refused)} refused")
    for number, refusal in refused[:_SHOWN]:
        print(f"  event {number}: {refusal}")
    if len(refused) > _SHOWN:
        print(f"  … and {len(refused) - _SHOWN} more")
    return 2 if refused else 0


def _infer(arguments: argparse.Namespace) -> int:
    write_text(arguments.out, Schema.infer(read_events(arguments.events)).dumps())
    return 0


def _extend(arguments: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TwinDomainWarning)
        extended = Schema.load(arguments.schema).extend(Schema.load(arguments.by))
    for warning in caught:
        print(f"tamis schema: warning: {warning.message}", file=sys.stderr)
    write_text(arguments.out, extended.dumps())
    return 0
