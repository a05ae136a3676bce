"""The auction story: a schema, a thousand people who wait, a feed of listings, and who hears of what.

tamis demo
tamis demo --subscriptions 5000 --events 100 --seed 7
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from tamis.engine import Engine
from tamis.errors import EventError
from tamis.matchers.explain import Explanation, Line
from tamis.matches import Matches
from tamis.model import Schema
from tamis.workloads import auctions

_SHOWN = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--subscriptions", type=_whole, default=1_000, metavar="N", help="how many people wait (default 1000)"
    )
    parser.add_argument("--events", type=_whole, default=300, metavar="M", help="how many listings come (default 300)")
    parser.add_argument("--seed", type=_whole, default=1, help="another seed, another story (default 1)")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 999999999, found {text[:40]!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    schema = Schema.loads(auctions.SCHEMA)
    types = " and ".join(schema.event_types)
    print(f"An auction house announces listings of {types}, described by {', '.join(schema.attributes)}.")
    engine = Engine(schema)
    receipt = engine.subscribe_many(auctions.subscriptions(arguments.subscriptions, arguments.seed))
    print(f"\n{receipt.subscribed:,} people wait for something, for instance:")
    for id in engine.ids()[:4]:
        print(f"  {id:<12} {engine.expression(id)}")

    accepted = _sort_out(schema, list(auctions.listings(arguments.events, arguments.seed)))
    start = time.perf_counter()
    matches = engine.match_many(accepted)
    seconds = time.perf_counter() - start
    unwanted = int((matches.counts() == 0).sum())
    print(f"\n{matches.total:,} matches in {seconds:.2f} s; {unwanted} listings interest nobody.")
    _tell(engine, accepted, matches)
    print("\nNext: README.md for twelve lines to copy, docs/language.md for what a subscription may say.")
    return 0


def _sort_out(schema: Schema, listings: list[dict[str, object]]) -> list[dict[str, object]]:
    accepted: list[dict[str, object]] = []
    refused: list[EventError] = []
    for listing in listings:
        try:
            schema.event(listing)
            accepted.append(listing)
        except EventError as error:
            refused.append(error)
    rules = Counter(str(refusal.rule) for refusal in refused)
    broken = ", ".join(f"{rule} {count}×" for rule, count in sorted(rules.items()))
    print(f"\n{len(listings):,} listings come in; {len(refused)} are refused ({broken or 'no rule broken'}):")
    for refusal in refused[:_SHOWN]:
        print(f"  {refusal}")
    return accepted


def _tell(engine: Engine, listings: list[dict[str, object]], matches: Matches) -> None:
    """For each kind of listing the one that fewest people, but some, wait for: the answers one can read."""
    few: dict[str, int] = {}
    for count, row in sorted((count, row) for row, count in enumerate(matches.counts().tolist())):
        if count:
            few.setdefault(_shown(listings[row]["event_type"]), row)
    for row in few.values():
        print(f"\n  {', '.join(f'{name} {_shown(value)}' for name, value in listings[row].items())}")
        for id in matches.for_event(row)[:2]:
            print(f"    → {id}")
            for line in _reasons(engine.explain(id, listings[row])):
                print(f"        {line.text:<40} {line.reason}")


def _reasons(explanation: Explanation) -> list[Line]:
    """The lines of the first conjunction that holds."""
    failed = {line.conjunction for line in explanation.lines if not line.holds}
    first = min(line.conjunction for line in explanation.lines if line.conjunction not in failed)
    return [line for line in explanation.lines if line.conjunction == first]


def _shown(value: object) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list) else str(value)
