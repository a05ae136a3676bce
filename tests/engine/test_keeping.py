"""Saved, opened, and the same engine again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, OptionError, Schema, SegmentError
from tamis.workloads import auctions
from tests.strategies import expressions, raw_events, schemas


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_an_opened_engine_answers_as_the_saved_one(tmp_path: Path, algorithm: str) -> None:
    engine = Engine(Schema.loads(auctions.SCHEMA), algorithm=algorithm)
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
    schema, algorithm = data.draw(schemas()), data.draw(st.sampled_from(["adaptive", "naive"]))
    ids = data.draw(st.lists(st.text(max_size=4) | st.integers(-(2**63), 2**63), max_size=4, unique=True))
    engine = Engine(schema, algorithm=algorithm)
    engine.subscribe_many([(id, data.draw(expressions(schema))) for id in ids])
    event = data.draw(raw_events(schema))

    engine.save(tmp_path / algorithm)
    with Engine.open(tmp_path / algorithm) as opened:
        assert opened.schema == schema
        assert opened.ids() == ids
        assert [opened.expression(id) for id in ids] == [engine.expression(id) for id in ids]
        assert opened.match(event) == engine.match(event)


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_saving_again_replaces_what_was_there(tmp_path: Path, algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe("ann", "price < 200")
    engine.save(tmp_path / "engine")
    engine.subscribe("bob", "price < 300")

    engine.save(str(tmp_path / "engine"))

    assert Engine.open(str(tmp_path / "engine")).ids() == ["ann", "bob"]
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_an_engine_may_be_opened_with_another_algorithm(tmp_path: Path, algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many([("ann", "price < 1"), (7, "price < 2")])
    engine.save(tmp_path / "engine")

    for other in ("naive", "adaptive"):
        with Engine.open(tmp_path / "engine", algorithm=other) as opened:
            assert (opened.algorithm, opened.match({"price": 0})) == (other, ["ann", 7])
    with pytest.raises(OptionError, match="did you mean 'naive'"):
        Engine.open(tmp_path / "engine", algorithm="nave")


def test_opening_what_is_not_there_is_a_segment_error(tmp_path: Path) -> None:
    with pytest.raises(SegmentError, match="nothing: expected a saved engine: No such file") as caught:
        Engine.open(tmp_path / "nothing")

    assert caught.value.path == str(tmp_path / "nothing")


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_an_engine_is_not_opened_under_another_schema(tmp_path: Path, algorithm: str) -> None:
    Engine(Schema.loads(auctions.SCHEMA), algorithm=algorithm).save(tmp_path / "engine")

    Engine.open(tmp_path / "engine", schema=Schema.loads(auctions.SCHEMA)).close()
    with pytest.raises(SegmentError, match="another schema"):
        Engine.open(tmp_path / "engine", schema=Schema(open=True))


def test_an_engine_of_another_schema_replaces_a_saved_one(tmp_path: Path) -> None:
    Engine(Schema.loads(auctions.SCHEMA)).save(tmp_path / "engine")
    engine = Engine()
    engine.subscribe("ann", "colour = 'red'")

    engine.save(tmp_path / "engine")

    with Engine.open(tmp_path / "engine") as opened:
        assert (opened.schema, opened.match({"colour": "red"})) == (engine.schema, ["ann"])


@pytest.mark.parametrize("wrong", [None, 3, [], b"x", object()], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_path_is_told(wrong: object) -> None:
    for call in (Engine.open, Engine().save):
        with pytest.raises(OptionError, match="expected a path, as text or a Path, found "):
            call(wrong)  # type: ignore[arg-type]


def test_options_that_do_not_exist_or_fit_are_told(tmp_path: Path) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "algorithm 'adaptive': there is no option 'thread'": {"thread": 3},
        "algorithm 'tree': there is no option 'thread'": {"algorithm": "tree", "thread": 3},
        "option 'tuning': expected a Tuning, found 3": {"tuning": 3},
        "option 'statistics': expected a Statistics, found 'x'": {"statistics": "x"},
        "option 'folder': expected a Folder, found 3": {"folder": 3},
        "no algorithm is called ": {"algorithm": []},
    }
    for message, options in wrong.items():
        with pytest.raises(OptionError, match=message):
            Engine(**options)
    with pytest.raises(OptionError, match="expected a Schema, found 3"):
        Engine.open(tmp_path / "new", schema=3, create=True)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="there is no option 'thread'"):
        Engine.open(tmp_path / "new", thread=3, create=True)
