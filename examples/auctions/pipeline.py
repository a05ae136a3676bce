"""The five steps by hand, on the files that `tamis demo --out story` wrote: python pipeline.py story"""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path

from tamis import Schema
from tamis import spark as ts

FEEDS = {"gavel": "gavel.jsonl", "brocante": "brocante.csv", "attic": "attic.parquet"}


def main(story: Path) -> None:
    spark = ts.session()
    example = story / "example"
    schema = Schema.load(example / "schema.toml")
    readers = {".jsonl": spark.read.json, ".csv": spark.read.option("header", True).csv, ".parquet": spark.read.parquet}
    events = [
        ts.integrate(readers[Path(file).suffix](str(example / "feeds" / file)), ts.Mapping.load(mapping))
        for name, file in FEEDS.items()
        for mapping in [example / "mappings" / f"{name}.toml"]
    ]
    valid, rejected = ts.validate(reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), events), schema)
    matches = ts.match(valid, str(story / "index"), validated=True)
    people = spark.read.parquet(str(example / "subscriptions.parquet"))
    rejected.groupBy("publisher", "rule").count().orderBy("publisher", "rule").show()
    ts.notify(matches, people).groupBy("subscriber", "channel").count().orderBy("subscriber").show()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
