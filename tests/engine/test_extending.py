"""A schema that is extended while the engine lives: nothing that is there comes to say something else."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from tamis import Conflict, Engine, EventError, LanguageError, OptionError, Schema, SchemaError, SegmentError

AUCTIONS = Schema.loads(
    """
    [domains.period]
    type = "enumerated"
    values = ["XVI", "XVII"]
    [attributes]
    price = "number"
    period = "period"
    [event_types.antiques]
    price = "mandatory"
    period = "optional"
    """
)
MORE = Schema.loads(
    """
    [attributes]
    price = "number"
    colour = "string"
    [event_types.antiques]
    colour = "optional"
    [event_types.furniture]
    price = "mandatory"
    colour = "mandatory"
    """
)


def _auctions() -> Engine[str]:
    engine = Engine[str](AUCTIONS, wait=True)
    engine.subscribe_many([("low", "price < 10"), ("old", "period = XVI"), ("antique", "event_type = antiques")])
    engine.subscribe("other", "event_type != antiques")
    return engine


def test_old_events_match_as_before_and_new_ones_are_taken() -> None:
    engine, old = _auctions(), {"event_type": "antiques", "price": 5, "period": "XVI"}
    before = engine.match(old)
    with pytest.raises(EventError, match="R1"):
        engine.match({"event_type": "furniture", "price": 5, "colour": "red"})

    schema = engine.extend(MORE)

    engine.check()
    engine.subscribe("red", "colour = red")
    assert schema == engine.schema == AUCTIONS.extend(MORE)
    assert engine.match(old) == before == ["low", "old", "antique"]
    assert engine.match({"event_type": "furniture", "price": 5, "colour": "red"}) == ["low", "other", "red"]
    assert engine.match_many([{"event_type": ["antiques", "furniture"], "price": 50, "colour": "red"}])[0] == [
        "antique",
        "other",
        "red",
    ]


def test_an_extension_that_has_nothing_new_changes_nothing() -> None:
    engine = _auctions()

    assert engine.extend(AUCTIONS) == AUCTIONS


def test_an_extension_that_breaks_a_rule_is_refused() -> None:
    engine = _auctions()

    with pytest.raises(SchemaError, match="another domain"):
        engine.extend(Schema.loads('[attributes]\nprice = "string"\n'))
    assert engine.schema == AUCTIONS


def test_an_extension_under_which_a_subscription_would_say_something_else_is_refused_with_its_id() -> None:
    engine = Engine[str | int](wait=True)
    engine.subscribe_many([("low", "price < 10"), ("odd", "price = '3'"), (7, "price = 'x' or colour = 'red'")])

    with pytest.raises(Conflict, match="'odd', 7") as caught:
        engine.extend(Schema.loads('[attributes]\nprice = "number"\n'))

    assert caught.value.ids == ("odd", 7)
    assert engine.match({"price": "3"}) == ["odd"]
    engine.unsubscribe_many(["odd", 7])
    engine.extend(Schema.loads('[attributes]\nprice = "number"\n'))
    assert engine.match({"price": 3}) == ["low"]
    with pytest.raises(EventError):
        engine.match({"price": "3"})


def test_the_first_event_types_of_a_closed_schema_bind_those_who_name_others() -> None:
    engine = Engine[str](Schema.loads('[attributes]\nprice = "number"\n'), wait=True)
    engine.subscribe("a", "event_type = 'a'")
    engine.subscribe("b", "event_type = 'b'")

    with pytest.raises(Conflict) as caught:
        engine.extend(Schema.loads('[attributes]\nprice = "number"\n[event_types.a]\nprice = "optional"\n'))

    assert "b" in caught.value.ids


def test_contradictions_are_looked_at_as_well() -> None:
    engine = Engine[str](wait=True)
    engine.subscribe("never", "price = 'a' and price = 'b'")

    with pytest.raises(Conflict):
        engine.extend(Schema.loads('[attributes]\nprice = "number"\n'))


def test_another_algorithm_says_that_it_cannot() -> None:
    with pytest.raises(OptionError, match="adaptive"):
        Engine(AUCTIONS, algorithm="naive").extend(MORE)


def test_a_durable_engine_is_extended_on_disk_and_its_readers_follow(tmp_path: Path) -> None:
    with Engine[str].open(tmp_path / "kept", schema=AUCTIONS, create=True) as engine:
        engine.subscribe_many([("low", "price < 10"), ("antique", "event_type = antiques")])
        reader = Engine[str].open(tmp_path / "kept", read_only=True)
        engine.extend(MORE)
        engine.subscribe("red", "colour = red")
        assert reader.refresh()
        assert reader.schema == engine.schema
        assert reader.match({"event_type": "furniture", "price": 5, "colour": "red"}) == ["low", "red"]

    with Engine[str].open(tmp_path / "kept") as again:
        assert again.schema == AUCTIONS.extend(MORE)
        assert again.match({"event_type": "antiques", "price": 5, "colour": "red"}) == ["low", "antique", "red"]


@pytest.mark.parametrize("seed", range(5))
def test_after_extensions_an_engine_answers_as_one_made_with_the_schema(seed: int) -> None:
    chance = random.Random(seed)
    schema, engine, texts = Schema(open=True), Engine[int](wait=True), {}
    for step in range(30):
        name = f"a{chance.randrange(6)}"
        constant = chance.choice(["3", "'3'", "2.5", "true", "'x'"])
        text = f"{name} {chance.choice(['=', '!=', '<'])} {constant} {chance.choice(['', 'or z = 1', 'and z > 0'])}"
        with suppress(LanguageError):
            engine.subscribe(step, text)
            texts[step] = text
        if step % 4 == 3:
            kind = chance.choice(["number", "string", "boolean", "integer"])
            addition = Schema.loads(f'open = true\n[attributes]\na{chance.randrange(6)} = "{kind}"\n')
            try:
                schema = engine.extend(addition)
            except (Conflict, SchemaError):
                assert engine.schema == schema
        fresh = Engine[int](schema, algorithm="naive")
        fresh.subscribe_many(texts)
        events = [{f"a{at}": chance.choice([3, "3", 2.5, True, "x"]) for at in range(6)} | {"z": 1} for _ in range(5)]
        ours = engine.match_many(events, on_error="collect")
        theirs = fresh.match_many(events, on_error="collect")
        assert [sorted(one) for one in ours] == [sorted(one) for one in theirs]
        assert ours.errors == theirs.errors
    engine.check()


# -- checkpoints with marks ---------------------------------------------------------------------------------------


def test_a_marked_engine_is_what_it_was_at_its_last_checkpoint(tmp_path: Path) -> None:
    with Engine[int].open(tmp_path / "kept", schema=AUCTIONS, create=True, marked=True) as engine:
        assert engine.mark == 0
        engine.subscribe_many([(1, "price < 10"), (2, "price < 20")])
        engine.unsubscribe(1)
        engine.checkpoint(17)
        engine.subscribe(3, "price < 30")
        engine.extend(MORE)

    with Engine[int].open(tmp_path / "kept", marked=True) as again:
        assert (again.mark, again.ids(), again.schema) == (17, [2], AUCTIONS)
        again.extend(MORE)
        again.checkpoint(18)
    with Engine[int].open(tmp_path / "kept", marked=True) as again:
        assert (again.mark, again.ids(), again.schema) == (18, [2], AUCTIONS.extend(MORE))
        again.check()


def test_a_checkpoint_writes_no_segment_again(tmp_path: Path) -> None:
    with Engine[int].open(tmp_path / "kept", create=True, marked=True) as engine:
        engine.subscribe_many((at, f"price < {at}") for at in range(100))
        engine.checkpoint(1)
        written = {path.name for path in (tmp_path / "kept").glob("*.seg")}
        engine.subscribe(100, "price < 100")
        engine.extend(Schema.loads('[attributes]\ncolour = "string"\n'))
        engine.checkpoint(2)

        assert written < {path.name for path in (tmp_path / "kept").glob("*.seg")}


def test_marked_and_logged_folders_are_told_apart(tmp_path: Path) -> None:
    Engine[int].open(tmp_path / "marked", create=True, marked=True).close()
    Engine[int].open(tmp_path / "logged", create=True).close()

    with pytest.raises(SegmentError, match="a log that is kept elsewhere"):
        Engine.open(tmp_path / "marked")
    with pytest.raises(SegmentError, match="a log of its own"):
        Engine.open(tmp_path / "logged", marked=True)
    with pytest.raises(OptionError, match="marked=True"):
        Engine().checkpoint(3)
    assert Engine.open(tmp_path / "marked", read_only=True).mark == 0


def test_a_mark_is_a_whole_number(tmp_path: Path) -> None:
    engine = Engine[int].open(tmp_path / "kept", create=True, marked=True)

    for wrong in (-1, True, 1.5, 1 << 63):
        with pytest.raises(OptionError, match="expected a mark"):
            engine.checkpoint(wrong)  # type: ignore[arg-type]
    engine.close()
