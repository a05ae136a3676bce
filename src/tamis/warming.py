"""Compile everything the default engine needs, now: what `tamis warm` does, and the process beside the first calls.

Numba compiles a function when it is first called with arguments of certain types. So every road of the engine is gone
once, with small sets, on two engines: one that takes any event, one with a schema.

    python -m tamis.warming
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.engine import Engine
from tamis.kernels import warmth
from tamis.model import Schema

__all__ = ["warm"]

_SCHEMA = """
[domains.kind]
type = "hierarchical"
parents = { thing = [], table = ["thing"], chair = ["thing"] }
[domains.age]
type = "enumerated"
values = ["old", "new"]
order = [["old", "new"]]
[attributes]
a = "number"
n = { type = "integer", min = 0, max = 100 }
s = "string"
b = "boolean"
t = "timestamp"
kind = "kind"
age = "age"
tags = "string"
other = "number"
[event_types.one]
a = "optional"
n = "optional"
s = "optional"
b = "optional"
t = "optional"
kind = "optional"
age = "optional"
tags = "optional multiple"
other = "optional multiple"
"""

_TEXTS = (
    "s = 'rare {at}' and a < {n}",
    "s = 'rare {at}' and a = {at} and n > 3",
    "s = 'x{n}' and a < {n}",
    "a between {n} and {m}",
    "s includes 'x{at}' and a < {n}",
    "s like 'x%{at}_z' or s = 'X{at}' ignoring case",
    "n > 3 and at least 2 of (a = {at}, b = true, s ends with 'x{n}')",
    "n >= {n} and b = true",
    "a = {n}.5 or s = 'y{n}'",
    "tags contains 't{n}' and tags contains 't1' and a != {n}",
    "not (a > {n} and s in ('x1', 'x{n}'))",
    "s starts with 'x{n}' and other is missing",
    "s ends with '{n}' and n != {n}",
    "a > @other and a < {m}",
    "t > timestamp '2024-01-01T00:00:00Z' and a <= {n}",
    "a is present and tags != 't{n}'",
)
_IN_DOMAINS = ("kind <= thing and n = {n}", "age < new and a = {n}", "kind = table and s = 'x{n}'")

_EVENTS: list[dict[str, object]] = [
    {"s": "x3", "a": 3, "n": 7, "b": True, "tags": ["t1", "t2"], "t": "2025-01-01T00:00:00Z"},
    {"s": "y3", "a": 3.5, "other": 2, "tags": "t1"},
    {"a": 12, "other": [1, 20], "tags": ["t1", "t3", "t4"]},
    {"n": 5, "s": "x15"},
]
"""Without event types, which those of the engine with a schema need not name: it has only one."""


def _pairs(texts: tuple[str, ...], first: int, count: int, as_text: bool) -> list[tuple[Any, str]]:
    """Ids and texts that no two calls have in common, unless their numbers overlap."""
    found = []
    for at in range(first, first + count):
        text = texts[at % len(texts)].format(at=at, n=at % 50, m=at % 50 + 9)
        found.append((f"id {at}" if as_text else at, text))
    return found


def _steps(folder: Path) -> list[Callable[[], object]]:
    steps: list[Callable[[], object]] = []
    for name, schema, texts in (("any", None, _TEXTS), ("closed", Schema.loads(_SCHEMA), (*_TEXTS, *_IN_DOMAINS))):
        for as_text in (True, False):
            engine: list[Engine] = []
            path = folder / f"{name} {as_text}"
            # Who counts is asked in batches; without, a single event has a road of its own.
            chosen = texts if as_text else tuple(text for text in texts if "at least" not in text)
            steps += _on(engine, schema, chosen, path, as_text)
    return steps


def _on(
    held: list[Engine], schema: Schema | None, texts: tuple[str, ...], path: Path, as_text: bool
) -> list[Callable[[], object]]:
    """The roads, each a step; the first makes the engine, and one puts another in its place that was read from disk."""
    table = pa.table({name: [event.get(name) for event in _EVENTS] for name in ("s", "a", "n")})

    def load() -> None:
        held[:] = [Engine(schema, wait=True)]
        held[0].subscribe_many(_pairs(texts, 0, 300, as_text))

    def ask() -> None:
        for event in _EVENTS:
            held[0].match(event)
        held[0].match_many(_EVENTS)
        held[0].count_many(_EVENTS)
        held[0].match_many(_EVENTS * 5)
        lines = [json.dumps(event) for event in (*_EVENTS, {"s": "é\n", "a": 0.12345678901234567})]
        held[0].match_json("\n".join(lines).encode())
        held[0].match_many(table, threads=2).to_arrow()

    gone = iter(_pairs(texts, 0, 60, as_text))

    def change() -> None:
        for id, text in _pairs(texts, 290, 40, as_text):
            held[0].subscribe(id, text)
        more = _pairs(texts, 320, 900, as_text)
        held[0].subscribe_many(pa.table({"id": [id for id, _ in more], "expression": [text for _, text in more]}))
        for id, _ in islice(gone, 30):
            held[0].unsubscribe(id)
        held[0].observe(_EVENTS)

    def keep() -> None:
        held[0].save(path)
        held[:] = [Engine.open(path, wait=True)]

    return [load, ask, change, ask, keep, ask, change, lambda: held[0].close()]


def warm(tell: Callable[[warmth.Compiling], None] = lambda progress: None) -> None:
    """Compile what is not compiled yet, and note that all is; also after a failure, or every engine would try again."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            steps = _steps(Path(folder))
            for done, step in enumerate(steps):
                tell(warmth.Compiling(done, len(steps)))
                step()
    finally:
        warmth.mark()


def main() -> None:
    """Unless somebody else just did."""
    with warmth.compiling() as file:
        if not warmth.is_warm():
            warm(lambda progress: warmth.tell(file, progress))


if __name__ == "__main__":
    main()
