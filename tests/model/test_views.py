"""Views are kept, and an event's check costs what the event has; what it says is what looking at every use says."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import ItemsView
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tamis.errors import EventError
from tamis.model import EVENT_TYPE, Attribute, Number, Schema, Use
from tamis.model import schema as schema_module

NAMES = [f"a{at}" for at in range(6)]
ATTRIBUTES = {name: Attribute(name, Number()) for name in NAMES}


def draw_schema(draw: random.Random) -> Schema:
    types = {
        event_type: {name: Use(draw.random() < 0.4, draw.random() < 0.4) for name in draw.sample(NAMES, 5)}
        for event_type in ("t", "u", "v")
    }
    return Schema(attributes=ATTRIBUTES, event_types=types)


def draw_event(draw: random.Random) -> dict[str, object]:
    raw: dict[str, object] = {EVENT_TYPE: draw.choices(("t", "u", "v"), k=draw.randint(1, 3))}
    for name in draw.sample(NAMES, draw.randint(2, 6)):
        raw[name] = draw.choice((1, [1, 1.0], [1, 2], [1, 2, 3], None, 5))
    return raw


def said_use_by_use(schema: Schema, raw: dict[str, object]) -> str | None:
    """What R2 has against an event of known attributes: each use of its types in turn, nothing kept."""
    types = list(dict.fromkeys(raw[EVENT_TYPE]))  # type: ignore[call-overload]
    uses: dict[str, Use] = {}
    for event_type in types:
        for name, use in schema.event_types[event_type].items():
            uses[name] = uses[name].merge(use) if name in uses else use
    shown = ", ".join(map(repr, types))
    title = f"the event type {shown}" if len(types) == 1 else f"the view of the event types {shown}"
    counts = {name: len(set(found) if isinstance(found, list) else {found} - {None}) for name, found in raw.items()}
    for name in raw:
        if counts[name] and name not in uses and name != EVENT_TYPE:
            return f"R3: the attribute {name!r} is not in {title}"
    for name, use in uses.items():
        if use.mandatory and not counts.get(name, 0):
            return f"R2: the mandatory attribute {name!r} of {title} is missing"
        if not use.multiple and counts.get(name, 0) > 1:
            return f"R2: expected one value for the unique attribute {name!r}, found {counts[name]}"
    return None


@pytest.mark.parametrize("seed", range(20))
def test_of_several_mistakes_the_first_in_the_order_of_the_uses_is_told(seed: int) -> None:
    draw = random.Random(f"uses {seed}")
    schema = draw_schema(draw)

    for raw in (draw_event(draw) for _ in range(100)):
        assert said(schema, raw) == said_use_by_use(schema, raw), raw


def said(schema: Schema, raw: dict[str, object]) -> str | None:
    """Without the suggestion of another name."""
    try:
        schema.event(raw)
    except EventError as error:
        return str(error).partition("; did you mean")[0]
    return None


class CountedUses(dict[str, Use]):
    """Uses that count how often somebody walks through them."""

    walks = 0

    def items(self) -> ItemsView[str, Use]:  # type: ignore[override]
        CountedUses.walks += 1
        return super().items()


def test_events_of_the_same_types_walk_through_the_uses_once() -> None:
    uses = CountedUses({name: Use(mandatory=name == "a0") for name in NAMES})
    schema = Schema(attributes=ATTRIBUTES, event_types={"t": uses, "u": uses})
    CountedUses.walks = 0

    for _ in range(10):
        schema.event({EVENT_TYPE: "t", "a0": 1})
        schema.event({EVENT_TYPE: ["t", "u"], "a0": 1, "a1": [2, 2]})
        with pytest.raises(EventError, match="'a0' of the event type 't' is missing"):
            schema.event({EVENT_TYPE: "t", "a1": 1})

    assert CountedUses.walks == 3  # t, and t with u


def test_a_type_that_is_unknown_is_told_every_time() -> None:
    schema = Schema(attributes=ATTRIBUTES, event_types={"t": {}})

    for _ in range(2):
        with pytest.raises(EventError, match="R1: expected a declared event type, found 'x'"):
            schema.view(["t", "x"])


def test_kept_views_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "_VIEWS_ROOM", 40)
    types = {f"t{at}": {name: Use() for name in NAMES} for at in range(3)}
    schema = Schema(attributes=ATTRIBUTES, event_types=types)  # room for four times its 18 names
    draw = random.Random("views")

    for _ in range(200):
        chosen = draw.sample(sorted(types), draw.randint(1, 3))
        assert schema.view(chosen) == Schema(attributes=ATTRIBUTES, event_types=types).view(chosen)
        kept = schema._views._views.values()
        assert sum(len(view.event_types) + len(view.uses) for view in kept) == schema._views._held <= 72


def test_views_are_no_part_of_the_schemas_value() -> None:
    used = Schema(attributes=ATTRIBUTES, event_types={"t": {"a0": Use(mandatory=True)}})
    fresh = replace(used)
    used.event({"a0": 1})

    assert used == fresh
    assert repr(used) == repr(fresh)
    assert pickle.dumps(used) == pickle.dumps(fresh)
    for other in (copy.copy(used), copy.deepcopy(used), pickle.loads(pickle.dumps(used))):  # noqa: S301  # our own bytes
        assert other == used
        assert other.event({"a0": 1}) == used.event({"a0": 1})


def test_a_schema_replaced_or_extended_has_its_own_views() -> None:
    schema = Schema(attributes=ATTRIBUTES, event_types={"t": {"a0": Use()}})
    schema.event({"a0": 1})
    stricter = replace(schema, event_types={"t": {"a0": Use(), "a1": Use(mandatory=True)}})

    assert schema.extend_event_type("t", "a2").event({"a2": 1})
    with pytest.raises(EventError, match="'a1' of the event type 't' is missing"):
        stricter.event({"a0": 1})


def test_threads_share_the_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "_VIEWS_ROOM", 40)
    schema = draw_schema(random.Random("threads"))

    def views(seed: int) -> bool:
        draw = random.Random(seed)
        chosen = [draw.sample(("t", "u", "v"), draw.randint(1, 3)) for _ in range(300)]
        return all(schema.view(one) == replace(schema).view(one) for one in chosen)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(views, range(4)))
    kept = schema._views._views.values()
    assert sum(len(view.event_types) + len(view.uses) for view in kept) == schema._views._held
