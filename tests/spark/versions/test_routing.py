"""Keys err on one side only: what they promise, the expression needs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tamis.model import Schema
from tamis.spark.versions.routing import with_key

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads("""
[attributes]
price = "number"
name = "string"
tags = "string"
sold_at = "timestamp"
flag = "boolean"
pain = "string"
grade = { type = "enumerated", values = ["a", "b"] }

[event_types.lot]
price = "optional"
""")

KEYS = {
    "name = 'a b'": "name|s|a b",
    "name='x' and price < 3": "name|s|x",
    "price < 3 and NAME = 'x'": "price",  # names are case-sensitive, and NAME is not declared
    "price < 3 and name = 'x' and tags contains y": "name|s|x",
    "price >= -2.5 AND tags CONTAINS y": "tags|s|y",
    "price = 5": "price|n|5",
    "price = 007": "price|n|7",
    "price = -0": "price|n|0",
    "price = 5.0": "*",
    "price = 1234567890123456789012": "*",
    "event_type contains lot and price < 3": "event_type|s|lot",
    "grade = 'a' and not (price < 3)": "grade|s|a",
    "name = 'it''s'": "*",
    "name = 'x' or price < 3": "*",
    "name = 'x'\nor price < 3": "*",
    "at least 1 of (name = 'x', price < 3)": "*",
    "not at least 1 of (name = 'x', price < 3)": "*",
    "any(name: name = 'x')": "*",
    "not any (name: name = 'x')": "*",
    "price < 3 and any(name: name = 'x')": "price",
    "name = 'x' and any(tags: name = 'y' and price < 3)": "name|s|x",
    "name = 'x' and (price < 3 or price > 5)": "*",
    "not name = 'x'": "*",
    "(name = 'x')": "*",
    "name = grade": "*",
    "name = @grade and price < 3": "*",
    "name = 'x and tags = ''y'' and z'": "*",
    "name != 'x and tags = ' and grade = 'a'": "grade|s|a",
    "sold_at = '2024-01-01'": "*",
    "sold_at = '2024-01-01' and name = 'x'": "*",
    "flag = true and name = 'x'": "*",
    "tags contains true": "tags",
    "tags not contains 'x'": "*",
    "pain is missing": "*",
    "pain is present": "*",
    "price in (1, 2)": "price",
    "price not in (1, 2)": "*",
    "price between 1 and 2 and name = 'x'": "price",
    "name starts with 'or'": "*",  # the word or, even in quotes, ends the attempt
    "name starts with 'ab'": "name",
    "": "*",
}


def test_keys_promise_only_what_the_expression_needs(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(text,) for text in KEYS], "expression string")

    rows = with_key(frame, SCHEMA).collect()

    assert {row.expression: row.key.replace("\x1f", "|") for row in rows} == KEYS
