"""Inputs that grow, the doors they come through, and how their cost grows with them.

A case makes the input of a size; its cost is processor time, the best of several tries, and the peak of what Python
and numpy allocate. Costs are compared within one process and with each other only: the exponent of time over sizes that
are a factor of sixteen apart, and bytes allocated for each byte that came in.
"""

from __future__ import annotations

import gc
import json
import math
import time
import tracemalloc
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from tamis import Engine, LanguageError, Schema, TamisError
from tamis.batches.batch import Batch
from tamis.batches.edge import read_batch
from tamis.batches.json_lines import read_lines

Raw = dict[str, Any]
MODULUS = 2**61 - 1
"""Python hashes the multiples of it as 0."""
STEPS = (1, 2, 4, 8, 16)
MOST_FIELDS = 5_000
ROOM = 1 << 20
"""Bytes that an engine may need whatever comes."""


class Cost(NamedTuple):
    exponent: float
    """Of time: 1 is linear, 2 quadratic."""
    seconds: float
    bytes_for_each: float
    """Allocated at the peak, for each byte of the middle one of the inputs: to trace it takes long."""


class Growing(NamedTuple):
    make: Callable[[int], Any]
    base: int
    bytes_for_each: float = 300.0
    """What is taken to be a small constant: a Python object of sixty bytes for a number that is written in two."""


class Door(NamedTuple):
    """A way in: what an input is made into, which costs whoever sends it, and what is then done with it."""

    ask: Callable[[Any], object]
    prepared: Callable[[Any], Any] = lambda one: one
    copies: int = 1


def cost_of(growing: Growing, door: Door, tries: int = 3) -> Cost:
    """How the cost grows. An input that is refused must be refused as cheaply as others are taken."""
    made = [growing.make(growing.base * step) for step in STEPS]
    size = max(_size(made[2]) * door.copies, 1)
    run, inputs = door.ask, [door.prepared(one) for one in made]
    best = [math.inf] * len(inputs)
    gc.collect()
    gc.disable()  # it looks at every object there is, the inputs too
    try:
        for _ in range(tries):
            for at, one in enumerate(inputs):
                before = time.process_time()
                _tried(run, one)
                best[at] = min(best[at], time.process_time() - before)
        tracemalloc.start()
        peaks = [_peak(run, inputs[at]) for at in (0, 2)]
    finally:
        tracemalloc.stop()
        gc.enable()
    grown = min(peaks[1] - ROOM, peaks[1] - peaks[0])  # what every call needs is none of the input's doing
    return Cost(_exponent(best), best[-1], max(grown, 0) / size)


def _peak(run: Callable[[Any], object], one: Any) -> int:
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    _tried(run, one)
    return tracemalloc.get_traced_memory()[1] - before


def _tried(run: Callable[[Any], object], one: Any) -> None:
    try:
        run(one)
    except TamisError as error:
        message = str(error)
    else:
        return
    assert len(message) < 1_000, "a message that grows with its input"


def _exponent(times: list[float]) -> float:
    """The steepest slope over a factor of eight; what takes less than a millisecond has none worth measuring."""
    floor = 0.001
    slopes = [math.log(max(times[at + 3], floor) / max(times[at], floor)) / math.log(8) for at in range(len(times) - 3)]
    return max(slopes)


def _size(one: Any) -> int:
    """About as many bytes as it would have as text."""
    if isinstance(one, dict):
        return sum(_size(key) + _size(value) + 2 for key, value in one.items())
    if isinstance(one, list | tuple):
        return sum(map(_size, one)) + 2 * len(one)
    if isinstance(one, int):
        return one.bit_length() // 3 + 1
    return len(str(one))


# -- events -----------------------------------------------------------------------------------------------------------


def _nested(size: int) -> Raw:
    raw: Raw = {"x": 1}
    for _ in range(size):
        raw = {"a": raw}
    return raw


def _linked(values: Iterable[Any]) -> Raw:
    listed = list(values)
    return dict.fromkeys("xyz", listed)


def _doubles(size: int) -> list[float]:
    """Doubles whose hashes are alike as far as that goes."""
    return [mantissa * 2.0 ** (61 * at) for mantissa in range(1, size // 16 + 1, 2) for at in range(16)]


EVENTS: dict[str, Growing] = {
    "attributes": Growing(lambda size: {f"a{at}": at for at in range(size)}, 400),
    "attributes without a value": Growing(lambda size: {f"a{at}": None for at in range(size)}, 800),
    "objects within objects": Growing(_nested, 20),
    "objects side by side": Growing(lambda size: {f"a{at}": {"b": {"c": at}} for at in range(size)}, 300),
    "a long name": Growing(lambda size: {"a" * size: 1}, 100_000),
    "a long name of an object": Growing(lambda size: {"a" * size: {str(at): 1 for at in range(size)}}, 1_500),
    "a name as long as may be": Growing(lambda size: {"a" * 4_000: {str(at): 1 for at in range(size)}}, 200, 1_500.0),
    "empty objects": Growing(lambda size: {"a" * 4_000: {str(at): {} for at in range(size)}}, 300),
    "numbers": Growing(lambda size: {"x": list(range(size))}, 500),
    "one number again and again": Growing(lambda size: {"x": [7] * size}, 700),
    "whole numbers of one hash": Growing(lambda size: {"x": [MODULUS * at for at in range(size)]}, 400),
    "short whole numbers of few hashes": Growing(
        lambda size: {"x": [at // 100 + MODULUS * (at % 100) for at in range(size)]}, 400
    ),
    "doubles of few hashes": Growing(lambda size: {"x": _doubles(size)}, 400),
    "long whole numbers": Growing(lambda size: {"x": [10**3_000 + at for at in range(size)]}, 60),
    "decimals": Growing(lambda size: {"x": [Decimal(at) / 7 for at in range(size)]}, 250),
    "a decimal of many digits": Growing(lambda size: {"x": Decimal("0." + "7" * size)}, 3_000),
    "strings": Growing(lambda size: {"s": [f"text {at}" for at in range(size)]}, 400),
    "a long string": Growing(lambda size: {"s": "é" * size}, 100_000),
    "linked attributes": Growing(lambda size: _linked(range(size)), 250),
    "linked attributes of one hash": Growing(lambda size: _linked(MODULUS * at for at in range(size)), 250),
    "linked strings": Growing(lambda size: _linked(str(at) for at in range(size)), 250),
    "linked booleans among numbers": Growing(lambda size: _linked([True, False, *range(size)]), 250),
}

SUBSCRIPTIONS = [
    "x = 1",
    "x in (2, 4, 8) and x != 5",
    f"x > {MODULUS * MODULUS}",
    "s starts with 'text 1' and s ends with '9'",
    "s contains 'text 7' and s not contains 'no'",
    "x > @y",
    "x = @y and x < 0",
    "x > @y and x < 10",
    "x > @y and y > @z and z > @x",
    "x <= @y and y <= @z and z <= @x and x > 5",
    "x != @y and y != @z and z != @x and x > 5 and y < 7",
    "x != @y and y < @z and z <= @x",
    "`a.b` = 1 or a1 = 1",
]
OPEN = Schema(open=True)
CLOSED = Schema.loads(
    "[attributes]\n" + "".join(f'{name} = "number"\n' for name in ("x", "y", "z", "a1", '"a.b"')) + 's = "string"\n'
)


def engine_of(schema: Schema, algorithm: str = "adaptive") -> Engine:
    engine = Engine(schema, algorithm=algorithm)
    engine.subscribe_many(enumerate(SUBSCRIPTIONS))
    return engine


def _table(raw: Raw) -> pa.Table | Raw:
    """Arrow has no numbers past its own, nor names that are objects and nothing else; and it takes the square of a
    struct's fields to read a row of it, whoever declared so many."""
    if any(isinstance(one, dict) and len(one) > MOST_FIELDS for one in raw.values()):
        return raw
    try:
        return pa.Table.from_pylist([raw])
    except (pa.ArrowException, OverflowError):
        return raw


def _line(raw: Raw) -> str:
    return json.dumps(raw, default=float)


def _column(raw: Raw) -> pa.Array:
    """As Spark sends structs."""
    table = _table(raw)
    return table.to_struct_array().chunk(0) if isinstance(table, pa.Table) else pa.array([_line(raw)])


def _in_spark(column: pa.Array) -> Batch:
    from tamis.spark.workers.event_reading import read_batch as read_column

    return read_column(column, pa.array([1]), OPEN).batch


def doors() -> dict[str, Door]:
    """Ways for one event to come in. They are given it as a mapping, of which they make what they take."""
    adaptive, strict, naive = engine_of(OPEN), engine_of(CLOSED), engine_of(OPEN, "naive")
    counting, fair = engine_of(OPEN, "counting-lists"), engine_of(OPEN, "fair-predicate")

    def ask(batch: Batch) -> object:
        return adaptive._registry.match_many(lambda _: batch)

    found = {
        "a mapping": Door(adaptive.match),
        "a mapping, closed schema": Door(strict.match),
        "a list of mappings": Door(lambda raw: adaptive.match_many([raw])),
        "counted": Door(lambda raw: adaptive.count_many([raw])),
        "ten at once": Door(lambda raw: adaptive.match_many([raw] * 10), copies=10),
        "twenty at once": Door(lambda raw: adaptive.match_many([dict(raw) for _ in range(20)]), copies=20),
        "JSON in bytes": Door(lambda text: adaptive.match_json(text.encode()), _line),
        "JSON in bytes, closed schema": Door(lambda text: strict.match_json(text.encode()), _line),
        "Arrow": Door(lambda one: adaptive.match_many([one] if isinstance(one, dict) else one), _table),
        "JSON lines": Door(lambda text: ask(read_batch((one for _, one in read_lines(text)), OPEN)), _line),
        "JSON in Spark": Door(lambda column: ask(_in_spark(column)), lambda raw: pa.array([_line(raw)])),
        "structs in Spark": Door(lambda column: ask(_in_spark(column)), _column),
        "naive": Door(naive.match),
        "counting-lists": Door(counting.match),
        "fair-predicate": Door(fair.match),
        "explain": Door(lambda raw: [adaptive.explain(id, raw) for id in (2, 3, 7, 10)]),
    }
    for one in found.values():  # compiled and opened before anything is measured
        one.ask(one.prepared({"x": [1, 2], "y": [1, 3], "z": [5], "s": ["text 1", "b"]}))
        one.ask(one.prepared({"x": 1, "y": 2, "z": 3, "s": "a"}))
    return found


# -- expressions ------------------------------------------------------------------------------------------------------


def _joined(word: str, parts: Iterable[str]) -> str:
    return f" {word} ".join(parts)


EXPRESSIONS: dict[str, Growing] = {
    "a list": Growing(lambda size: f"x in ({', '.join(map(str, range(size)))})", 200),
    "a list of one hash": Growing(lambda size: f"x in ({', '.join(str(MODULUS * at) for at in range(size))})", 60),
    "not in a list": Growing(lambda size: f"x not in ({', '.join(map(str, range(size)))})", 200),
    "differs and differs": Growing(lambda size: _joined("and", (f"x != {at}" for at in range(size))), 100),
    "contains and contains": Growing(lambda size: _joined("and", (f"s contains 't{at}'" for at in range(size))), 60),
    "lacks and lacks": Growing(lambda size: _joined("and", (f"s not contains 't{at}'" for at in range(size))), 60),
    "attributes": Growing(lambda size: _joined("and", (f"a{at} = 1" for at in range(size))), 200),
    "prefixes": Growing(lambda size: _joined("and", (f"s not starts with 't{at}'" for at in range(size))), 60),
    "suffixes": Growing(lambda size: _joined("and", (f"s not ends with 't{at}'" for at in range(size))), 100),
    "or and or": Growing(lambda size: _joined("or", (f"x = {at} and y < {at}" for at in range(size))), 10),
    "or under and": Growing(lambda size: _joined("and", (f"(x = {at} or y = {at})" for at in range(size))), 60),
    "not and not": Growing(lambda size: "not " * size + "x = 1", 300),
    "parentheses": Growing(lambda size: "(" * size + "x = 1" + ")" * size, 500),
    "a long string": Growing(lambda size: f"s = '{'a' * size}'", 4_000),
    "a long name": Growing(lambda size: f"{'a' * size} = 1", 4_000),
    "a long number": Growing(lambda size: f"x = {'7' * size}", 250),
    "a chain of links": Growing(lambda size: _joined("and", (f"n{at} < @n{at + 1}" for at in range(size))), 50),
    "a star of links": Growing(lambda size: _joined("and", (f"n < @n{at}" for at in range(size))), 50),
    "a ring of links": Growing(
        lambda size: _joined("and", [*(f"n{at} < @n{at + 1}" for at in range(size)), f"n0 != @n{size}"]), 50
    ),
    "nonsense": Growing(lambda size: "x = = " * size, 300),
}


def _explained(text: str) -> object:
    engine = Engine()
    engine.subscribe("one", text)
    return engine.explain("one", {"x": [1, 2, 3], "y": 1, "s": ["t1", "u"], "n": 1, "n0": [1, 2], "n1": [1, 2, 3]})


def expression_doors() -> dict[str, Door]:
    """Ways for an expression to come in; the column of a segment is made and asked."""

    def one(text: str) -> object:
        engine = Engine()
        engine.subscribe("one", text)
        return engine.match({"x": 1})

    def many(text: str) -> object:
        engine = Engine()
        engine.subscribe_many([("one", text), ("two", "x = 1")])
        return engine.match_many([{"x": [1, 2], "s": "t1"}])

    def counting(text: str) -> object:
        engine = Engine(algorithm="counting-lists")
        engine.subscribe("one", text)
        return engine.match({"x": 1})

    asks = {"subscribe": one, "subscribe_many": many, "counting-lists": counting, "explain": _explained}
    for ask in asks.values():
        ask("x = 1 and s ends with 't' and x < @y")
    return {name: Door(ask) for name, ask in asks.items()}


# -- many subscriptions, and schemas ----------------------------------------------------------------------------------


def read_subscriptions(texts: list[str]) -> object:
    engine = Engine()
    engine.subscribe_many(enumerate(texts))
    engine.match({"x": 1})
    return engine.match_many([{"x": [1, 2], "y": [1, 2], "s": "a"}])


SETS: dict[str, Growing] = {
    "constants": Growing(lambda size: [f"x = {at}" for at in range(size)], 800, 400.0),
    "constants of one hash": Growing(lambda size: [f"x = {MODULUS * at}" for at in range(size)], 500, 400.0),
    "attributes": Growing(lambda size: [f"a{at} = 1" for at in range(size)], 30, 4_000.0),
    "suffixes": Growing(lambda size: [f"s ends with 't{at}'" for at in range(size)], 50, 400.0),
    "links": Growing(lambda size: [f"x > @y and x < {at}" for at in range(size)], 40, 400.0),
    "rings": Growing(lambda size: [f"x != @y and y != @z and z != @x and x < {at}" for at in range(size)], 25, 400.0),
}


def _toml(kind: str, body: str) -> str:
    return f'[domains.d]\ntype = "{kind}"\n{body}\n[attributes]\na = "d"\n'


SCHEMAS: dict[str, Growing] = {
    "attributes": Growing(lambda size: "[attributes]\n" + "".join(f'a{at} = "number"\n' for at in range(size)), 300),
    "names": Growing(lambda size: _toml("enumerated", f"values = {[f'n{at}' for at in range(size)]}"), 300),
    "a chain of names": Growing(
        lambda size: _toml(
            "enumerated",
            f"values = {[f'n{at}' for at in range(size)]}\n"
            f"order = {[[f'n{at}', f'n{at + 1}'] for at in range(size - 1)]}",
        ),
        300,
    ),
    "a tree of names": Growing(
        lambda size: _toml(
            "hierarchical",
            "[domains.d.parents]\nn0 = []\n" + "".join(f'n{at} = ["n{at // 2}"]\n' for at in range(1, size)),
        ),
        300,
    ),
    "event types": Growing(
        lambda size: (
            '[attributes]\na = "number"\n' + "".join(f'[event_types.t{at}]\na = "optional"\n' for at in range(size))
        ),
        200,
    ),
}


def read_schema(text: str) -> object:
    schema = Schema.loads(text)
    try:
        Engine(schema).subscribe("one", "a = 'n1'")
    except LanguageError:
        Engine(schema).subscribe("one", "event_type is present")
    return schema
