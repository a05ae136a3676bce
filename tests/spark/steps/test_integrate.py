"""A publisher's columns become events, and what cannot be read is told."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from tamis import spark as ts
from tamis.errors import OptionError
from tamis.model import Schema

pytestmark = pytest.mark.spark

MAPPING = """
publisher = "brocante"
event_id = "ref"
event_types = { column = "rayon", values = { Meubles = ["furniture"], Antik = ["antiques", "furniture"] } }

[attributes]
quantity = "nombre"
price = { column = "prix", type = "decimal(10,2)", factor = 1.08 }
category = { column = "genre", values = { Commode = "chest" } }
material = { column = "matières", split = ";", values = { "chêne" = "oak" } }
sold_at = { column = "vendu", format = "dd/MM/yyyy HH:mm", zone = "Europe/Paris" }
country = { constant = "fr" }
"seller.rating" = "vendeur.note"
"""

DDL = (
    "ref int, rayon string, nombre int, prix string, genre string, `matières` string, vendu string, "
    "vendeur struct<note: int>"
)
ROW = (7, "Antik", 2, "100.00", "Commode", "chêne; pin ;", "31/07/2024 12:00", (5,))


def test_columns_are_renamed_cast_scaled_mapped_split_and_dated(spark: SparkSession) -> None:
    frame = spark.createDataFrame([ROW], DDL)

    [row] = ts.integrate(frame, ts.Mapping.loads(MAPPING)).collect()

    assert (row.event_id, row.publisher, row.unread) == ("brocante:7", "brocante", [])
    event = row.event.asDict(recursive=True)
    sold_at = event.pop("sold_at")
    assert sold_at.astimezone(UTC) == datetime(2024, 7, 31, 10, tzinfo=UTC)
    assert event == {
        "quantity": 2,
        "price": Decimal("108.0000"),
        "category": "chest",
        "material": ["oak", "pin"],
        "country": "fr",
        "seller.rating": 5,
        "event_type": ["antiques", "furniture"],
    }


def test_a_value_the_table_lacks_stays_for_the_schema_to_judge(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "Jouets", 1, "1", "Lit", None, None, None)], DDL)

    [row] = ts.integrate(frame, ts.Mapping.loads(MAPPING)).collect()

    assert (row.event.event_type, row.event.category, row.event.material) == (["Jouets"], "Lit", None)


def test_what_cannot_be_read_is_rejected_with_the_column_and_the_text(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "Meubles", 1, "12,50", "Lit", None, "soon", (1,))], DDL)

    events = ts.integrate(frame, ts.Mapping.loads(MAPPING))
    valid, rejected = ts.validate(events, Schema(open=True))

    assert valid.count() == 0
    [row] = rejected.collect()
    assert (row.rule, row.attribute) == ("R2", "price")
    assert row.reason == "attribute 'price': expected a value of type decimal(10,2) in the column 'prix', found '12,50'"


def test_publishers_with_different_columns_make_one_stream_of_events(spark: SparkSession) -> None:
    other = ts.Mapping.loads('event_types = ["furniture"]\n[attributes]\nprice = "amount"\n')
    first = ts.integrate(spark.createDataFrame([ROW], DDL), ts.Mapping.loads(MAPPING))
    second = ts.integrate(spark.createDataFrame([(3.5,)], "amount double"), other)

    both = first.unionByName(second, allowMissingColumns=True).collect()

    assert sorted((row.event.price, row.event.category) for row in both) == [(3.5, None), (108.0, "chest")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attributes = 3", r"expected a table \[attributes\]"),
        ("[attributes]\nprice = 3", "attribute 'price': expected a column's name or a table, found 3"),
        ("[attributes]\nprice = { colum = 'x' }", "found 'colum'; did you mean 'column'"),
        ("[attributes]\nprice = { factor = 2 }", "expected either a column or a constant"),
        ("[attributes]\nprice = { column = 'x', factor = 'y' }", "factor: expected a number"),
        ("[attributes]\nwhen = { column = 'x', type = 'timestamp' }", "expected no type but format and zone"),
        ("[attributes", "expected TOML"),
    ],
)
def test_a_mapping_that_is_wrong_says_where(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ts.Mapping.loads(text)


def test_a_missing_column_is_named_with_the_nearest_one(spark: SparkSession) -> None:
    mapping = ts.Mapping.loads('[attributes]\nprice = "priix"\n')

    with pytest.raises(
        OptionError, match=r"attribute 'price': expected a column 'priix', found ref, .*did you mean 'prix'"
    ):
        ts.integrate(spark.createDataFrame([ROW], DDL), mapping)
