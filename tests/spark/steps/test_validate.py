"""Validation on Spark says of each event what `Schema.event` says."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tamis import spark as ts
from tamis.batches.arrow import certain
from tamis.errors import EventError, LimitError, OptionError
from tamis.model import Schema
from tamis.spark.workers.event_reading import raw_events, read_batch
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads("""
[attributes]
price = "number"
quantity = { type = "integer", min = 1, max = 100 }
sold = "boolean"
sold_at = "timestamp"
material = "string"
"seller.rating" = "integer"
grade = { type = "enumerated", values = ["a", "b"] }

[event_types.lot]
price = "mandatory"
quantity = "optional"
sold = "optional"
sold_at = "optional"
material = "optional multiple"
grade = "optional"

[event_types.shop]
"seller.rating" = "mandatory"
quantity = "optional multiple"
""")


def draw_event(draw: random.Random) -> dict[str, object]:
    """Mostly right; every rule is broken now and then."""
    choices: dict[str, list[object]] = {
        "event_type": [["lot"], ["lot", "shop"], ["shop"], ["lot", "lot"], ["car"], [], None],
        "price": [1.5, 3.0, 19.99, float("nan"), float("inf"), None],
        "quantity": [[1], [7, 7], [1, 100], [0], [101], [], [None], [None, 5], None],
        "sold": [True, False, None, None],
        "sold_at": [datetime(2024, 5, 31, 12, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC), None, None],
        "material": [["oak"], ["oak", "brass"], [], ["oak", None], None],
        "seller": [{"rating": 5}, {"rating": None}, None],
        "grade": ["a", "b", "A", None],
        "colour": [None] * 19 + ["brown"],
    }
    return {name: draw.choice(values) for name, values in choices.items()}


DDL = (
    "event_type array<string>, price double, quantity array<int>, sold boolean, sold_at timestamp, "
    "material array<string>, seller struct<rating: bigint>, grade string, colour string"
)


def expected(schema: Schema, raw: dict[str, object]) -> tuple[str | None, str | None, str] | None:
    try:
        schema.event(raw)
    except EventError as error:
        return error.rule, error.attribute, str(error).removeprefix(f"{error.rule}: ")
    except LimitError as error:
        return None, None, str(error)
    return None


def verdicts(events: DataFrame, schema: Schema) -> dict[object, tuple[str | None, str | None, str] | None]:
    valid, rejected = ts.validate(events, schema)
    assert "unread" not in valid.columns
    found: dict[object, tuple[str | None, str | None, str] | None] = {
        row.event_id: None for row in valid.select("event_id").collect()
    }
    for row in rejected.select("event_id", "rule", "attribute", "reason").collect():
        assert row.event_id not in found
        found[row.event_id] = (row.rule, row.attribute, row.reason)
    return found


def test_struct_events_are_judged_as_by_the_schema(spark: SparkSession) -> None:
    draw = random.Random(3)
    raws = [draw_event(draw) for _ in range(1500)]
    frame = spark.createDataFrame(list(enumerate(raws)), f"event_id int, event struct<{DDL}>")

    found = verdicts(frame, SCHEMA)

    assert found == {row: expected(SCHEMA, raw) for row, raw in enumerate(raws)}
    assert {verdict and verdict[0] for verdict in found.values()} == {None, "R1", "R2", "R3"}


def test_json_and_variant_events_are_judged_alike(spark: SparkSession) -> None:
    draw = random.Random(5)
    raws = [*auctions.listings(300), {"event_type": "antiques", "price": 10**25, "quantity": 1, "period": "XVI"}]
    draw.shuffle(raws)
    schema = Schema.loads(auctions.SCHEMA)
    texts = spark.createDataFrame(
        [(row, json.dumps(raw)) for row, raw in enumerate(raws)], "event_id int, event string"
    )

    by_text = verdicts(texts, schema)
    by_variant = verdicts(texts.withColumn("event", F.parse_json("event")), schema)

    assert by_text == {row: expected(schema, raw) for row, raw in enumerate(raws)}
    assert {row: verdict and verdict[:2] for row, verdict in by_variant.items()} == {
        row: verdict and verdict[:2] for row, verdict in by_text.items()
    }


def test_what_is_no_event_is_rejected_with_a_sentence(spark: SparkSession) -> None:
    texts = spark.createDataFrame(
        [(1, "{"), (2, None), (3, "[1]"), (4, '{"a": 1, "event_id": 4}')], "event_id int, event string"
    )

    found = verdicts(texts, Schema(open=True))

    assert found[1] is not None
    assert "expected an event as JSON" in found[1][2]
    assert found[2] == (None, None, "expected an event, found nothing")
    assert found[3] is not None
    assert found[4] is None


def test_decimals_dates_and_timestamps_are_exact(spark: SparkSession) -> None:
    """A feed in any zone, a session in another: the instants are those that were written."""
    frame = spark.sql(
        "select 1 as event_id, named_struct('price', 19.99BD, 'sold_at', timestamp'2024-05-31 12:00:00.000001+02:00',"
        " 'listed', date'2024-05-31', 'local', timestamp_ntz'2024-05-31 12:00:00',"
        " 'attributes', map('size', 3)) as event"
    )
    [raw] = list(raw_events(frame.toArrow()["event"].combine_chunks()))
    assert not isinstance(raw, EventError)
    event = Schema(open=True).event(raw)
    wanted = Schema(open=True).event(
        {
            "price": Decimal("19.99"),
            "sold_at": datetime(2024, 5, 31, 10, 0, 0, 1, tzinfo=UTC),
            "listed": date(2024, 5, 31),
            "local": datetime(2024, 5, 31, 12, tzinfo=UTC),
            "attributes.size": 3,
        }
    )

    assert event == wanted


@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_valid_events_are_matched_alike_with_and_without_a_second_look(
    spark: SparkSession, tmp_path: Path, plan: str
) -> None:
    path = str(tmp_path / "index")
    texts = [
        *(("a", "price < 3"), ("b", "quantity >= 7"), ("c", "grade is missing")),
        ("d", "sold_at > timestamp '0001-01-02T00:00:00Z'"),
    ]
    ts.index(spark.createDataFrame(texts, "id string, expression string"), SCHEMA, path)
    draw = random.Random(8)
    raws = [draw_event(draw) for _ in range(400)]
    structs = spark.createDataFrame(list(enumerate(raws)), f"event_id int, event struct<{DDL}>")

    for events in (structs, structs.selectExpr("event_id", "to_json(event) as event")):
        valid, _ = ts.validate(events, SCHEMA)
        found = [
            {(row.event_id, row.subscription_id) for row in ts.match(valid, path, plan=plan, validated=known).collect()}
            for known in (False, True)
        ]
        counted = ts.count_matches(valid, path, plan=plan, validated=True).collect()

        assert found[0] == found[1]
        assert {id for _, id in found[0]} == {"a", "b", "c", "d"}
        assert sum(row.match_count for row in counted) == len(found[0])


def test_columns_without_an_event_column_are_the_event(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("lot", 5.0), ("lot", None)], "event_type string, price double")

    valid, rejected = ts.validate(frame, SCHEMA)

    assert [row.event.price for row in valid.collect()] == [5.0]
    assert [(row.rule, row.attribute) for row in rejected.collect()] == [("R2", "price")]
    assert len({row.event_id for row in ts.validate(frame, Schema(open=True))[0].collect()}) == 2


def test_an_event_column_of_a_wrong_type_is_told(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="column 'event': expected a struct, JSON text or a VARIANT, found bigint"):
        ts.validate(spark.range(1).withColumnRenamed("id", "event"), SCHEMA)


def test_a_year_that_python_cannot_hold_rejects_one_event(spark: SparkSession) -> None:
    frame = spark.sql(
        "select id as event_id, named_struct('event_type', 'lot', 'price', 1, 'sold_at', "
        "if(id = 1, timestamp_micros(1200000000000000000), timestamp'2024-01-01 00:00:00Z')) as event from range(3)"
    )

    found = verdicts(frame, SCHEMA)

    assert found[0] is None
    assert found[2] is None
    assert found[1] is not None


def test_the_quick_check_never_passes_what_the_schema_refuses() -> None:
    """Sound for slices too, and for types Spark rarely has."""
    draw = random.Random(11)
    raws = [draw_event(draw) for _ in range(4000)]
    array = pa.array(raws, pa.struct([*_arrow_fields()]))[17:]

    passed = certain(array, SCHEMA)

    wrong = [raw for raw, good in zip(raws[17:], passed, strict=True) if good and expected(SCHEMA, raw)]
    assert wrong == []
    right = sum(expected(SCHEMA, raw) is None for raw in raws[17:])
    assert passed.sum() > 0.7 * right


def _arrow_fields() -> list[pa.Field]:
    kinds = {
        "event_type": pa.list_(pa.string()),
        "price": pa.float64(),
        "quantity": pa.list_(pa.int8()),
        "sold": pa.bool_(),
        "sold_at": pa.timestamp("us", "UTC"),
        "material": pa.list_(pa.string()),
        "seller": pa.struct([("rating", pa.int64())]),
        "grade": pa.string(),
        "colour": pa.string(),
    }
    return [pa.field(name, kind) for name, kind in kinds.items()]


def test_what_a_null_list_covers_is_nobodys_value() -> None:
    quantity = pa.ListArray.from_arrays([0, 2, 4, 5], pa.array([1, 2, 0, 101, 7]), mask=pa.array([False, True, False]))
    rating = pa.StructArray.from_arrays([pa.array([5, 5, 5])], names=["rating"])
    events = pa.StructArray.from_arrays(
        [pa.array(["shop"] * 3), rating, quantity], names=["event_type", "seller", "quantity"]
    )

    assert certain(events, SCHEMA).tolist() == [True, True, True]
    assert [len(SCHEMA.event(raw).values) for raw in events.to_pylist()] == [3, 2, 3]


def test_the_only_event_type_is_a_value_of_struct_events_that_leave_it_out() -> None:
    schema = Schema.loads('attributes = { a = "number" }\nevent_types = { only = { a = "optional" } }')
    events = pa.array([{"a": 1.0}, {"a": None}])

    batch = read_batch(events, pa.array([1, 2]), schema).batch

    assert certain(events, schema).all()
    assert [list(map(str, part.values)) for part in batch.parts["event_type"]] == [["only", "only"]]


def test_a_null_event_is_refused_even_where_nothing_is_mandatory() -> None:
    schema = Schema.loads('attributes = { a = "number" }\nevent_types = { only = { a = "optional" } }')

    with pytest.raises(EventError, match="event 2: expected an event, found nothing"):
        read_batch(pa.array([{"a": 1.0}, None]), pa.array([1, 2]), schema)
