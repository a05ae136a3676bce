"""Every door gives the same verdicts and the same events as `Schema.event`, whatever the schema and the form."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tamis.batches.arrow import certain
from tamis.batches.asking import Raw, Refusal
from tamis.batches.batch import Batch
from tamis.batches.edge import Events, find_refused, read_batch, read_events
from tamis.batches.json_lines import read_lines
from tamis.errors import EventError, LimitError
from tamis.model import EVENT_TYPE, Event, Kind, Schema, Value
from tests.strategies import Dice, make_event, make_schema

WRONG = (
    *(float("nan"), float("inf"), 2.5, -1, 10**30, True, "XVI", "nowhere", "", "2024-05-31", "\x00", [1, "x"], [[1]]),
    *(datetime(2024, 5, 31, tzinfo=UTC), date(1, 1, 1), Decimal("2.5"), {"x": 1}, {}, [], [None], ["a", "a"], None),
)
Said = tuple[type, str]


def draw_events(dice: Dice, schema: Schema, count: int) -> list[dict[str, object]]:
    """Mostly right; about every third has something of everything else."""
    events = [make_event(dice, schema) for _ in range(count)]
    for event in events:
        if dice.chance(3):
            names = [*event, *schema.names(), "unheard", "seller"]
            event[dice.one(names)] = dice.one(WRONG)
    return events


def said_of(schema: Schema, raw: object) -> Event | Said:
    try:
        if isinstance(raw, EventError):
            raise raw
        return schema.event(raw)  # type: ignore[arg-type]
    except (EventError, LimitError) as error:
        return type(error), str(error)


def values_of(batch: Batch, row: int) -> dict[str, set[Value]]:
    """An event as the columns have it."""
    found: dict[str, set[Value]] = {}
    for name, parts in batch.parts.items():
        assert len({part.kind for part in parts}) == len(parts)
        for part in parts:
            assert (part.rows[1:] >= part.rows[:-1]).all()
            for at, data in zip(part.rows.tolist(), part.values.tolist(), strict=True):
                if at == row:
                    data = bool(data) if part.kind is Kind.BOOLEAN else data
                    found.setdefault(name, set()).add(Value(part.kind, data))
    return found


def check_door(schema: Schema, events: Callable[[], Events], raws: Sequence[object]) -> None:
    """What comes through the door is what `Schema.event` says of the raw events."""
    expected = [said_of(schema, raw) for raw in raws]
    refused: dict[int, Said] = {}
    judged: dict[int, Said] = {}

    def collect(said: dict[int, Said]) -> Callable[[int, Refusal], None]:
        return lambda row, error: said.update({row: (type(error), str(error))})

    batch = read_batch(events(), schema, collect(refused))
    find_refused(events(), schema, collect(judged))

    wrong = {row: said for row, said in enumerate(expected) if not isinstance(said, Event)}
    assert refused == judged == wrong
    assert list(refused) == sorted(refused)
    right = [said for said in expected if isinstance(said, Event)]
    assert batch.size == len(right)
    assert [batch.event(row) for row in range(batch.size)] == right
    assert [values_of(batch, row) for row in range(batch.size)] == [
        {name: set(values) for name, values in event.values.items()} for event in right
    ]
    assert read_events(events(), schema, lambda row, error: None) == right
    trusted = read_batch(_some(events(), [row not in wrong for row in range(len(raws))]), schema, validated=True)
    assert [trusted.event(row) for row in range(trusted.size)] == right
    assert [values_of(trusted, row) for row in range(trusted.size)] == [values_of(batch, r) for r in range(batch.size)]


def _some(events: Events, kept: list[bool]) -> Events:
    if isinstance(events, pa.Table | pa.StructArray):
        try:
            return events.filter(pa.array(kept, pa.bool_()))
        except pa.ArrowNotImplementedError:  # not for runs, nor for views
            rows = [events.slice(row, 1) for row, keep in enumerate(kept) if keep]
            return _together(rows or [events.slice(0, 0)])
    return [event for event, keep in zip(events, kept, strict=True) if keep]


def _together(pieces: list[pa.Table] | list[pa.StructArray]) -> pa.Table | pa.StructArray:
    return pa.concat_tables(pieces) if isinstance(pieces[0], pa.Table) else pa.concat_arrays(pieces)


def as_struct(raws: Iterable[object]) -> pa.StructArray | None:
    """As Arrow guesses the types; None where it cannot, or would change a value."""
    try:
        found = pa.array(raws)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return None
    return found if pa.types.is_struct(found.type) and found.type.num_fields else None


@pytest.mark.parametrize("part", range(8))
def test_every_door_says_what_the_schema_says(part: int) -> None:
    seen: dict[str, int] = dict.fromkeys(("struct", "json"), 0)
    for seed in range(part * 40, part * 40 + 40):
        dice = Dice(random.Random(f"doors {seed}").randrange)
        schema = make_schema(dice)
        raws = draw_events(dice, schema, 12)
        check_door(schema, lambda raws=raws: iter(raws), list(raws))
        lines = [raw for raw in raws if _is_json(raw)]
        text = "\n\n".join(json.dumps(raw) for raw in lines)
        check_door(schema, lambda text=text: [raw for _, raw in read_lines(text)], lines)
        seen["json"] += len(lines)
        for few in (raws, raws[:4], raws[4:8], *([one] for one in raws)):
            struct = as_struct(few)
            if struct is not None:
                check_arrow(schema, struct)
                seen["struct"] += len(struct)

    assert min(seen.values()) > 100, seen


def _is_json(raw: object) -> bool:
    try:
        json.dumps(raw)
    except TypeError:
        return False
    return True


def raws_of(events: pa.Table | pa.StructArray) -> list[Raw]:
    return [_raw(events.slice(row, 1)) for row in range(len(events))]


def _raw(event: pa.Table | pa.StructArray) -> Raw:
    try:
        found: Raw = event.to_pylist(maps_as_pydicts="strict")[0]
    except (OverflowError, ValueError, KeyError) as error:
        return EventError(f"the event holds a value that Python cannot: {error}")
    return found


def check_arrow(schema: Schema, struct: pa.StructArray) -> None:
    """A struct column, the same with other rows around it, a table, a table in chunks."""
    around = pa.concat_arrays([struct, struct]).slice(len(struct) // 2, len(struct))
    table = pa.Table.from_arrays(struct.flatten(), [field.name for field in struct.type])
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    for events in (struct, around, table, chunks):
        check_door(schema, lambda events=events: events, raws_of(events))  # type: ignore[misc]


MOMENTS = [0, -1, 10**6, None, 10**15, -(10**15), 2**62, -(2**62)]
TYPED: dict[str, pa.Array] = {
    "seconds": pa.array([0, -1, None, 253402300799, 253402300800, -62135596800, -62135596801], pa.timestamp("s")),
    "milliseconds": pa.array([0, -1, None, 10**15], pa.timestamp("ms", "UTC")),
    "microseconds": pa.array(MOMENTS, pa.timestamp("us")),
    "microseconds in UTC": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    "microseconds in Paris": pa.array([0, -1, None, 10**15], pa.timestamp("us", "Europe/Paris")),
    "nanoseconds": pa.array([0, None, 10**18], pa.timestamp("ns")),
    "dates": pa.array([0, None, -719162, 2932896, 20000], pa.date32()),
    "long dates": pa.array([0, None, 86_400_000 * 20000], pa.date64()),
    "decimals": pa.array([Decimal("19.99"), None, Decimal("3.00"), Decimal("-0.10")], pa.decimal128(10, 2)),
    "long decimals": pa.array([Decimal(10) ** 60, None, Decimal("0.5")], pa.decimal256(70, 2)),
    "huge integers": pa.array([2**64 - 1, 0, None, 2**63], pa.uint64()),
    "unsigned integers": pa.array([2**63 - 1, 0, None], pa.uint64()),
    "small integers": pa.array([1, 0, None, -128, 127], pa.int8()),
    "reals": pa.array([1.0, 2.5, None, float("nan"), float("-inf"), -0.0]),
    "short reals": pa.array([1.0, 2.5, None, float("nan")], pa.float32()),
    "shorter reals": pa.array([1.0, 2.5, None, float("inf")], pa.float16()),
    "texts": pa.array(["XVI", "it's", None, "é", "", "2024-05-31"]),
    "large texts": pa.array(["XVI", "it's", None, "é"], pa.large_string()),
    "repeated texts": pa.array(["XVI", "XVI", None, "oak"]).dictionary_encode(),
    "bytes": pa.array([b"XVI", None, b"\xff"]),
    "truths": pa.array([True, None, False]),
    "lists": pa.array([["XVI", None], [], None, ["nowhere", "XVI"]]),
    "lists of moments": pa.array([[0, None], [], None, [2**62, 5]], pa.list_(pa.timestamp("us", "UTC"))),
    "lists of a fixed size": pa.array([[1, 2], None, [3, 3]], pa.list_(pa.int64(), 2)),
    "lists of lists": pa.array([[[1]], None, []]),
    "times of day": pa.array([0, None], pa.time32("s")),
    "durations": pa.array([0, None], pa.duration("s")),
    "nothing": pa.nulls(3),
    "fine nanoseconds": pa.array([0, None, 10**18 + 1, -1, -(2**63) + 1, 2**63 - 1], pa.timestamp("ns")),
    "fine nanoseconds in Tokyo": pa.array([0, None, 10**18 + 1, -1], pa.timestamp("ns", "Asia/Tokyo")),
    "nanoseconds that pandas wrote": pa.Array.from_pandas(np.array([1, "NaT", 5], "M8[ns]")),
    "seconds in Tokyo": pa.array(
        [0, None, 253402300799, 253402300799 - 86_400, -62135596800, -62135596800 + 86_400], pa.timestamp("s", "+09:00")
    ),
    "milliseconds in no known zone": pa.array([0, None, 5], pa.timestamp("ms", "Mars/Phobos")),
    "dates with a time": pa.array([86_400_000 * 3 + 5, None, -5], pa.date64()),
    "decimals that are whole": pa.array([Decimal(1), None, Decimal(-3), Decimal(200)], pa.decimal128(10, 0)),
    "decimals of Spark": pa.array([Decimal("19.99"), None, Decimal(7), Decimal("-0.1")], pa.decimal128(38, 18)),
    "fine decimals": pa.array([Decimal("19.990000000000000001"), None, Decimal(7)], pa.decimal128(38, 18)),
    "late fine decimals": pa.array([Decimal("0.5")] * 70 + [Decimal("0.123456789012345678")], pa.decimal128(38, 18)),
    "wide decimals": pa.array([2**53 + 1, None, -(2**53) - 1, 2**53, 5], pa.decimal128(38, 0)),
    "wide decimals with digits": pa.array(
        [Decimal(2**53 + 1), None, Decimal(2**53) + Decimal("0.5"), Decimal("1.5")], pa.decimal128(38, 3)
    ),
    "decimals to be rounded": pa.array(
        [Decimal("0.1") + Decimal(one).scaleb(-17) for one in range(-9, 9)], pa.decimal128(38, 20)
    ),
    "decimals of hundreds": pa.array([Decimal(1200), None, Decimal(-100)], pa.decimal128(5, -2)),
    "shortest decimals": pa.array([Decimal("19.99"), None, Decimal(3)], pa.decimal32(5, 2)),
    "short decimals": pa.array([Decimal("19.99"), None, Decimal(3)], pa.decimal64(12, 2)),
    "whole reals": pa.array([1.0, 3.0, None, -0.0, 2.0**53, 2.0**60, 1e300]),
    "text views": pa.array(["XVI", "it's", None, "é", "a text that is too long to stand in a view"], pa.string_view()),
    "byte views": pa.array([b"XVI", None], pa.binary_view()),
    "bytes of a fixed size": pa.array([b"XVI", None], pa.binary(3)),
    "repeated numbers": pa.array([5, 5, None, 300]).dictionary_encode(),
    "repeated moments": pa.array([0, None, 2**62], pa.timestamp("us")).dictionary_encode(),
    "unused texts": pa.DictionaryArray.from_arrays([1, None, 1], ["nowhere", "XVI", None]),
    "a null among the distinct": pa.DictionaryArray.from_arrays([1, None, 2, 0], ["oak", "XVI", None]),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 3, 6], pa.array(["XVI", None, "é"])),
    "runs of numbers": pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int16()), pa.array([2.5, 3.0])),
    "runs of repeated texts": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["XVI", "é"]).dictionary_encode()),
    "large lists": pa.array([["XVI", None], [], None, ["é", "é"]], pa.large_list(pa.string())),
    "list views": pa.array([[1, None], [], None, [2, 2]], pa.list_view(pa.int64())),
    "large list views": pa.array([["XVI"], [], None, ["é", "XVI"]], pa.large_list_view(pa.string_view())),
    "lists of repeated texts": pa.array(
        [["XVI", "é"], None, ["XVI", None]], pa.list_(pa.dictionary(pa.int8(), pa.string()))
    ),
    "lists of decimals": pa.array([[Decimal("1.5"), None], None, [Decimal(3)]], pa.list_(pa.decimal128(9, 2))),
    "maps": pa.array([[("x", 1), ("y", 2)], None, [], [("x", None)]], pa.map_(pa.string(), pa.int64())),
    "maps with a key twice": pa.array([[("x", 1), ("x", 2)], [("x", 3)]], pa.map_(pa.string(), pa.int64())),
    "maps of numbers": pa.array([[(1, 2)], None], pa.map_(pa.int64(), pa.int64())),
    "structs": pa.array([{"x": 1}, None, {"x": None}]),
    "lists of structs": pa.array([[{"x": 1}], None, []]),
}
DOMAINS = {
    "integer": '"integer"',
    "positive": '{ type = "integer", min = 1 }',
    "short": '{ type = "integer", min = -5, max = 200 }',
    "far": f'{{ type = "integer", min = {-(10**30)}, max = {10**30} }}',
    "beyond": f'{{ type = "integer", min = {10**30} }}',
    **{name: f'"{name}"' for name in ("number", "string", "boolean", "timestamp", "untyped")},
    "enumerated": '{ type = "enumerated", values = ["XVI", "é"] }',
    "hierarchical": '{ type = "hierarchical", parents = { XVI = [], oak = ["XVI"] } }',
}


@pytest.mark.parametrize("typed", [False, True], ids=["no event types", "event types"])
@pytest.mark.parametrize("name", TYPED)
def test_a_column_of_any_type_is_in_a_domain_as_its_rows_are(name: str, typed: bool) -> None:
    types = '[event_types.one]\nv = "optional multiple"\n[event_types.other]\nv = "mandatory"\n' if typed else ""
    column = TYPED[name]
    table = pa.table({"v": column} | ({EVENT_TYPE: ["one"] * len(column)} if typed else {}))

    for domain in DOMAINS.values():
        schema = Schema.loads(f"[attributes]\nv = {domain}\n{types}")
        for one in (table, table.slice(1), table.to_struct_array().combine_chunks()):
            check_door(schema, lambda one=one: one, raws_of(one))  # type: ignore[misc]


BY_COLUMN = {
    "timestamp": (
        *("seconds", "milliseconds", "microseconds in Paris", "nanoseconds", "fine nanoseconds in Tokyo", "dates"),
        *("long dates", "dates with a time", "nanoseconds that pandas wrote", "repeated moments"),
    ),
    "number": (
        *("decimals", "long decimals", "decimals of Spark", "fine decimals", "late fine decimals", "wide decimals"),
        *("wide decimals with digits", "decimals to be rounded", "decimals of hundreds", "shortest decimals"),
        *("short decimals", "huge integers", "small integers", "whole reals", "repeated numbers", "runs of numbers"),
        *("list views", "lists of decimals", "lists of a fixed size"),
    ),
    "integer": ("decimals that are whole", "unsigned integers", "lists of a fixed size"),
    "string": (
        *("texts", "large texts", "text views", "repeated texts", "runs", "runs of repeated texts", "large lists"),
        *("large list views", "lists of repeated texts", "a null among the distinct"),
    ),
    "enumerated": ("unused texts", "runs", "large list views"),
}


@pytest.mark.parametrize(("domain", "name"), [(domain, name) for domain in BY_COLUMN for name in BY_COLUMN[domain]])
def test_columns_of_these_types_are_read_as_columns(domain: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.loads(f"[attributes]\nv = {DOMAINS[domain]}\nw = {DOMAINS[domain]}\n")
    table = pa.table({"v": TYPED[name]})
    held = table if "runs" in name else pa.concat_tables([table, table.slice(1)])
    wrong = [row for row, raw in enumerate(raws_of(held)) if not isinstance(said_of(schema, raw), Event)]
    asked: list[object] = []
    monkeypatch.setattr(Schema, "event", lambda self, raw, used: asked.append(raw))
    refused: list[int] = []

    batch = read_batch(held, schema, lambda row, error: refused.append(row))

    assert not asked
    assert refused == wrong
    assert batch.size == len(held) - len(wrong)


def test_one_event_in_doubt_leaves_the_others_to_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.loads('[attributes]\nn = "integer"\ns = "string"\n')
    table = pa.table({"n": [1.0, 2.5, 3.0, None] * 5, "s": ["a", "b", None, "d"] * 5})
    asked: list[object] = []
    event = Schema.event
    monkeypatch.setattr(Schema, "event", lambda self, raw, used=None: asked.append(raw) or event(self, raw, used))
    refused: list[int] = []

    batch = read_batch(table, schema, lambda row, error: refused.append(row))

    assert len(asked) == 5  # the halves; whole doubles are integers
    assert certain(table, schema).sum() == 15
    assert refused == [1, 5, 9, 13, 17]
    assert batch.size == 15


def test_a_refusal_that_raises_stops_the_reading() -> None:
    taken: list[int] = []

    def feed() -> Iterable[dict[str, object]]:
        for row in range(10):
            taken.append(row)
            yield {"a": float("nan") if row == 3 else row}

    with pytest.raises(EventError, match="event 3: attribute 'a': expected a finite number"):
        read_batch(feed(), Schema(open=True))

    assert taken == [0, 1, 2, 3]


def test_a_null_among_struct_events_is_none() -> None:
    events = pa.array([{"a": 1}, None, {"a": None}])
    refused: list[str] = []

    batch = read_batch(events, Schema(open=True), lambda row, error: refused.append(f"{row}: {error}"))

    assert refused == ["1: expected an event, found nothing"]
    assert [batch.event(row).values for row in range(2)] == [{"a": (Value(Kind.NUMBER, 1),)}, {}]


def test_maps_within_struct_events_have_dotted_names() -> None:
    of = pa.struct([("seller", pa.map_(pa.string(), pa.int64()))])
    events = pa.array([{"seller": [("rating", 5)]}, {"seller": [("rating", 5), ("rating", 6)]}, {"seller": None}], of)
    refused: list[str] = []

    batch = read_batch(events, Schema(open=True), lambda row, error: refused.append(f"{row}: {error}"))

    assert [batch.event(row).values for row in range(2)] == [{"seller.rating": (Value(Kind.NUMBER, 5),)}, {}]
    assert len(refused) == 1
    assert refused[0].startswith("1: the event holds a value that Python cannot: ")
