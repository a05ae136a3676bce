"""Workers check an event once, or not at all where it was validated. No JVM: the workers' own functions on Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tamis import Engine
from tamis.batches import columns
from tamis.errors import EventError
from tamis.model import Schema
from tamis.spark.columns import EVENT, EVENT_ID, EXPRESSION, ID
from tamis.spark.versions.manifest import Entry, Manifest
from tamis.spark.versions.routing import EVERY, KEY
from tamis.spark.versions.storage import Root
from tamis.spark.workers.answers import MatchEverywhere, MatchGroups, RouteToGroups
from tamis.spark.workers.building import COPIES, Build
from tamis.spark.workers.event_reading import Checking, raw_events, read_batch
from tamis.spark.workers.judging import Judge
from tamis.spark.workers.shapes import AnswerShape
from tamis.workloads import auctions

SCHEMA = Schema.loads(auctions.SCHEMA)
EVENTS = [row for at, row in enumerate(auctions.listings(60)) if at % 50 != 17]
IDS = pa.array([f"e{row}" for row in range(len(EVENTS))])
SUBSCRIPTIONS = list(auctions.subscriptions(120))
FORMS = {
    "structs": pa.array([{name: row.get(name) for name in SCHEMA.names()} for row in EVENTS]),
    "texts": pa.array([json.dumps(row) for row in EVENTS]),
}


def built(root: Root, subscriptions: list[tuple[str, str]]) -> Entry:
    ids, texts = zip(*subscriptions, strict=True)
    size = len(ids)
    columns = [pa.array(ids), pa.array(texts), pa.array([EVERY] * size), pa.nulls(size, pa.int64())]
    batch = pa.RecordBatch.from_arrays(columns, [ID, EXPRESSION, KEY, COPIES])
    [row] = next(Build(root, SCHEMA)(iter([batch]))).to_pylist()
    return Entry(row["path"], row["subscriptions"], row["size"], row["checksum"], row["keys"])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Root, Manifest]:
    folder = tmp_path_factory.mktemp("index")
    for name in ("segments", "rejected"):
        (folder / name).mkdir()
    root = Root(str(folder))
    entries = tuple(built(root, SUBSCRIPTIONS[first : first + 40]) for first in (0, 40, 80))
    return root, Manifest(1, SCHEMA, "string", entries)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events were checked, call by call: by their columns, or by the schema."""
    found: list[int] = []
    by_columns, by_schema = columns.keep_views, Schema.event

    def keep_views(schema: Schema, size: int, *rest: object) -> object:
        found.append(size)
        return by_columns(schema, size, *rest)  # type: ignore[arg-type]

    def event(schema: Schema, raw: dict[str, object], used: None) -> object:
        found.append(1)
        return by_schema(schema, raw)

    monkeypatch.setattr(columns, "keep_views", keep_views)
    monkeypatch.setattr(Schema, "event", event)
    return found


def batches(events: pa.Array) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(events), 25):
        columns = [IDS.slice(first, 25), events.slice(first, 25)]
        yield pa.RecordBatch.from_arrays(columns, [EVENT_ID, EVENT])


def match(index: tuple[Root, Manifest], plan: str, events: pa.Array, *, validated: bool) -> set[tuple[str, str]]:
    """As `steps.matching` sets the workers up."""
    root, manifest = index
    checking, trusting = Checking(validated), Checking(validated=True)
    if plan == "everywhere":
        answers = MatchEverywhere(root, manifest, AnswerShape.PIECES, checking=checking)(batches(events))
    else:
        groups = tuple((one,) for one in manifest.segments)
        sent = RouteToGroups(manifest, groups, None, checking)(batches(events))
        answers = MatchGroups(root, manifest, AnswerShape.PIECES, checking=trusting, groups=groups)(sent)
    rows = [row for batch in answers for row in batch.to_pylist()]
    return {(row["event_id"], id) for row in rows for id in row["subscription_ids"]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_an_event_is_checked_once_and_not_at_all_where_it_was_validated(
    index: tuple[Root, Manifest], checked: list[int], plan: str, form: str
) -> None:
    engine = Engine(SCHEMA)
    engine.subscribe_many(SUBSCRIPTIONS)
    expected = {(f"e{row}", id) for row, ids in enumerate(engine.match_many(EVENTS)) for id in ids}
    checked.clear()

    by_default = match(index, plan, FORMS[form], validated=False)
    once = sum(checked)
    checked.clear()
    trusting = match(index, plan, FORMS[form], validated=True)

    assert by_default == trusting == expected
    assert once == len(EVENTS)
    assert checked == []


@pytest.mark.parametrize("form", FORMS)
def test_to_validate_is_to_check_once(checked: list[int], form: str) -> None:
    assert Judge(SCHEMA).judge(FORMS[form]).null_count == len(EVENTS)
    assert sum(checked) == len(EVENTS)


GOOD = {"event_type": ["furniture"], "price": 5.0, "quantity": 1, "category": "table", "material": None}
UNREADABLE: dict[str, object] = {
    "not a number": GOOD | {"price": float("nan")},
    "a name that is none": GOOD | {"category": "spaceship"},
    "a type that is none": GOOD | {"event_type": ["spaceship"]},
    "nothing": None,
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_read_is_told_whatever_was_said_of_it(name: str, form: str) -> None:
    raws = [GOOD, UNREADABLE[name], GOOD]
    events = pa.array(raws) if form == "structs" else pa.array([raw and json.dumps(raw) for raw in raws])
    ids = pa.array([7, 8, 9])

    with pytest.raises(EventError, match=r"^event 8: .*; match was told that it is validated$"):
        read_batch(events, ids, SCHEMA, Checking(validated=True))
    with pytest.raises(EventError, match=r"^event 8: .*; say on_error='skip' to go on without it$"):
        read_batch(events, ids, SCHEMA)
    assert [verdict is None for verdict in Judge(SCHEMA).judge(events).to_pylist()] == [True, False, True]


@pytest.mark.parametrize(
    "column",
    [
        *(
            pa.array(["1", "2"]),
            pa.array([[("eur", 1)]] * 2, pa.map_(pa.string(), pa.int64())),
            pa.array([True, False]),
        ),
        *(pa.array([b"1", b"2"]), pa.array([0, 1], pa.timestamp("us", "America/Sao_Paulo"))),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_of_a_wrong_type_is_told_too(column: pa.Array) -> None:
    others = {name: pa.array([GOOD[name]] * 2) for name in ("event_type", "quantity", "category")}
    events = pa.table(others | {"price": column}).to_struct_array().combine_chunks()

    for validated in (False, True):
        with pytest.raises(EventError, match="event a: "):
            read_batch(events, pa.array(["a", "b"]), SCHEMA, Checking(validated=validated))


def test_bytes_that_are_no_text_are_no_event() -> None:
    ends = pa.array([0, 1], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(b"\xff")])

    [raw] = raw_events(broken)

    assert isinstance(raw, EventError)
    assert "expected JSON in UTF-8" in str(raw)


@pytest.mark.parametrize("zone", ["America/Sao_Paulo", "GMT+03:00", "Z"])
def test_instants_are_what_they_are_in_whatever_zone_the_session_is(zone: str) -> None:
    schema = Schema.loads('attributes = { at = "timestamp", several = "timestamp" }')
    of = pa.timestamp("us", zone)
    first, last = -62135596800 * 10**6, 253402300799 * 10**6
    events = pa.array([{"at": first, "several": [last, 0, None]}], pa.struct([("at", of), ("several", pa.list_(of))]))

    for validated in (False, True):
        batch = read_batch(events, pa.array([1]), schema, Checking(validated=validated)).batch
        found = {name: [int(one) for part in parts for one in part.values] for name, parts in batch.parts.items()}
        assert found == {"at": [first * 1000], "several": [last * 1000, 0]}
        assert {name: [int(one.data) for one in values] for name, values in batch.event(0).values.items()} == found
    assert Judge(schema).judge(events).to_pylist() == [None]
