"""What `match` does with events that are refused, that match nothing, and with the columns beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tamis import Engine, OptionError, Schema
from tamis import spark as ts

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads("""
[attributes]
price = "number"
colour = "string"
at = "timestamp"
""")
SUBSCRIPTIONS = [
    ("cheap", "price < 20"), ("late", "at > timestamp '2024-06-01'"), ("red", "colour = 'red'"), ("odd", "price <"),
]  # fmt: skip
ROWS = [
    ("e0", "x", Decimal("19.99"), "red", datetime(2024, 5, 1, tzinfo=UTC)),
    ("e1", "y", Decimal("20.00"), None, datetime(2024, 5, 1, tzinfo=UTC)),
    ("e2", "z", None, "red", datetime(2024, 7, 1, 12, 30, tzinfo=UTC)),
    ("e3", "z", Decimal("7.00"), None, None),
]
WIDE = "id string, shop string, price decimal(38, 18), colour string, at timestamp"
PLANS = ["everywhere", "groups"]


@pytest.fixture(scope="module")
def index(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options") / "index"
    ts.index(spark.createDataFrame(SUBSCRIPTIONS[:3], "id string, expression string"), SCHEMA, path)
    return path


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, WIDE)


def expected() -> dict[str, set[str]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(SUBSCRIPTIONS[:3])
    names = ("price", "colour", "at")
    return {row[0]: set(engine.match(dict(zip(names, row[2:], strict=True)))) for row in ROWS}  # type: ignore[misc]


@pytest.mark.parametrize("plan", PLANS)
def test_columns_beside_the_event_are_kept_and_one_has_its_id(index: Path, events: DataFrame, plan: str) -> None:
    found = ts.match(events, index, keep=["shop"], event_id="id", plan=plan)
    lists = ts.match(events, index, keep=["shop"], event_id="id", plan=plan, explode=False)
    counts = ts.count_matches(events, index, keep=["shop"], event_id="id", plan=plan)

    shops = {row[0]: row[1] for row in ROWS}
    pairs = {(event, shops[event], id) for event, ids in expected().items() for id in ids}
    assert found.columns == ["event_id", "shop", "subscription_id", "index_version"]
    assert {(row.event_id, row.shop, row.subscription_id) for row in found.collect()} == pairs
    assert {(row.event_id, row.shop, id) for row in lists.collect() for id in row.subscription_ids} == pairs
    assert {(row.event_id, row.shop): row.match_count for row in counts.collect()} == {
        (event, shops[event]): len(ids) for event, ids in expected().items() if ids
    }


@pytest.mark.parametrize("plan", PLANS)
def test_events_that_match_nothing_are_kept_on_request(index: Path, events: DataFrame, plan: str) -> None:
    asked = {"event_id": "id", "keep": ["shop"], "plan": plan, "unmatched": True}
    lists = ts.match(events, index, explode=False, **asked).collect()
    rows = ts.match(events, index, **asked).collect()
    counts = ts.count_matches(events, index, **asked).collect()

    assert {row.event_id: set(row.subscription_ids) for row in lists} == expected()
    assert {row.event_id: row.match_count for row in counts} == {one: len(ids) for one, ids in expected().items()}
    assert len(lists) == len(counts) == len(ROWS)
    assert {(row.event_id, row.subscription_id) for row in rows} == {
        (event, id) for event, ids in expected().items() for id in ids or {None}
    }


@pytest.mark.parametrize("plan", PLANS)
def test_what_is_refused_is_skipped_or_collected(spark: SparkSession, index: Path, plan: str) -> None:
    good = [("g1", '{"price": 3}'), ("g2", '{"colour": "red"}')]
    bad = [("b1", '{"price": "dear"}'), ("b2", "{"), ("b3", '{"size": 3}')]
    events = spark.createDataFrame([bad[0], good[0], bad[1], good[1], bad[2]], "event_id string, event string")
    wanted = {("g1", "cheap"), ("g2", "red")}

    skipped = ts.match(events, index, plan=plan, on_error="skip")
    matches, rejected = ts.match(events, index, plan=plan, on_error="collect")

    for found in (skipped, matches):
        assert {(row.event_id, row.subscription_id) for row in found.collect()} == wanted
    assert {(row.event_id, row.rule, row.attribute) for row in rejected.collect()} == {
        ("b1", "R2", "price"), ("b2", None, None), ("b3", "R3", "size"),
    }  # fmt: skip
    counted = ts.count_matches(events, index, plan=plan, on_error="skip", unmatched=True).collect()
    assert {row.event_id for row in counted} == {"g1", "g2"}


def test_subscriptions_that_cannot_be_read_are_skipped_collected_or_raised(spark: SparkSession, tmp_path: Path) -> None:
    given = spark.createDataFrame(SUBSCRIPTIONS, "id string, expression string")

    collected = ts.index(given, SCHEMA, tmp_path / "collected")
    skipped = ts.index(given, SCHEMA, tmp_path / "skipped", on_error="skip")
    with pytest.raises(OptionError, match="1 subscriptions cannot be read; the first is 'odd'"):
        ts.index(given, SCHEMA, tmp_path / "raised", on_error="raise")

    assert (collected.subscriptions, collected.rejected) == (skipped.subscriptions, skipped.rejected) == (3, 1)
    assert [row.id for row in ts.rejected_subscriptions(tmp_path / "collected").collect()] == ["odd"]
    assert ts.rejected_subscriptions(tmp_path / "skipped").collect() == []
    assert not list((tmp_path / "skipped" / "rejected").iterdir())


def test_who_is_notified_keeps_their_columns(spark: SparkSession, index: Path, events: DataFrame) -> None:
    people = spark.createDataFrame(
        [("cheap", "price < 20", "ann", "fr", 3), ("red", "colour = 'red'", "bob", "en", 5)],
        "id string, expression string, subscriber string, language string, rank int",
    )

    told = ts.notify(ts.match(events, index, event_id="id", keep=["shop"]), people)

    first = ["subscriber", "channel", "subscription_id", "event_id"]
    assert told.columns == [*first, "language", "rank", "shop", "index_version"]
    assert {(row.subscriber, row.language, row.rank, row.shop) for row in told.collect()} == {
        ("ann", "fr", 3, "x"), ("ann", "fr", 3, "z"), ("bob", "en", 5, "x"), ("bob", "en", 5, "z"),
    }  # fmt: skip
    with pytest.raises(OptionError, match="the matches have a column 'shop' too; rename one of them"):
        ts.notify(ts.match(events, index, event_id="id", keep=["shop"]), people.withColumnRenamed("rank", "shop"))


def test_wrong_arguments_are_told_in_our_words(index: Path, events: DataFrame) -> None:
    with pytest.raises(OptionError, match=r"keep: expected one of the columns id, shop, .*, at, found 'shops'"):
        ts.match(events, index, keep=["shops"])
    with pytest.raises(OptionError, match="keep: expected columns as a list of names, found 'shop'"):
        ts.match(events, index, keep="shop")
    with pytest.raises(OptionError, match="event_id: expected one of the columns"):
        ts.match(events, index, event_id="number")
    with pytest.raises(OptionError, match="on_error: expected one of raise, skip, collect, found 'strict'"):
        ts.match(events, index, on_error="strict")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="on_error: expected one of raise, skip, found 'collect'"):
        ts.count_matches(events, index, on_error="collect")
