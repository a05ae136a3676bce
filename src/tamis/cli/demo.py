"""The auction story end to end, on an embedded Spark: three houses, their feeds, people who wait, who hears of what.

tamis demo
tamis demo --subscriptions 5000 --events 2000 --seed 7 --out story/
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tamis.cli.spark_options import add_spark_options, start_spark, whole
from tamis.engine import Engine
from tamis.model import Schema
from tamis.registry.explaining import Explanation
from tamis.workloads.publishers import write_example

if TYPE_CHECKING:
    from tamis.spark.running.story import Notified, Story


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--subscriptions", type=whole, default=3_000, metavar="N", help="how many wishes there are (default 3000)"
    )
    parser.add_argument(
        "--events", type=whole, default=1_000, metavar="M", help="listings per auction house (default 1000)"
    )
    parser.add_argument("--seed", type=whole, default=1, help="another seed, another story (default 1)")
    parser.add_argument("--out", metavar="DIR", help="a new folder for everything (default: a temporary one)")
    add_spark_options(parser)


def run(arguments: argparse.Namespace) -> int:
    start = time.perf_counter()
    print("Three auction houses announce listings of antiques and furniture, each in its own words and currency.")
    print("Starting Spark on this machine takes some seconds …", flush=True)
    spark = start_spark(arguments, new=arguments.out, quick=True)
    from tamis.spark.running.jobs import new_folder
    from tamis.spark.running.story import tell_story

    place = arguments.out or str(Path(tempfile.mkdtemp(prefix="tamis-demo-"), "auctions"))
    with new_folder(place):
        folder = Path(place)
        feeds = write_example(folder / "example", arguments.events, arguments.subscriptions, arguments.seed)
        story = tell_story(spark, folder, feeds)
        _tell_feeds(story)
        _tell_matches(story, Schema.load(folder / "example" / "schema.toml"))
        _tell_where(folder, time.perf_counter() - start)
    return 0


def _tell_feeds(story: Story) -> None:
    total, refused = sum(story.received.values()), sum(story.rejected.values())
    print(f"\n{total:,} listings came in:")
    for name, count in sorted(story.received.items()):
        print(f"  {name:<10} {count:>6,}   from {story.feeds[name]}")
    rules = ", ".join(f"{rule} {count}×" for rule, count in sorted(story.rejected.items()))
    print(f"\n{refused:,} were rejected ({rules or 'no rule broken'}){', for instance:' if story.examples else '.'}")
    for id, rule, reason in story.examples:
        print(f"  {id:<14} {rule}: {reason}")


def _tell_matches(story: Story, schema: Schema) -> None:
    print(f"\n{story.index.subscriptions:,} wishes were compiled into {story.index.segments} segment(s).")
    print(f"{story.matches:,} matches; {story.people:,} people hear of {story.wanted:,} listings, for instance:")
    for one in story.notified:
        print(f"\n  {one.subscriber}, by {one.channel}, of {one.event_id}: {_shown(one)}")
        for line in _reasons(schema, one):
            print(f"      {line}")


def _shown(one: Notified) -> str:
    told = {name: value for name, value in one.event.items() if value is not None}
    return ", ".join(
        f"{name} {' + '.join(value) if isinstance(value, list) else value}" for name, value in told.items()
    )


def _reasons(schema: Schema, one: Notified) -> list[str]:
    """The predicates of the first conjunction that holds."""
    engine = Engine(schema, algorithm="naive")
    engine.subscribe(one.subscription_id, one.expression)
    explanation: Explanation = engine.explain(one.subscription_id, one.event)
    failed = {line.conjunction for line in explanation.lines if not line.holds}
    first = min(line.conjunction for line in explanation.lines if line.conjunction not in failed)
    return [f"{line.text:<40} {line.reason}" for line in explanation.lines if line.conjunction == first]


def _tell_where(folder: Path, seconds: float) -> None:
    print(f"\nEverything lies in {folder} ({seconds:.0f} s with Spark's start):")
    for name, what in (
        ("example", "schema, mappings, feeds and subscriptions"),
        ("index", "the compiled subscriptions"),
        ("matches", "one row per match (Parquet)"),
        ("notifications", "who is to be told, and how (Parquet)"),
        ("rejected", "listings that broke a rule, with the reason (Parquet)"),
    ):
        print(f"  {name:<14} {what}")
    print("\nNext: docs/spark.md shows each step in a notebook; tamis match --help runs it on your own files.")
