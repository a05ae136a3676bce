"""The auction story: a schema, some thousand subscriptions, a feed of listings, and who hears of what."""

from __future__ import annotations

import argparse
import time
from collections import Counter

from tamis.engine import Engine
from tamis.errors import EventError
from tamis.matches import Matches
from tamis.model import Schema
from tamis.workloads import auctions

_SHOWN = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subscriptions", type=int, default=1_000, metavar="N", help="how many people wait")
    parser.add_argument("--events", type=int, default=300, metavar="M", help="how many listings come")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another story")


def run(arguments: argparse.Namespace) -> int:
    schema = Schema.loads(auctions.SCHEMA)
    engine = Engine(schema)
    receipt = engine.subscribe_many(auctions.subscriptions(arguments.subscriptions, arguments.seed))
    print(f"{receipt.subscribed:,} people wait for something, for instance:")
    for id in engine.ids()[:4]:
        print(f"  {id:<12} {engine.expression(id)}")

    accepted = _sort_out(schema, list(auctions.listings(arguments.events, arguments.seed)))
    start = time.perf_counter()
    matches = engine.match_many(accepted)
    seconds = time.perf_counter() - start
    counts = matches.counts()
    print(f"\n{matches.total:,} matches in {seconds:.2f} s; {int((counts == 0).sum())} listings interest nobody.")
    _tell(engine, accepted, matches)
    print("\nNext: README.md for ten lines to copy, docs/language.md for what a subscription may say.")
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
    """The listings that few people, but some, wait for: the answers one can read."""
    few = sorted((count, row) for row, count in enumerate(matches.counts().tolist()) if count)
    for _, row in few[:_SHOWN]:
        listing = ", ".join(f"{name} {value}" for name, value in listings[row].items())
        print(f"\n  {listing}")
        for id in matches.for_event(row)[:2]:
            print(f"    → {id}")
            for line in engine.explain(id, listings[row]).lines:
                if line.holds:
                    print(f"        {line.text:<40} {line.reason}")
