"""Saved, opened, and the same engine again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, OptionError, Schema, SegmentError
from tamis.workloads import auctions
from tests.strategies import expressions, raw_events, schemas


def test_an_opened_engine_answers_as_the_saved_one(tmp_path: Path) -> None:
    engine = Engine(Schema.loads(auctions.SCHEMA))
    engine.subscribe_many(auctions.subscriptions(60))
    engine.unsubscribe(engine.ids()[3])
    engine.subscribe(engine.ids()[0], "price < 100")
    events = [event for number, event in enumerate(auctions.listings(40)) if number != 17]

    engine.save(tmp_path / "auctions.tamis")
    opened = Engine.open(tmp_path / "auctions.tamis")

    assert opened.schema == engine.schema
    assert (opened.algorithm, opened.ids()) == (engine.algorithm, engine.ids())
    assert [opened.match(event) for event in events] == [engine.match(event) for event in events]
    opened.check()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_engine_survives_the_round_trip(data: st.DataObject, tmp_path: Path) -> None:
    schema = data.draw(schemas())
    ids = data.draw(st.lists(st.text(max_size=4) | st.integers(-(2**63), 2**63), max_size=4, unique=True))
    engine = Engine(schema)
    engine.subscribe_many([(id, data.draw(expressions(schema))) for id in ids])
    event = data.draw(raw_events(schema))

    engine.save(tmp_path / "engine")
    opened = Engine.open(tmp_path / "engine")

    assert opened.schema == schema
    assert opened.ids() == ids
    assert [opened.expression(id) for id in ids] == [engine.expression(id) for id in ids]
    assert opened.match(event) == engine.match(event)


def test_saving_again_replaces_the_file(tmp_path: Path) -> None:
    engine = Engine()
    engine.subscribe("ann", "price < 200")
    engine.save(tmp_path / "engine")
    engine.subscribe("bob", "price < 300")

    engine.save(str(tmp_path / "engine"))

    assert Engine.open(str(tmp_path / "engine")).ids() == ["ann", "bob"]
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


def test_an_engine_may_be_opened_with_another_algorithm(tmp_path: Path) -> None:
    Engine().save(tmp_path / "engine")

    assert Engine.open(tmp_path / "engine", algorithm="naive").algorithm == "naive"
    with pytest.raises(OptionError, match="did you mean 'naive'"):
        Engine.open(tmp_path / "engine", algorithm="nave")


def test_opening_what_is_not_there_is_a_segment_error(tmp_path: Path) -> None:
    with pytest.raises(SegmentError, match="nothing: expected a saved engine: No such file") as caught:
        Engine.open(tmp_path / "nothing")

    assert caught.value.path == str(tmp_path / "nothing")
