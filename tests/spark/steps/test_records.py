"""Arrays of structs are lists of records: matched as by the engine, pruned in the JVM, validated by their fields."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis import Engine, Schema
from tamis import spark as ts

pytestmark = pytest.mark.spark

SEED = 19
OPEN = Schema(open=True)
CLOSED = Schema.loads("""
[attributes]
price = "number"
note = "string"

[attributes.variants]
type = "records"

[attributes.variants.fields]
size = "string"
stock = "integer"
note = "string"
images = { type = "records", fields = { width = "integer", alt = "string" } }
""")
SUBSCRIPTIONS = [
    ("dotted", "variants.size = 'M' and variants.stock > 1"),
    ("one", "any(variants: size = 'M' and stock > 1)"),
    ("none", "not any (variants: size = 'M' and stock > 1)"),
    ("deep", "any(variants: size = 'L' and any(images: width > 2))"),
    ("flat", "any(variants.images: width = 3) and price < 5"),
    ("there", "variants is present"),
    ("missing", "variants is missing or variants.images.width = 1"),
    ("few", "at least 2 of (price < 3, any(variants: stock = 0), variants.size contains S)"),
    ("not", "not at least 1 of (price < 3, any(variants: stock = 0))"),
]
ROW = (
    "event_id long, price long, note string, "
    "variants array<struct<size: string, stock: long, note: string, images: array<struct<width: long, alt: string>>>>"
)


def drawn(count: int) -> list[dict[str, object]]:
    dice = random.Random(SEED)

    def images() -> list[dict[str, object]] | None:
        listed = [{"width": dice.randrange(4), "alt": "x"} for _ in range(dice.randrange(3))]
        return dice.choice([listed, listed, None])

    def record() -> dict[str, object] | None:
        found = {"size": dice.choice("SML"), "stock": dice.choice([None, 0, 1, 2]), "note": "n", "images": images()}
        return dice.choice([found, found, found, {}, None])

    lists = [dice.choice([[record() for _ in range(dice.randrange(4))], None]) for _ in range(count)]
    return [{"price": dice.randrange(8), "note": "n", "variants": listed} for listed in lists]


EVENTS = drawn(60)


@pytest.fixture(scope="module")
def structs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("records") / "events")
    names = ("size", "stock", "note", "images")
    rows = [
        {**event, "event_id": at}
        | {"variants": listed and [one and {name: one.get(name) for name in names} for one in listed]}
        for at, event in enumerate(EVENTS)
        for listed in [event["variants"]]
    ]
    spark.createDataFrame(rows, ROW).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module", params=["open", "closed"])
def schema(request: pytest.FixtureRequest) -> Schema:
    return {"open": OPEN, "closed": CLOSED}[request.param]


@pytest.fixture(scope="module")
def index(spark: SparkSession, schema: Schema, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "index"
    frame = spark.createDataFrame(SUBSCRIPTIONS, "id string, expression string")
    assert ts.index(frame, schema, path).rejected == 0
    return path


def expected(schema: Schema) -> set[tuple[object, object]]:
    oracle = Engine(schema, algorithm="naive")
    oracle.subscribe_many(SUBSCRIPTIONS)
    return {(at, id) for at, event in enumerate(EVENTS) for id in oracle.match(event)}


def pairs_of(matches: DataFrame) -> set[tuple[object, object]]:
    return {(row.event_id, row.subscription_id) for row in matches.collect()}


@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_structs_match_as_in_the_engine(structs: DataFrame, index: Path, schema: Schema, plan: str) -> None:
    assert pairs_of(ts.match(structs, index, plan=plan)) == expected(schema)


def test_texts_match_as_in_the_engine(spark: SparkSession, index: Path, schema: Schema) -> None:
    texts = [(at, json.dumps(event)) for at, event in enumerate(EVENTS)]
    frame = spark.createDataFrame(texts, "event_id long, event string")

    assert pairs_of(ts.match(frame, index)) == expected(schema)


def test_fields_of_records_that_nobody_names_are_not_read(structs: DataFrame, index: Path, schema: Schema) -> None:
    plan = ts.match(structs, index)._jdf.queryExecution().executedPlan().toString()
    read = " ".join(re.findall(r"ReadSchema: (.*)", plan))

    assert ("note" in read) is not schema.open
    assert "stock" in read


def test_records_are_validated_by_their_fields(spark: SparkSession) -> None:
    texts = [
        (0, '{"price": 1, "variants": [{"size": "M"}, {}]}'),
        (1, '{"variants": [{"stock": "many"}]}'),
        (2, '{"variants": [{"colour": "red"}]}'),
        (3, '{"variants": [{"size": "M"}, 5]}'),
    ]
    valid, rejected = ts.validate(spark.createDataFrame(texts, "event_id long, event string"), CLOSED)

    assert [row.event_id for row in valid.collect()] == [0]
    assert [(row.event_id, row.rule, row.attribute) for row in rejected.orderBy("event_id").collect()] == [
        (1, "R2", "variants.stock"),
        (2, "R3", "variants.colour"),
        (3, None, "variants"),
    ]


def test_structs_are_validated_and_analyzed(structs: DataFrame) -> None:
    valid, rejected = ts.validate(structs, CLOSED)
    wrong = structs.withColumn("variants", F.array(F.struct(F.lit(1.5).alias("stock"))))

    assert (valid.count(), rejected.count()) == (len(EVENTS), 0)
    assert {(row.rule, row.attribute) for row in ts.validate(wrong, CLOSED)[1].collect()} == {("R2", "variants.stock")}
    assert ts.analyze(structs).events == len(EVENTS)
