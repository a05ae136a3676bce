"""A broker of astronomical alerts: every user's filter over one stream, in one pass.

    python broker.py folder [filters] [alerts]

Draws filters and alerts from a seed, streams the alerts in five files, and adds a filter while the stream runs. Each
match goes to its subscriber's topic. `python -m benchmarks.spark stream` times the usual way, one query per filter.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from tamis import Schema
from tamis import spark as ts

SCHEMA = Schema.load(Path(__file__).with_name("schema.toml"))
CLASSES = ("supernova Ia", "nova", "RR Lyrae", "AGN", "transient")
CATALOGUES = ("gaia", "panstarrs", "ned")
COLUMNS = "id string, expression string, subscriber string, topic string"
FILES = 5


def alerts(count: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Nested records, with what was seen there before as arrays."""
    draw = random.Random(seed)
    for number in range(count):
        seen = draw.randrange(5)
        yield {
            "event_id": f"alert-{number}",
            "event_type": "alert",
            "object": {"ra": round(draw.uniform(0, 360), 4), "dec": round(draw.uniform(-30, 90), 4)},
            "candidate": {
                "magnitude": round(draw.gauss(19, 1.2), 2),
                "band": draw.choice("gri"),
                "score": round(draw.random(), 3),
                **({"class": draw.choice(CLASSES)} if draw.random() < 0.7 else {}),
            },
            "history": {
                "magnitude": [round(draw.gauss(19.5, 1), 2) for _ in range(seen)],
                "band": [draw.choice("gri") for _ in range(seen)],
            },
            "near": {
                "catalogue": draw.sample(CATALOGUES, draw.randrange(3)),
                "distance": [round(draw.random() * 9, 2)],
            },
        }


def filters(count: int, seed: int = 2) -> Iterator[tuple[str, str, str, str]]:
    """What people ask for: a part of the sky, how bright, how certain, which class, near what."""
    draw = random.Random(seed)
    for number in range(count):
        ra, dec = draw.uniform(0, 350), draw.uniform(-30, 85)
        parts = [
            f"object.ra between {ra:.2f} and {ra + draw.uniform(2, 20):.2f}",
            f"object.dec between {dec:.2f} and {dec + draw.uniform(2, 20):.2f}",
            f"candidate.magnitude < {draw.uniform(18, 20.5):.1f}",
            f"candidate.score > {draw.uniform(0.2, 0.8):.2f}",
            f"candidate.class <= '{draw.choice(('transient', 'supernova', 'variable'))}'",
            f"not near.catalogue contains '{draw.choice(CATALOGUES)}'",
            f"history.magnitude > {draw.uniform(18, 20):.1f}",
        ]
        chosen = [parts[draw.randrange(2)], *draw.sample(parts[2:], draw.randrange(2, 5))]
        person = f"user{number % max(count // 10, 1)}"
        yield f"f{number}", " and ".join(chosen), person, f"alerts.{person}"


def arrive(folder: Path, number: int, rows: list[dict[str, object]]) -> None:
    """A file appears whole, by renaming."""
    draft = folder / f".{number}"
    draft.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    os.utime(draft, (1.7e9 + number, 1.7e9 + number))
    draft.rename(folder / f"{number:03}.jsonl")


def broker(spark: SparkSession, folder: Path, filter_count: int, alert_count: int) -> list[str]:
    """All of it; what there is to tell."""
    drawn, index = list(alerts(alert_count)), str(folder / "index")
    (folder / "incoming").mkdir(parents=True)
    for number in range(FILES):
        arrive(folder / "incoming", number, drawn[number::FILES])
    people = spark.createDataFrame(list(filters(filter_count)), COLUMNS)
    bright = ("bright", "candidate.magnitude < 18 and candidate.score > 0.5", "night shift", "alerts.night-shift")
    everybody = people.union(spark.createDataFrame([bright], COLUMNS))
    ts.index(people, SCHEMA, index)

    def add_a_filter(report: ts.BatchReport) -> None:
        if report.batch == 1:  # while the stream runs
            ts.update(index, spark.createDataFrame([bright[:2]], "id string, expression string"))

    outputs = ts.Outputs(rejected=folder / "rejected", notifications=folder / "notifications", people=everybody)
    events = ts.event_files(spark, folder / "incoming", SCHEMA, max_files=1)
    stream = ts.stream(events, index, folder / "checkpoint", outputs, once=True, on_batch=add_a_filter)
    stream.wait()
    told = spark.read.parquet(str(folder / "notifications"))
    topics, late = told.select("topic").distinct().count(), told.filter("subscription_id = 'bright'")
    lines = [one.line() for one in stream.reports]
    lines.append(f"{told.count()} notifications for {topics} topics, {late.count()} by the filter that came later")
    return lines


if __name__ == "__main__":
    place, *counts = sys.argv[1:]
    for line in broker(ts.session(), Path(place), *(map(int, counts or ("10000", "5000")))):
        print(line)
