"""The small segment that docs/glossary.md walks through: every line of its tables is written by the code that runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.batches.batch import batch_of_events
from tamis.kernels.segments.clusters import bucket_of
from tamis.kernels.segments.finding import Parts
from tamis.model.values import value_of
from tamis.segments.ask.answering import Answering
from tamis.segments.ask.encoding import encode_batch
from tamis.segments.ask.listing import list_matches
from tamis.segments.compile.coding import Coded, code_reading
from tamis.segments.compile.reading import Reading, read_texts
from tamis.segments.compile.tuning import Tuning
from tamis.segments.ids import IdColumn
from tamis.segments.segment import Segment, compile_segment

PAGE = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")
LINES = set(PAGE.splitlines())

SUBSCRIPTIONS = {
    "ann": "price < 20",
    "bob": "price >= 10 and tags contains 'oak'",
    "cat": "price >= 10 and price < 20",
    "dan": "category = 'table' and price < 20",
    "eve": "category = 'lamp' or tags contains 'oak'",
}
TUNING = Tuning(probe_ns=30.0, verify_ns=100.0, block_ns=500.0)
EVENTS: list[dict[str, object]] = [
    {"category": "lamp", "price": 25, "tags": ["oak", "new"]},
    {"category": "table", "price": 15},
]
IDS = list(SUBSCRIPTIONS)
SCHEMA = Schema(open=True)


@cache
def reading() -> Reading:
    return read_texts(pa.array(SUBSCRIPTIONS.values()), SCHEMA)


@cache
def coded() -> Coded:
    return code_reading(read_texts(pa.array(SUBSCRIPTIONS.values()), SCHEMA), SCHEMA)


@cache
def segment() -> Segment:
    texts = pa.array(SUBSCRIPTIONS.values())
    return compile_segment(IdColumn(pa.array(IDS)), texts, SCHEMA, tuning=TUNING).segment


def parts() -> Parts:
    return segment().layout.parts


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def expect(*lines: str) -> None:
    assert [line for line in lines if line not in LINES] == []


def listed(items: Any) -> str:
    return ", ".join(map(str, items))


def between(low: int, high: int) -> str:
    return f"[{low}, {high}]"


# -- compiled ---------------------------------------------------------------------------------------------------------


def test_the_texts() -> None:
    expect(*(f"{id}   {text}" for id, text in SUBSCRIPTIONS.items()))


def end(bound: Any, closed: str, opened: str) -> str:
    if bound is None:
        return "–"
    values = bound.values.to_pylist() if isinstance(bound.values, pa.Array) else bound.values.tolist()
    return listed(f"{opened if bound.open else closed} {value!r}" for value in values)


def test_the_pieces() -> None:
    for piece in reading().pieces.all():
        numbers = listed(piece.conjunctions.tolist())
        expect(row(piece.slot.attribute, numbers, end(piece.low, "≥", ">"), end(piece.high, "≤", "<")))


def test_the_codes() -> None:
    samples: dict[str, list[object]] = {
        "price": [5, 10, 15, 20, 25, "x", True],
        "tags": [5, "new", "oak", True],
        "category": [5, "bed", "lamp", "sofa", "table", "urn", True],
    }
    for name, values in samples.items():
        codes = coded().columns.attributes[name]
        shown = [str(value).lower() if value is True else repr(value) for value in values]
        expect(
            row(f"`{name}`", "missing", *shown),
            row("code", 0, *(codes.code(value_of(value)) for value in values)),
        )
        assert f"{codes.last + 1} codes" in PAGE, name


def test_the_conjunctions() -> None:
    intervals, names = coded().intervals, [slot.attribute for slot in coded().slots]
    for number in range(len(intervals.start) - 1):
        found = range(intervals.start[number], intervals.start[number + 1])
        said = listed(f"{names[intervals.slot[i]]} {between(intervals.low[i], intervals.high[i])}" for i in found)
        expect(row(number, IDS[coded().owners[number]], said))
    assert (np.diff(coded().owner_start) == 1).all(), "no conjunction has two owners"


def test_the_homes() -> None:
    for home in segment().layout.homes:
        expect(row(home.where, listed(home.attributes) or "–", home.conjunctions, home.why))


def member_names() -> list[str]:
    return [IDS[owner] for owner in segment().layout.owner[: parts().block_sizes[0]].tolist()]


def bitmap(word: Any) -> str:
    """Member 0 leftmost."""
    return "".join(str(int(word) >> member & 1) for member in range(parts().block_sizes[0]))


def test_the_block() -> None:
    blocks, columns = parts().blocks, list(coded().columns.attributes)
    assert blocks.start.tolist() == [0, 2], "one block, of two entries"
    expect(row("member", *range(4)), row("of", *member_names()))
    for entry in range(2):
        (base,) = range(blocks.base_start[entry], blocks.base_start[entry + 1])
        assert blocks.base_code[base] == 0
        flips: dict[int, list[int]] = {}
        for at in range(blocks.base_toggle[base], blocks.base_end[base]):
            flips.setdefault(int(blocks.toggle_code[at]), []).append(int(blocks.toggle_bit[at]))
        shown = "; ".join(f"at {code}: {listed(members)}" for code, members in flips.items())
        expect(row(columns[blocks.column[entry]], f"`{bitmap(blocks.bits[64 * base])}`", shown))


def test_the_cluster() -> None:
    clusters, names = parts().clusters, [slot.attribute for slot in coded().slots]
    assert clusters.column.tolist() == [list(coded().columns.attributes).index("category")]
    assert f"{clusters.shift[0] >> 8} bits" in PAGE
    for member, key in enumerate(clusters.key.tolist()):
        place = next(at for at in range(2) if clusters.bucket[at] <= member < clusters.bucket[at + 1])
        with np.errstate(over="ignore"):
            assert getattr(bucket_of, "py_func", bucket_of)(np.uint64(key), clusters.bucket_bits[0]) == place
        rest = [
            f"{names[clusters.rest_slot[i]]} {between(clusters.rest_low[i], clusters.rest_high[i])}"
            for i in range(clusters.rest_start[member], clusters.rest_start[member + 1])
        ]
        at = int(parts().places.member_row[member])
        owner = IDS[segment().layout.owner[at]]
        expect(row(member, owner, key, place, listed(rest) or "–", at))


def test_the_rows() -> None:
    layout = segment().layout
    assert layout.canon is not None
    used = np.flatnonzero(layout.owner >= 0).tolist()
    assert used == [0, 1, 2, 3, 64, 65]
    expect(
        row("row", 0, 1, 2, 3, "4 … 63", 64, 65),
        row("owner", *(IDS[layout.owner[at]] for at in used[:4]), "–", *(IDS[layout.owner[at]] for at in used[4:])),
        row("canon", *layout.canon[used[:4]].tolist(), "–", *layout.canon[used[4:]].tolist()),
    )


# -- asked ------------------------------------------------------------------------------------------------------------


def admitting(entry: int, code: int) -> int:
    """What the page does by hand: the base, and every toggle up to the code."""
    blocks = parts().blocks
    base = blocks.base_start[entry]
    found = int(blocks.bits[64 * base])
    for at in range(blocks.base_toggle[base], blocks.base_end[base]):
        if blocks.toggle_code[at] <= code:
            found ^= 1 << int(blocks.toggle_bit[at])
    return found


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_walked_through(event: dict[str, object]) -> None:
    layout, names = segment().layout, list(coded().columns.attributes)
    batch = batch_of_events([SCHEMA.event(event)])
    encoded, _ = encode_batch(layout.columns, batch, SCHEMA)
    codes = [[code] if code >= 0 else encoded.list_codes.tolist() for code in encoded.codes[0].tolist()]
    expect(f"`{event}`".replace("'", '"'), row("code", *map(listed, codes)))
    assert row("attribute", *names) in LINES

    hits = 0b1111
    for entry, column in enumerate(parts().blocks.column.tolist()):
        admitted = [admitting(entry, code) for code in codes[column]]
        union = int(np.bitwise_or.reduce(admitted))
        hits &= union
        expect(
            row(
                names[column],
                listed(codes[column]),
                " ∨ ".join(f"`{bitmap(one)}`" for one in admitted),
                f"`{bitmap(union)}`",
            )
        )
    expect(f"| both | | | `{bitmap(hits)}` |")

    work = np.zeros(2, np.int64)
    _, rows = list_matches([layout], [encoded], 1, [0], work)
    in_block = [member for member in range(4) if hits >> member & 1]
    assert sorted(rows.tolist())[: len(in_block)] == in_block
    assert work.tolist() == [1, 1], "one probe, one candidate"
    answer = Answering(SCHEMA).answer((segment(),), batch, 1, work)
    ids = [IDS[layout.owner[at]] for at in answer.codes.tolist()]
    expect(
        row("rows found", listed(rows.tolist())),
        row("each subscription once", listed(answer.codes.tolist())),
        row("ids", listed(ids)),
    )


def test_the_engine_says_the_same() -> None:
    engine = Engine(tuning=TUNING)
    engine.subscribe_many(SUBSCRIPTIONS.items())

    assert [sorted(engine.match(event)) for event in EVENTS] == [["bob", "eve"], ["ann", "cat", "dan"]]


def test_without_a_tuning_they_would_all_live_in_one_block() -> None:
    texts = pa.array(SUBSCRIPTIONS.values())
    plain = compile_segment(IdColumn(pa.array(IDS)), texts, SCHEMA).segment

    assert plain.layout.counts["in_blocks"] == 6
