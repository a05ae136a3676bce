"""Say whether an event matches a subscription, predicate by predicate.

  tamis explain --subscription "price < 200 and category = 'table'" --event '{"category": "table", "price": 250}'

The answer is printed; the exit code is 0 for "matches" and for "does not match".
"""

from __future__ import annotations

import argparse

from tamis.cli.files import read_schema, read_text
from tamis.engine import Engine
from tamis.model import parse_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", metavar="TOML", help="the schema's file; without it any attribute goes")
    parser.add_argument(
        "--subscription", metavar="EXPR", required=True, help="the expression; docs/language.md says what it may say"
    )
    parser.add_argument(
        "--event", metavar="JSON", required=True, help="the event as a JSON object, @FILE, or - for standard input"
    )


def run(arguments: argparse.Namespace) -> int:
    engine = Engine(read_schema(arguments.schema) if arguments.schema else None)
    engine.subscribe("it", arguments.subscription)
    print(engine.explain("it", parse_json(_event_text(arguments.event))))
    return 0


def _event_text(given: str) -> str:
    if given == "-" or given.startswith("@"):
        return read_text(given.removeprefix("@"))
    return given
