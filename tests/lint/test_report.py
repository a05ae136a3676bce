"""What lint says of subscriptions, whatever algorithm holds them, and of events that it has seen."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.lint import FindingKind, Report
from tamis.matchers import MATCHERS

SUBSCRIPTIONS = [
    ("ann", "category = 'table' and price < 200"),
    ("bob", "price < 500"),
    ("cyd", "price < 10 and price > 20"),
    ("dan", "Price < 3"),
    ("eve", "at least 2 of (category = 'chair', colour = 'red', price < 1)"),
    ("fay", "category = 'table' and price < 200.0"),
    ("gus", "title contains 'x' or price > 900"),
    ("hal", "sold > '2024-01-01T00:00:00Z'"),
]
EVENTS = [
    {"category": "table", "price": 5, "title": "x y", "sold": datetime(2024, 5, 31, tzinfo=UTC), "tags": ["a", "b"]},
    {"category": "chair", "color": "red"},
]
SCHEMA = Schema.loads(
    """
[attributes]
price = "number"
tags = "string"
title = "string"
size = "integer"
[event_types.one]
price = "optional"
tags = "optional multiple"
title = "optional"
"""
)


def told(report: Report, kind: str) -> list[tuple[object, object, object]]:
    return [(one.id, one.other, one.attribute) for one in report.of(kind)]


@pytest.mark.parametrize("algorithm", list(MATCHERS))
def test_every_algorithm_has_the_same_findings(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many(SUBSCRIPTIONS)
    for event in EVENTS:
        engine.match(event)

    report = engine.lint()

    assert report.subscriptions == len(SUBSCRIPTIONS)
    assert report.events == 2
    assert told(report, "never") == [("cyd", None, None)]
    assert told(report, "equal") == [("fay", "ann", None)]
    assert told(report, "covered") == [("ann", "bob", None)]
    assert told(report, "attribute") == [("dan", None, "Price"), ("eve", None, "colour")]
    assert told(report, "contains") == [("gus", None, "title")]
    assert told(report, "date") == [("hal", None, "sold")]
    assert told(report, "undecided") == [("eve", None, None), ("gus", None, None)]
    assert len(report) == sum(len(report.of(kind)) for kind in FindingKind)
    assert report.mistakes == len(report) - 2


def test_the_nearest_name_is_offered() -> None:
    engine = Engine()
    engine.subscribe_many(SUBSCRIPTIONS)

    sentences = [one.sentence for one in engine.lint(EVENTS).of("attribute")]

    assert sentences == [
        "no event had the attribute 'Price' (2 looked at); did you mean 'price'?",
        "no event had the attribute 'colour' (2 looked at); did you mean 'color'?",
    ]


def test_text_compared_with_numbers_is_told_both_ways() -> None:
    engine = Engine()
    engine.subscribe_many([(1, "n = 3"), (2, "s < 5"), (3, "s < '5'"), (4, "n = '3'"), (5, "n = 3 and s = 'a'")])

    found = engine.lint([{"n": "3", "s": "4"}, {"n": "4", "s": "11"}]).of("kind")

    assert [(one.id, one.attribute) for one in found] == [(1, "n"), (2, "s"), (3, "s"), (5, "n")]
    assert found[0].sentence == "it compares 'n' with numbers, but events had text: that is never true"
    assert "'9' comes after '10'" in found[2].sentence


def test_fields_of_records_are_attributes_and_what_is_asked_of_one_is_compared_by_its_words() -> None:
    engine = Engine()
    engine.subscribe_many(
        [(1, "any(variants: size = 'M')"), (2, "any(variants: size = 'M') and price < 3"),
         (3, "not any(variants: sise = 'L')"), (4, "variants = 3"), (5, "variants.size = 'M'")]
    )  # fmt: skip

    report = engine.lint([{"price": 3, "variants": [{"size": "M"}, {"size": "L"}]}])

    assert told(report, "covered") == [(2, 1, None)]
    assert told(report, "attribute") == [(3, None, "variants.sise")]
    assert told(report, "kind") == [(4, None, "variants")]
    assert told(report, "undecided") == [(1, None, None), (3, None, None)]


def test_a_schema_tells_what_no_event_can_have() -> None:
    engine = Engine(SCHEMA)
    engine.subscribe_many(
        [(1, "title contains 'a' and title contains 'b'"), (2, "title contains 'a'"), (3, "tags contains 'a'"),
         (4, "size = 3"), (5, "title = 'a' and price < 3"), (6, "not title contains 'a'"), (7, "title != 'a'")]
    )  # fmt: skip

    report = engine.lint()

    assert told(report, "never") == [(1, None, None)]
    assert told(report, "contains") == [(1, None, "title"), (2, None, "title")]
    assert told(report, "attribute") == [(4, None, "size")]
    assert told(report, "covered") == [(5, 2, None)]
    assert told(report, "equal") == [(7, 6, None)]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    engine = Engine()
    engine.subscribe_many([("a", "x = 1"), ("b", "x = 2 and y < 3")])

    report = engine.lint([{"x": 1, "y": 2}])

    assert str(report) == "subscriptions: 2, events looked at: 1, nothing to mend"
    assert report.to_arrow().num_rows == 0
    assert repr(report) == "<Report: 2 subscriptions, 0 findings>"


def test_without_subscriptions_there_is_nothing_to_find() -> None:
    assert len(Engine().lint()) == 0


def test_what_costs_much_is_told_with_the_reason() -> None:
    engine = Engine()
    engine.subscribe_many([(at, f"x = {at}") for at in range(20)])
    engine.subscribe("many", " or ".join(f"(a{at} < 1 and b{at} > 2)" for at in range(30)))
    engine.subscribe("pattern", "s like '_%_' and x = 3")
    engine.subscribe("linked", " or ".join(f"a{at} > @b{at}" for at in range(9)))

    dear = {one.id: one.sentence for one in engine.lint().of("dear")}

    assert list(dear) == ["many", "linked", "pattern"]
    assert "30 conjunctions" in dear["many"]
    assert "no literal" in dear["pattern"]
    assert "is worked out for each event" in dear["linked"]


def test_a_report_is_a_table() -> None:
    engine = Engine()
    engine.subscribe_many([(1, "x < 3"), (2, "x < 3"), (3, "x < 2")])

    table = engine.lint().to_arrow()

    assert table.schema.field("id").type == pa.int64()
    assert table.select(["kind", "id", "other"]).to_pylist() == [
        {"kind": "equal", "id": 2, "other": 1},
        {"kind": "covered", "id": 3, "other": 1},
    ]


def test_ids_of_two_types_are_text_in_a_table() -> None:
    engine = Engine()
    engine.subscribe_many([(1, "x < 3"), ("two", "x < 3"), (2**64 - 1, "x < 3")])

    assert engine.lint().to_arrow()["id"].to_pylist() == ["two", str(2**64 - 1)]
    assert engine.lint().to_arrow()["other"].to_pylist() == ["1", "1"]


def test_an_engine_is_as_it_was_and_its_folder_too(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "kept", create=True) as engine:
        engine.subscribe_many(SUBSCRIPTIONS)
        before = engine.stats()

        engine.lint(EVENTS)

        assert engine.stats() == before
    with Engine.open(tmp_path / "kept", read_only=True) as reader:
        assert told(reader.lint(), "equal") == [("fay", "ann", None)]
