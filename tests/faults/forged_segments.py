"""Segment files that somebody altered and summed anew: any element of any array, any field of the header.

Run as a script, see `trials`.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from tamis import Engine, Schema, TamisError
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.keep.segment_file import open_segment, save_segment
from tamis.segments.segment_registry import SegmentRegistry
from tamis.workloads import auctions
from tests.faults.trials import Trial, main

PREFIX_BYTES, ALIGN = 32, 64
SCHEMA = Schema.loads(auctions.SCHEMA)
LISTINGS = [event for number, event in enumerate(auctions.listings(40)) if number != 17]
PEOPLE: list[tuple[str | int, str]] = [
    *auctions.subscriptions(400),
    (7, "price < 100"),
    (-(2**63), "price < 50 or quantity > 3"),
    (8, "price > @reserve"),
    ("suffix", "material ends with 'k' or material ends with 'nut'"),
    ("twice", "material ends with 'e' and material contains oak"),
    ("never", "price < 1 and price > 2"),
    *((f"shared-{n}", f"price < {100 * (n % 3)}") for n in range(120)),
]
OPEN = Schema(open=True)
READINGS = [
    {"a": n % 7, "b": [n, -n], "name": f"n{n}", "when": "x" * (n % 3), "flag": bool(n % 2), "c": n * 1.5}
    for n in range(40)
]
WISHES: list[tuple[str | int, str]] = [
    *((n, f"a = {n % 9} and b > {n}") for n in range(150)),
    *((1000 + n, f"c between {n} and {n + 7} and name != 'n{n % 40}'") for n in range(150)),
    *((2000 + n, f"b in ({n}, {n + 1}, {10**18 + n}) or flag = true") for n in range(60)),
    *((3000 + n, f"a > {10**30 + n} or c < {n}.25") for n in range(20)),
    *((4000 + n, f"name starts with 'n{n}'") for n in range(20)),
    *((5000 + n, "c < 20") for n in range(100)),
]


class Stock(NamedTuple):
    """A segment file to alter, and whom to ask about what comes of it."""

    schema: Schema
    content: bytes
    events: list[dict[str, Any]]


def stock() -> list[Stock]:
    """Segments of every make: blocks and clusters, shared and several rows, truths, marked ids, dead rows."""
    blocks = Tuning(probe_ns=1e9)
    clusters = Tuning(probe_ns=0.0, verify_ns=0.0, block_ns=1e9)
    small = Tuning(members=70, most_slots=3, sparse=2, few=2, share=1, spacing=2)
    found = [_stock(SCHEMA, PEOPLE, LISTINGS, tuning) for tuning in (DEFAULT, blocks, clusters, small)]
    found += [_stock(OPEN, WISHES, READINGS, tuning) for tuning in (DEFAULT, blocks, clusters, small)]
    return [*found, _stock(OPEN, WISHES[:1], READINGS, DEFAULT), _stock(SCHEMA, PEOPLE[:40], LISTINGS, blocks, dead=0)]


def _stock(
    schema: Schema, people: list[tuple[str | int, str]], events: list[dict[str, Any]], tuning: Tuning, dead: int = 11
) -> Stock:
    engine = Engine(schema, tuning=tuning)
    engine.subscribe_many(people)
    for id, _ in people[:dead]:
        engine.unsubscribe(id)
    assert isinstance(engine._registry, SegmentRegistry)
    engine.match_many(events)
    segments = engine._registry.subscriptions.snapshot(freeze=True).segments
    with tempfile.TemporaryDirectory() as folder:
        if not segments:
            raise AssertionError("nothing to alter")
        path = Path(folder) / "one.seg"
        save_segment(segments[0], path, schema)
        return Stock(schema, path.read_bytes(), events)


# -- altering -----------------------------------------------------------------------------------------------------


class Parsed(NamedTuple):
    header: dict[str, Any]
    body: bytearray


def taken_apart(content: bytes) -> Parsed:
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[PREFIX_BYTES : PREFIX_BYTES + length])
    return Parsed(header, bytearray(content[PREFIX_BYTES + length :]))


def put_together(content: bytes, header: bytes, body: bytes) -> bytes:
    """With sums that fit."""
    header += b" " * (-(len(header) + PREFIX_BYTES) % ALIGN)
    sums = xxhash.xxh3_64_digest(header) + xxhash.xxh3_64_digest(body)
    return content[:8] + len(header).to_bytes(8, "little") + sums + header + body


EXTREMES = (0, 1, 2, -1, -2, 63, 64, 255, 256, 4095, 4096, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**62, 2**63 - 1)


def alter_elements(parsed: Parsed, draw: random.Random) -> None:
    """Some elements of one array, or of two."""
    for _ in range(draw.choice((1, 1, 2))):
        _, of, shape, at = draw.choice([one for one in parsed.header["arrays"] if one[2][0]])
        array = np.frombuffer(parsed.body, np.dtype(of), shape[0], at)
        for _ in range(draw.choice((1, 1, 1, 3, 40))):
            place = draw.randrange(len(array)) if draw.random() < 0.8 else draw.choice((0, len(array) - 1))
            array[place] = _element(array, place, draw)


def _element(array: np.ndarray[Any, np.dtype[Any]], place: int, draw: random.Random) -> Any:
    kind = array.dtype.kind
    if kind == "b":
        array.view(np.uint8)[place] = draw.randrange(256)
        return array[place]
    if kind == "f":
        return draw.choice((float("nan"), float("inf"), -0.0, 1e308, array[draw.randrange(len(array))]))
    here, other = int(array[place]), int(array[draw.randrange(len(array))])
    near = (here + 1, here - 1, here + 64, here - 64, 2 * here, -here, here ^ (1 << draw.randrange(array.itemsize * 8)))
    wanted = draw.choice((*EXTREMES, *near, *near, other, len(array), draw.getrandbits(64)))
    return np.array([wanted & 2**64 - 1], np.uint64).astype(array.dtype)[0]


def alter_bytes(parsed: Parsed, draw: random.Random) -> None:
    place, length = draw.randrange(len(parsed.body)), draw.randrange(1, 64)
    noise = draw.randbytes(length) if draw.random() < 0.7 else bytes(draw.choice((0, 255)) for _ in range(length))
    parsed.body[place : place + length] = noise[: len(parsed.body) - place]


def alter_table(parsed: Parsed, draw: random.Random) -> None:
    """What the header says of an array: its name, type, shape and place."""
    table = parsed.header["arrays"]
    one, other = draw.randrange(len(table)), draw.randrange(len(table))
    name, of, shape, at = table[one]
    size = shape[0]
    types = ("<i8", ">i4", "<f8", "|u1", "O", "<U3", "i4,i4", "?", "V7", "M8[s]", 3, None)
    shapes = ([size - 1], [size + 1], [-1], [2**62], [2**33, 2**33], [], size, [0], [1.5], ["3"], [size, 1], None)
    places = (at + 1, at - 64, -64, at + 64, 2**62, table[other][3], 0, "0", None)
    change: list[Callable[[], Any]] = [
        lambda: table.__setitem__(one, [table[other][0], of, shape, at]),
        lambda: table.__setitem__(one, [name, draw.choice(types), shape, at]),
        lambda: table.__setitem__(one, [name, of, draw.choice(shapes), at]),
        lambda: table.__setitem__(one, [name, of, shape, draw.choice(places)]),
        lambda: table.pop(one),
        lambda: table.append(table[other]),
        lambda: table.append(["unheard of", "<i4", [1], 0]),
        lambda: table.__setitem__(one, draw.choice((None, [], [name], {}, "x"))),
        lambda: table.__setitem__(slice(None), draw.choice(([], table[::-1], table[:3]))),
    ]
    draw.choice(change)()


def alter_header(parsed: Parsed, draw: random.Random) -> None:
    """Any field, however deep."""
    at: Any = parsed.header
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw.choice([key for key in keys if key != "arrays"])
        inner = at[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            at = inner
            continue
        if draw.random() < 0.1:
            del at[key]
        else:
            at[key] = _field(inner, draw)
        return


def _field(found: Any, draw: random.Random) -> Any:
    strange = (
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        2**31,
        2**63,
        10**30,
        1e308,
        float("nan"),
        "",
        "x",
        "\ud800",
        [],
        {},
        [[]],
    )
    wanted: list[Any] = [draw.choice(strange)]
    if isinstance(found, str):
        wanted += [
            found + "x",
            found[:-1],
            found * 2,
            "price < 3",
            "price < 3 or price > 5",
            "price > @price",
            "(",
            "price is missing",
        ]
    if isinstance(found, int):
        wanted += [found + 1, found - 1, -found, 2 * found, float(found)]
    if isinstance(found, list):
        wanted += [found[:-1], found * 2, [*found, None], found[::-1]]
    if isinstance(found, dict):
        wanted += [found | {"9": {"ordered": True}}, found | {"x": 1}, list(found)]
    return draw.choice(wanted)


def forge(content: bytes, draw: random.Random) -> bytes:
    """The file altered in one way, with sums that fit; rarely with a header that is no JSON of ours."""
    parsed = taken_apart(content)
    way = draw.choice((alter_elements,) * 12 + (alter_bytes,) * 2 + (alter_table,) * 3 + (alter_header,) * 4)
    way(parsed, draw)
    header = json.dumps(parsed.header).encode()
    if draw.random() < 0.01:
        header = draw.choice(
            (b"[" * 100_000, b"[]", b"7", b"{}", b"\xff", header[:-9], b'{"bytes": ' + b"9" * 9999 + b"}")
        )
    return put_together(content, header, bytes(parsed.body))


# -- asking -------------------------------------------------------------------------------------------------------


def ask_everything(schema: Schema, path: Path, events: list[dict[str, Any]], verify: str) -> str:
    """Open a segment and use it in every way there is; what refuses to answer may."""
    engine = Engine(schema)
    registry = engine._registry
    assert isinstance(registry, SegmentRegistry)
    registry.subscriptions.adopt(open_segment(path, schema, verify=verify))
    refusals = 0

    def listed(wanted: list[dict[str, Any]]) -> None:
        answer = engine.match_many(wanted)
        list(answer)
        answer.to_arrow()

    def ask(call: Callable[[], object]) -> None:
        nonlocal refusals
        try:
            call()
        except TamisError:
            refusals += 1

    def write() -> None:
        for id in engine.ids()[:3]:
            if isinstance(id, str | int) and id in engine:
                engine.expression(id)
                engine.explain(id, events[0])
                engine.unsubscribe(id)
        engine.subscribe("somebody else", "price < 3" if not schema.open else "a < 3")
        engine.subscribe_many([(f"many-{n}", "price < 7") for n in range(3)])

    for event in events[:8]:
        ask(partial(engine.match, event))
    ask(lambda: listed(events))
    ask(lambda: listed(events * 30))
    ask(lambda: engine.count_many(events * 5))
    ask(engine.stats)
    ask(engine.ids)
    ask(write)
    ask(lambda: listed(events[:3]))
    ask(lambda: engine.match(events[0]))
    with tempfile.TemporaryDirectory() as folder:
        ask(lambda: engine.save(Path(folder) / "saved"))
    ask(lambda: engine.observe(events))
    ask(lambda: listed(events))
    return f"with {refusals} refusals" if refusals else ""


def forged(verify: Any = "full") -> Trial:
    """One thing altered, sums that fit."""
    files = _warm(stock(), verify)

    def trial(seed: int) -> str:
        draw = random.Random(f"forged segments {seed}")
        schema, content, events = files[seed % len(files)]
        return _ask_file(schema, forge(content, draw), events, verify)

    return trial


def damaged(verify: Any = "structure") -> Trial:
    """Bytes turned to noise, whose sums nobody looks at."""
    files = _warm(stock(), verify)

    def trial(seed: int) -> str:
        draw = random.Random(f"damaged segments {seed}")
        schema, content, events = files[seed % len(files)]
        parsed = taken_apart(content)
        for _ in range(draw.choice((1, 3, 30))):
            alter_bytes(parsed, draw)
        cut = PREFIX_BYTES + int.from_bytes(content[8:16], "little")
        return _ask_file(schema, content[:cut] + bytes(parsed.body), events, verify)

    return trial


def _warm(files: list[Stock], verify: str) -> list[Stock]:
    """Kernels are compiled here, before children come whose time is limited; and nothing is wrong with a sound file."""
    for schema, content, events in files:
        _ask_file(schema, content, events, verify)
    return files


def _ask_file(schema: Schema, content: bytes, events: list[dict[str, Any]], verify: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.seg"
        path.write_bytes(content)
        return ask_everything(schema, path, events, verify)


if __name__ == "__main__":
    main({"forged": forged, "damaged": damaged})
