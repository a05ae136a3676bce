"""Events with odd names and numbers have the answers that they have in the process, in every form and plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis import JobError
from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.running.failures import told

pytestmark = pytest.mark.spark

OPEN = Schema(open=True)
NAMES = ("größe", "a-b", "it's", "two words", "dot.ted", "com,ma", "co:lon", "back`tick", "<")
FINITE = (
    '{"a": "NaN"}',
    '{"a": "Infinity", "b": 1e2}',
    '{"a": ["NaN", 1, "x"], "b": 2}',
    '{"NaN": 1e2, "a": "\\"NaN\\"", "b": {"c": "-Infinity"}}',
    '{"a": 12345678901234567890, "b": 0.1}',
)
NOT_FINITE = ('{"a": 1e400}', '{"a": [1, "x", -1e400]}', '{"b": {"a": [1e400]}}', '{"a": "NaN", "b": 1e999}')


def index_of(spark: SparkSession, path: Path, texts: dict[str, str]) -> str:
    frame = spark.createDataFrame(list(texts.items()), "id string, expression string")
    assert ts.index(frame, OPEN, str(path)).rejected == 0
    return str(path)


def pairs_of(matches: DataFrame) -> set[tuple[object, object]]:
    return {(row.event_id, row.subscription_id) for row in matches.collect()}


def in_both_forms(spark: SparkSession, texts: tuple[str, ...]) -> tuple[DataFrame, DataFrame]:
    """JSON text, and the same as a VARIANT."""
    events = spark.createDataFrame(list(enumerate(texts)), "event_id int, event string")
    return events, events.withColumn("event", F.parse_json("event"))


@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_attributes_may_have_any_name(spark: SparkSession, tmp_path: Path, plan: str) -> None:
    path = index_of(spark, tmp_path / "index", {"s": "price < 10"})
    odd = F.struct(F.lit(5).alias("price"), *(F.lit(at).alias(name) for at, name in enumerate(NAMES)))
    events = spark.range(2).select(F.col("id").alias("event_id"), odd.alias("event"))

    found = pairs_of(ts.match(events, path, plan=plan))

    assert found == {(0, "s"), (1, "s")}


@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_words_that_look_like_no_numbers_are_text_in_a_variant_too(
    spark: SparkSession, tmp_path: Path, plan: str
) -> None:
    subscriptions = {"nan": "a = 'NaN'", "far": "a = 'Infinity'", "b": "b >= 0", "c": "b.c = '-Infinity'"}
    path = index_of(spark, tmp_path / "index", subscriptions)
    texts, variants = in_both_forms(spark, FINITE)

    found = pairs_of(ts.match(variants, path, plan=plan))

    assert found == {(0, "nan"), (1, "far"), (1, "b"), (2, "nan"), (2, "b"), (3, "c"), (4, "b")}
    assert found == pairs_of(ts.match(texts, path, plan=plan))


def test_numbers_past_a_double_are_refused_in_a_variant_as_in_text(spark: SparkSession, tmp_path: Path) -> None:
    path = index_of(spark, tmp_path / "index", {"s": "a = 'Infinity' or b = 'NaN' or a = 'NaN'"})
    texts, variants = in_both_forms(spark, NOT_FINITE)

    valid, rejected = ts.validate(variants, OPEN)
    reasons = {row.event_id: (row.attribute, row.reason) for row in rejected.collect()}

    assert valid.count() == 0
    assert "expected a finite number, found inf" in reasons[0][1]
    assert len(reasons) == len(NOT_FINITE)
    for plan in ("everywhere", "groups"):
        with pytest.raises(JobError, match="expected a finite number"), told():
            ts.match(variants.filter("event_id = 0"), path, plan=plan).collect()
    same = {row.event_id: (row.attribute, row.reason) for row in ts.validate(texts, OPEN)[1].collect()}
    assert {at: same[at] for at in (0, 1, 2)} == {at: reasons[at] for at in (0, 1, 2)}


def test_what_a_variant_has_lost_is_refused(spark: SparkSession) -> None:
    """As text, 10^400 is a number; `parse_json` has made it infinite before anybody could ask."""
    _, variants = in_both_forms(spark, (f'{{"a": 1{"0" * 400}}}',))
    made = spark.sql("select 1 as event_id, to_variant_object(named_struct('a', double('NaN'))) as event")

    rejected = ts.validate(variants.unionByName(made), OPEN)[1].collect()

    assert {row.reason.rpartition(" ")[2] for row in rejected} == {"inf", "nan"}


def test_a_variant_is_analyzed_as_its_text_is(spark: SparkSession) -> None:
    texts, variants = in_both_forms(spark, FINITE)

    assert ts.analyze(variants) == ts.analyze(texts)
