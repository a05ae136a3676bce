"""Every operator on Spark: what the naive matcher says of the same texts and events, by both plans."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import Engine, Schema
from tamis import spark as ts
from tamis.language import parse
from tamis.model import (
    Attribute,
    Boolean,
    Conjunction,
    Enumerated,
    Hierarchical,
    Integer,
    Number,
    Operator,
    Records,
    String,
    Threshold,
    Timestamp,
    Untyped,
)
from tests.strategies import LIST, Dice, make_event, make_expression

pytestmark = pytest.mark.spark

SEED = 16
KINDS = Hierarchical.of({"table": (), "dining table": ("table",), "it's": ("table",), "and": ("dining table",)})
DOMAINS = {
    "a": Number(),
    "b": String(),
    "price": Integer(0, 5),
    "timestamp": Timestamp(),
    "seller.rating": Untyped(),
    "in": Boolean(),
    "dining room": Enumerated(("XVI", "XVII", "é", "oak"), (("XVI", "XVII"), ("XVII", "é"))),
    "Größe": KINDS,
    "kind": KINDS,
    LIST: Records.of({"a": Number(), "b": String()}),
}
SCHEMA = Schema(attributes={name: Attribute(name, domain) for name, domain in DOMAINS.items()})


def operators(conjunctions: Iterable[Conjunction]) -> Iterator[Operator]:
    for predicate in (one for conjunction in conjunctions for one in conjunction):
        yield predicate.operator
        if isinstance(predicate.operand, Threshold):
            yield from operators(one for member in predicate.operand.members for one in member)


def plain(raw: object) -> object:
    """As JSON has it."""
    if isinstance(raw, Decimal):
        return int(raw) if raw == int(raw) else float(raw)
    assert isinstance(raw, date | datetime)
    return raw.isoformat()


@pytest.fixture(scope="module")
def texts() -> list[tuple[int, str]]:
    dice = Dice(random.Random(SEED).randrange)
    partial = [f"not Größe {operator} @kind" for operator in ("<", "<=", ">", ">=")]  # elsewhere said in other words
    return list(enumerate([*partial, *(make_expression(dice, SCHEMA) for _ in range(696))]))


@pytest.fixture(scope="module")
def events() -> list[str]:
    dice = Dice(random.Random(SEED).randrange)
    return [json.dumps(make_event(dice, SCHEMA), default=plain, ensure_ascii=False) for _ in range(120)]


def expected(texts: list[tuple[int, str]], events: list[str]) -> set[tuple[str, int]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(texts)
    return {(str(at), int(id)) for at, event in enumerate(events) for id in engine.match(json.loads(event))}


def test_the_texts_have_every_operator(texts: list[tuple[int, str]]) -> None:
    found = {one for _, text in texts for one in operators(parse(text, SCHEMA))}

    assert set(Operator) - found == set()


def test_spark_says_what_naive_says(
    spark: SparkSession, tmp_path: Path, texts: list[tuple[int, str]], events: list[str]
) -> None:
    path, columns = tmp_path / "index", "id bigint, expression string"
    first, later = texts[:500], [(at, texts[(at * 7) % 700][1]) for at in range(400, 700)]
    ts.index(spark.createDataFrame(first, columns), SCHEMA, path)
    rows = spark.createDataFrame([(str(at), event) for at, event in enumerate(events)], "event_id string, event string")

    before = ts.match(rows, path, plan="everywhere").collect()
    ts.update(path, spark.createDataFrame(later, columns))
    after = ts.match(rows, path, plan="groups").collect()

    for found, told in ((before, first), (after, [*first[:400], *later])):
        pairs = [(row.event_id, row.subscription_id) for row in found]
        assert len(pairs) == len(set(pairs)) > 1000
        assert set(pairs) == expected(told, events)
