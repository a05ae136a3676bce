"""What no region of values tells is found out once per distinct value, however many subscriptions ask."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.model import MIRROR, Untyped
from tamis.segments.ask import linking, plain_values
from tamis.segments.compile import truths

NAMES = ["", "x", "ax", "bax", "b", "xa", "ébax"]
TEXTS = [
    "name ends with 'x'",
    "name ends with 'ax'",
    "name not ends with 'x'",
    "name ends with 'x' and name starts with 'b'",
    "name not ends with 'a' and name != 'b' and price > 3",
    "name ends with 'x' and name > @other",
    "name ends with 'ax' or price < 2",
    "tags contains 'x' and name ends with ''",
]


def engines(texts: list[str] = TEXTS) -> tuple[Engine, Engine]:
    both = Engine(), Engine(algorithm="naive")
    for engine in both:
        engine.subscribe_many(enumerate(texts))
    return both


def events() -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"name": name, "price": price} for name in NAMES for price in (1, 5)]
    found += [{"name": [one, other], "other": "az", "tags": ["x"]} for one in NAMES for other in NAMES]
    return [*found, {"name": 3}, {"name": ["x", 3, True]}, {"name": None, "price": 1}, {}]


def test_a_batch_has_the_naive_answers() -> None:
    engine, oracle = engines()

    answers = [sorted(map(int, ids)) for ids in engine.match_many(events())]

    assert answers == [oracle.match(event) for event in events()]
    assert engine.count_many(events()).tolist() == [len(ids) for ids in answers]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_single_event_has_the_naive_answer(compiled: bool) -> None:
    engine, oracle = engines()
    if compiled:
        engine.match_many(events())  # what is new is compiled

    assert [engine.match(event) for event in events()] == [oracle.match(event) for event in events()]


def test_a_column_of_strings_has_the_naive_answers() -> None:
    engine, oracle = engines()
    table = pa.table({"name": pa.array([*NAMES, None]), "price": pa.array(range(len(NAMES) + 1))})

    answers = [sorted(map(int, ids)) for ids in engine.match_many(table)]

    assert answers == [sorted(map(int, ids)) for ids in oracle.match_many(table)]


def test_truths_survive_on_disk(tmp_path: Path) -> None:
    engine, oracle = engines()
    engine.save(tmp_path / "kept")

    with Engine.open(tmp_path / "kept") as opened:
        assert opened.stats()["attributes"] == engine.stats()["attributes"]
        assert [opened.match(event) for event in events()] == [oracle.match(event) for event in events()]


def test_a_value_is_looked_at_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(Schema.loads('attributes = { name = "string" }'))
    engine.subscribe_many((n, f"name ends with '{n:05}'") for n in range(5_000))
    asked: list[str] = []
    told = truths.Teller.told_many
    monkeypatch.setattr(
        truths.Teller, "told_many", lambda self, texts: asked.extend(texts.to_pylist()) or told(self, texts)
    )

    found = engine.match_many(pa.table({"name": ["a00017", "b00017", "a00017", "c", "04999"]}))

    assert [list(ids) for ids in found] == [[17], [17], [17], [], [4999]]
    assert len(asked) == 4
    assert engine.stats()["work"]["candidates_verified"] <= 5


def test_what_differs_by_its_suffix_alone_is_looked_up_not_tried() -> None:
    engine = Engine(Schema.loads('attributes = { name = "string" }'))
    engine.subscribe_many((n, f"name ends with '{n:05}'") for n in range(5_000))
    engine.match_many([{"name": "a"}])

    (home,) = engine.stats()["homes"]

    assert (home["where"], home["attributes"]) == ("cluster", ["name ends with …"])


def test_every_operator_between_attributes_can_be_settled() -> None:
    assert set(linking._MAY) == set(MIRROR)
    assert all(plain_values.plain_comparison(Untyped(), operator) for operator in MIRROR)
