"""Lists of records through every door, and how much of them is looked at."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tamis import Engine, EventError, LimitError, Schema
from tamis.language import parse, print_subscription
from tamis.matchers import MATCHERS
from tamis.model.names import MAX_DEPTH

SEED = 19
OPEN = Schema(open=True)
CLOSED = Schema.loads("""
[attributes]
price = "integer"

[attributes.variants]
type = "records"

[attributes.variants.fields]
size = "string"
stock = "integer"
images = { type = "records", fields = { width = "integer" } }

[event_types.shoe]
price = "optional"
variants = "optional multiple"
""")
WORDS = (
    "size = 'S'",
    "size != 'M'",
    "stock > 0",
    "stock is missing",
    "size starts with 'M' and stock < 2",
    "images is present",
)
KIND = pa.schema(
    [
        ("price", pa.int64()),
        (
            "variants",
            pa.list_(
                pa.struct(
                    [
                        ("size", pa.string()),
                        ("stock", pa.int64()),
                        ("images", pa.list_(pa.struct([("width", pa.int64())]))),
                    ]
                )
            ),
        ),
    ]
)


def draw_event(dice: random.Random) -> dict[str, object]:
    def record() -> dict[str, object]:
        images = [{"width": dice.randrange(4)} for _ in range(dice.randrange(3))]
        found = {"size": dice.choice(("S", "M", "MM")), "stock": dice.randrange(3), "images": images}
        return {name: value for name, value in found.items() if dice.random() < 0.8}

    event: dict[str, object] = {"price": dice.randrange(9)}
    return event | ({"variants": [record() for _ in range(dice.randrange(4))]} if dice.random() < 0.9 else {})


def draw_text(dice: random.Random) -> str:
    def inner() -> str:
        words = (
            *WORDS,
            f"any(images: width > {dice.randrange(4)} and width < 3)",
            f"images.width = {dice.randrange(4)}",
        )
        return f" {dice.choice(('and', 'or'))} ".join(dice.sample(words, 1 + dice.randrange(2)))

    texts = (
        f"any(variants: {inner()})",
        f"not any(variants: {inner()})",
        f"variants.stock = {dice.randrange(3)} and variants.size = 'S'",
        f"any(variants.images: width = {dice.randrange(4)})",
        f"variants is {dice.choice(('present', 'missing'))}",
        f"price < {dice.randrange(9)}",
    )
    return f" {dice.choice(('and', 'or'))} ".join(dice.sample(texts, 1 + dice.randrange(2)))


@pytest.mark.parametrize("schema", [OPEN, CLOSED], ids=["open", "closed"])
def test_every_door_gives_the_oracle_s_answers(schema: Schema, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    pairs = [(n, draw_text(dice)) for n in range(150)]
    events = [draw_event(dice) for _ in range(60)]
    engine, oracle = Engine(schema), Engine(schema, algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many(pairs)
    expected = [set(oracle.match(event)) for event in events]
    table = pa.Table.from_pylist(events, KIND)
    chunks = pa.concat_tables([table.slice(0, 7), table.slice(7)])
    lines = "\n".join(map(json.dumps, events)).encode()
    engine.save(tmp_path / "kept")

    with Engine.open(tmp_path / "kept") as engine:
        assert [set(engine.match(event)) for event in events] == expected
        for door in (events, events[:9], table, chunks, table.to_struct_array(), pl.from_arrow(table)):
            assert [set(found) for found in engine.match_many(door)] == expected[: len(door)]
        assert [set(found) for found in engine.match_json(lines)] == expected
        assert any(expected), "nothing matched at all"


def test_a_record_is_looked_at_once_however_many_ask() -> None:
    engine = Engine(OPEN)
    engine.subscribe_many(
        (n, f"any(variants: size = 's{n % 50}' and stock > {n % 7}) and price < {n}") for n in range(700)
    )
    events = [{"price": 5, "variants": [{"size": f"s{n}", "stock": n} for n in range(4)]} for _ in range(20)]

    engine.match_many(events)

    assert engine.stats()["work"]["records_looked_at"] == 20 * 4


def test_events_without_the_list_look_at_no_record() -> None:
    engine = Engine(OPEN)
    engine.subscribe_many(
        [("a", "any(variants: size = 'M')"), ("b", "not any(variants: size = 'M')"), ("c", "price < 5")]
    )

    assert engine.match({"price": 3}) == ["c"]
    assert [list(found) for found in engine.match_many([{"price": 3}] * 20)] == [["c"]] * 20
    assert engine.stats()["work"]["records_looked_at"] == 0


@pytest.mark.parametrize("algorithm", sorted(MATCHERS))
def test_what_nobody_names_breaks_nothing(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many([("a", "price < 5"), ("b", "images.width > 300")])
    event = {"price": 3, "odd": [{"a": [[1]]}, 3], "images": [{"width": 400, "alt": [[2]]}, {"width": 1}, None]}

    assert engine.match(event) == ["a", "b"]
    assert [sorted(found) for found in engine.match_many([event] * 20)] == [["a", "b"]] * 20


def test_a_dotted_list_without_declaration_keeps_a_closed_schema_s_rules() -> None:
    schema = Schema.loads('[attributes]\n"images.width" = "integer"\n[event_types.e]\n"images.width" = "optional"\n')
    engine = Engine(schema)
    engine.subscribe("a", "images.width > 300")

    assert engine.match({"images": [{"width": 400}, {"width": 400}]}) == ["a"]
    with pytest.raises(EventError, match=r"R2: expected one value for the unique attribute 'images.width', found 2"):
        engine.match({"images": [{"width": 400}, {"width": 1}]})
    with pytest.raises(EventError, match=r"R3: the attribute 'images.alt' is not in the event type 'e'"):
        engine.match({"images": [{"alt": "x"}]})


def test_booleans_beside_records_are_told_apart() -> None:
    texts = ["x = true", "x = false", "x != true", "x is present", "x not contains true", "x is missing"]
    for chosen in (texts, texts[:1] + texts[3:], texts[1:2] + texts[3:], texts[3:]):
        engine, oracle = Engine(OPEN), Engine(OPEN, algorithm="naive")
        for one in (engine, oracle):
            one.subscribe_many(enumerate(chosen))
        events = [{"x": x} for x in (True, False, [{}], [{"a": 1}, {}], "a", 1, [True, False], None)] * 3

        assert [sorted(found) for found in engine.match_many(events)] == [oracle.match(event) for event in events]


def test_records_inside_one_another_are_limited() -> None:
    def nested(depth: int) -> dict[str, object]:
        return {"a": [nested(depth - 1)]} if depth else {"b": 1}

    name = ".".join(["a"] * MAX_DEPTH + ["b"])
    engine = Engine(OPEN)
    engine.subscribe("deep", f"{name} = 1")

    assert engine.match(nested(MAX_DEPTH)) == ["deep"]
    with pytest.raises(LimitError):
        OPEN.event(nested(MAX_DEPTH + 1))
    with pytest.raises(LimitError, match="values in one event"):
        OPEN.event({"a": [{"b": n} for n in range(40_000)]})


@pytest.mark.parametrize(
    "text",
    [
        "any(variants: size = 'M' and stock > 0 or any(images: width = 1))",
        "not any(variants: not any(images: width = 1)) and price < 5",
        "not any(variants: stock < 1 and stock > 2)",
        'any("odd list": any = 1 and "any(" = 2)',
        "at least 1 of (any(a: b = 1), not any(a: at least 1 of (b = 1, c = 2)))",
    ],
)
def test_a_normal_form_is_read_back(text: str) -> None:
    found = parse(text, OPEN)

    assert found
    assert parse(print_subscription(found), OPEN) == found


@pytest.mark.parametrize(
    "text",
    [
        "any(a: b < 1 and b > 2)",
        "a is missing and any(a: b = 1)",
        "any(a: b = 1) and not any(a: b = 1)",
    ],
)
def test_a_contradiction_is_reported_and_never_matches(text: str) -> None:
    assert Engine(OPEN).subscribe("it", text).never_matching == ("it",)


def test_an_explanation_counts_the_records() -> None:
    engine = Engine(OPEN)
    engine.subscribe("it", "any(variants: size = 'M' and stock > 0) and not any(variants: size = 'S')")
    lines = engine.explain("it", {"variants": [{"size": "M", "stock": 1}, {"size": "S"}]}).lines

    assert [(line.holds, line.reason) for line in lines] == [(True, "1 of 2 records do"), (False, "1 of 2 records do")]
    assert engine.explain("it", {}).lines[0].reason == "variants is missing"


def test_records_are_inferred_from_samples() -> None:
    samples = [{"price": 1, "variants": [{"size": "M", "images": [{"width": 1}]}, {"stock": 2}]}, {"price": 2}]
    schema = Schema.infer(samples)

    assert 'variants = { type = "records", fields = { size = "string", images = ' in schema.dumps()
    assert Schema.loads(schema.dumps()) == schema
    assert all(schema.event(sample).values for sample in samples)
