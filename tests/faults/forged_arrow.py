"""Arrow from strangers: streams with any word altered, in the buffers and in the metadata, and arrays that lie.

Run as a script, see `trials`.
"""

from __future__ import annotations

import decimal
import random
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from tamis import Engine, Schema, TamisError
from tests.faults.trials import UNREAD, Trial, main, outcome_of

ROWS = 24
WORDS = ["table", "chair", "größe", "", "x" * 40, "n7"]
TYPED = Schema.loads(
    """
[domains.colour]
type = "enumerated"
values = ["red", "green", "blue"]
[attributes]
price = "number"
count = { type = "integer", min = 0, max = 1000 }
name = "string"
colour = "colour"
seen = "timestamp"
[event_types.thing]
price = "optional"
count = "optional multiple"
name = "optional multiple"
colour = "optional multiple"
seen = "optional"
"""
)
TYPED_WISHES = ["price < 9", "name starts with 't'", "count contains 3", "colour = red", "seen is present"]
OPEN_WISHES = [
    "price < 9",
    "name = 'table' or name ends with 'r'",
    "count > 3 and count < @price",
    "of.name = 'chair'",
    "of.n >= 4",
]


def tables() -> list[tuple[Schema, pa.Table]]:
    """A table for each way that Arrow has to lay values out."""
    n = range(ROWS)
    texts = [WORDS[i % 6] if i % 5 else None for i in n]
    colours = [("red", "green", "blue")[i % 3] for i in n]
    lists = [list(range(i % 4)) if i % 7 else None for i in n]
    words = [[WORDS[j] for j in range(i % 4)] for i in n]
    seen = [datetime(2024, 1, 1 + i, tzinfo=UTC) for i in n]
    structs = [{"name": WORDS[i % 6], "n": i, "tags": ["a", "b"][: i % 3]} if i % 4 else None for i in n]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([5, 9, ROWS], pa.int32()), pa.array(["table", None, "chair"]))
    union = pa.UnionArray.from_dense(
        pa.array([i % 2 for i in n], pa.int8()), pa.array([i // 2 for i in n], pa.int32()),
        [pa.array(list(n)), pa.array(texts)],
    )  # fmt: skip
    flat = {"price": [float(i) for i in n], "count": [i % 9 for i in n], "name": texts}
    typed = [
        pa.table(flat | {"colour": colours, "seen": seen}),
        pa.table({"count": lists, "name": words, "colour": pa.array(colours).dictionary_encode()}),
        pa.table({"name": pa.array(texts, pa.large_string()), "seen": pa.array(seen).cast(pa.timestamp("s", "UTC"))}),
    ]
    odd = [
        pa.table(flat | {"of": structs}),
        pa.table({"name": pa.array(texts).dictionary_encode(), "count": pa.array(lists, pa.large_list(pa.int8()))}),
        pa.table({"name": pa.array(texts, pa.string_view()), "price": pa.array([decimal.Decimal(i) for i in n])}),
        pa.table({"name": runs, "price": pa.nulls(ROWS), "flag": [i % 2 == 0 for i in n]}),
        pa.table({"price": union, "name": pa.array([b"table"] * ROWS, pa.binary(5))}),
        pa.table({"of": pa.array([[("name", i)] for i in n], pa.map_(pa.string(), pa.int64()))}),
        pa.table({"count": pa.array(lists, pa.list_view(pa.int64())), "name": pa.array(words, pa.list_(pa.string()))}),
        pa.table({"count": pa.array([[i, i] for i in n], pa.list_(pa.int32(), 2)), "small": pa.array(n, pa.uint8())}),
        pa.concat_tables([pa.table(flat), pa.table(flat).slice(3, 9)]),
    ]
    return [(TYPED, one) for one in typed] + [(Schema(open=True), one) for one in odd]


def stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


EXTREMES = (0, 1, -1, 2, 3, 7, 64, 255, 2**15, 2**20, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))


def altered(stream: bytes, draw: random.Random) -> bytes:
    """Some words of a stream, of one, four or eight bytes."""
    content = bytearray(stream)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        width = draw.choice((1, 4, 4, 8))
        at = draw.randrange(len(content) // width) * width
        here = int.from_bytes(content[at : at + width], "little", signed=True)
        near = (here + 1, here - 1, 2 * here, -here, here ^ (1 << draw.randrange(8 * width)))
        wanted = draw.choice((*EXTREMES, *near, *near, draw.getrandbits(64)))
        content[at : at + width] = (wanted & (1 << 8 * width) - 1).to_bytes(width, "little")
    return bytes(content[: draw.randrange(len(content))]) if draw.random() < 0.02 else bytes(content)


def read_stream(content: bytes) -> pa.Table | None:
    """What Arrow makes of a stream; None if it refuses by itself."""
    try:
        return pa.ipc.open_stream(content).read_all()
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, TypeError, KeyError):
        return None


# -- asking -------------------------------------------------------------------------------------------------------


def engines() -> list[Engine]:
    found = []
    for schema, wishes in ((TYPED, TYPED_WISHES), (Schema(open=True), OPEN_WISHES)):
        engine = Engine(schema)
        engine.subscribe_many(enumerate(wishes))
        found.append(engine)
    return found


def ask_everything(engine: Engine, table: pa.Table | pa.RecordBatch) -> str:
    refusals = 0
    calls: list[Callable[[], object]] = [
        lambda: list(engine.match_many(table)),
        lambda: engine.count_many(table).tolist(),
        lambda: [list(piece) for piece in engine.match_iter(table, at_once=7)],
        lambda: engine.observe(table),
    ]
    for call in calls:
        try:
            call()
        except TamisError:
            refusals += 1
    if refusals == len(calls):
        engine.match_many(table)
    return ""


def streams() -> Trial:
    """A stream with some words altered, as events."""
    made = [(schema, stream_of(table)) for schema, table in tables()]
    asked = {schema.open: engine for schema, engine in ((one.schema, one) for one in engines())}
    for schema, stream in made:  # kernels compiled once, before children come
        outcome_of(lambda _, schema=schema, stream=stream: ask_everything(asked[schema.open], read_stream(stream)), 0)

    def trial(seed: int) -> str:
        draw = random.Random(f"arrow streams {seed}")
        schema, stream = made[seed % len(made)]
        table = read_stream(altered(stream, draw))
        if table is None:
            return UNREAD
        if draw.random() < 0.2 and table.num_rows:
            table = table.to_batches()[0]
        return ask_everything(asked[schema.open], table)

    return trial


def lies() -> Trial:
    """Arrays made of buffers by hand, with offsets, lengths, nulls and bitmaps that do not fit."""
    asked = engines()[1]
    ask_everything(asked, pa.table({"name": ["a"], "price": [1]}))

    def trial(seed: int) -> str:
        draw = random.Random(f"arrow lies {seed}")
        try:
            columns = {name: _lie(draw) for name in draw.sample(["name", "price", "count", "of"], 2)}
            least = min(map(len, columns.values()))
            table = pa.table({name: column.slice(0, least) for name, column in columns.items()})
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return UNREAD
        return ask_everything(asked, table)

    return trial


def _lie(draw: random.Random) -> pa.Array:
    length = draw.choice((1, 3, 8, 8, 8, 2**40))
    offset = draw.choice((0, 0, 0, 1, 5))
    count = draw.choice((-1, -1, 0, 0, 1, 8))
    size = 8 if length > 8 else length
    some = (0, 1, 2, 5, 9, -1, 1000, 2**31 - 1)
    numbers = [draw.choice((*some, draw.getrandbits(31))) for _ in range(size + offset + 1)]
    if draw.random() < 0.6:
        numbers = sorted(abs(number) % 40 for number in numbers)
        numbers[draw.randrange(len(numbers))] = draw.choice((41, -1, 0, 2**30))
    ends = np.array([number & 0xFFFFFFFF for number in numbers], np.uint32)
    bitmap = None if draw.random() < 0.5 else pa.py_buffer(draw.randbytes(1 + (size + offset) // 8))
    letters = pa.py_buffer(draw.randbytes(40) if draw.random() < 0.5 else b"table chair " * 4)
    raw = pa.py_buffer(ends)
    wide = pa.py_buffer(ends.astype(np.int64)) if draw.random() < 0.8 else pa.py_buffer(draw.randbytes(90)).slice(1)
    child = pa.array(["a", "b", None, "table"] * draw.choice((1, 10)))
    kinds: list[Callable[[], pa.Array]] = [
        lambda: pa.Array.from_buffers(pa.string(), length, [bitmap, raw, letters], count, offset),
        lambda: pa.Array.from_buffers(pa.large_string(), length, [bitmap, wide, letters], count, offset),
        lambda: pa.Array.from_buffers(pa.int64(), length, [bitmap, wide], count, offset),
        lambda: pa.Array.from_buffers(pa.float64(), length, [bitmap, wide], count, offset),
        lambda: pa.Array.from_buffers(pa.bool_(), length, [bitmap, letters], count, offset),
        lambda: pa.Array.from_buffers(pa.timestamp("us", "UTC"), length, [bitmap, wide], count, offset),
        lambda: pa.Array.from_buffers(pa.list_(pa.string()), length, [bitmap, raw], count, offset, [child]),
        lambda: pa.Array.from_buffers(pa.string_view(), max(length // 4, 1), [bitmap, raw, letters], count, offset),
        lambda: pa.Array.from_buffers(pa.binary(0), length, [bitmap, letters], count, offset),
        lambda: pa.Array.from_buffers(pa.decimal128(5, 2), max(length // 2, 1), [bitmap, wide], count, offset),
        lambda: pa.DictionaryArray.from_arrays(pa.array(ends[:size].view(np.int32)), child, safe=False),
        lambda: pa.RunEndEncodedArray.from_arrays(pa.array(np.sort(ends.view(np.int32))), pa.array(numbers)),
        lambda: pa.RunEndEncodedArray.from_arrays(
            pa.array([2 ** draw.randrange(60)], pa.int64()), pa.array(["x" * 999])
        ),
        lambda: pa.ListViewArray.from_arrays(raw_ints(ends, 0), raw_ints(ends, 1), child),
    ]
    return draw.choice(kinds)()


def raw_ints(ends: np.ndarray[Any, np.dtype[np.uint32]], first: int) -> pa.Array:
    return pa.array(ends.view(np.int32)[first : first + len(ends) - 1])


def subscriptions() -> Trial:
    """A stream with some words altered, as subscriptions."""
    texts = ["price < 3", "name = 'a'", None, "count in (1, 2)", "größe > 7", "a < 1 or b > 2"] * 4
    plain = pa.table({"id": [f"id-{n}" for n in range(24)], "expression": [text or "x = 1" for text in texts]})
    numbers = plain.set_column(0, "id", pa.array(range(24), pa.int32()))
    coded = pa.table({"id": plain["id"].dictionary_encode(), "expression": pa.array(texts).dictionary_encode()})
    large = plain.cast(pa.schema([("id", pa.large_string()), ("expression", pa.large_string())]))
    views = plain.cast(pa.schema([("id", pa.string_view()), ("expression", pa.string_view())]))
    made = [stream_of(one) for one in (plain, numbers, coded, large, views, pa.concat_tables([plain, plain.slice(5)]))]
    Engine().subscribe_many(plain)

    def trial(seed: int) -> str:
        draw = random.Random(f"arrow subscriptions {seed}")
        table = read_stream(altered(made[seed % len(made)], draw))
        if table is None:
            return UNREAD
        engine = Engine()
        engine.subscribe_many(table)
        list(engine.match_many([{"price": 2, "name": "a", "count": 1}]))
        return str(len(engine.ids()))

    return trial


def saved() -> Trial:
    """A saved engine with some words altered, summed anew."""
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(TYPED, algorithm="naive")
        engine.subscribe_many([*enumerate(TYPED_WISHES), ("größe", "price > 7")])
        engine.save(Path(folder) / "saved")
        whole = (Path(folder) / "saved").read_bytes()

    def trial(seed: int) -> str:
        draw = random.Random(f"saved engines {seed}")
        body = altered(whole[16:], draw)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "saved"
            path.write_bytes(whole[:8] + xxhash.xxh3_64_digest(body) + body)
            engine = Engine.open(path)
            list(engine.match_many([{"price": 2, "name": "a"}]))
            return str(len(engine.ids()))

    return trial


if __name__ == "__main__":
    main({"streams": streams, "lies": lies, "subscriptions": subscriptions, "saved": saved})
