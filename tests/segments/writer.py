"""Writes to a durable engine until it is killed, and says of each write when it has returned.

    python -m tests.segments.writer FOLDER SEED

What it does is a function of the seed and of the ids it finds, so that whoever killed it knows what it did.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tamis import Engine
from tamis.model import SubscriptionId
from tests.segments.histories import restless

Operation = tuple[str, Any]
Model = dict[SubscriptionId, str]


def operations(seed: int, known: list[SubscriptionId]) -> Iterator[Operation]:
    """Subscribing, replacing, forgetting, batches and checkpoints without end."""
    draw = random.Random(seed)
    ids = list(known)
    while True:
        what = draw.choice(["new", "new", "replace", "forget", "batch", "checkpoint", "match"])
        if what == "forget" and ids:
            yield "unsubscribe", ids.pop(draw.randrange(len(ids)))
        elif what in ("new", "replace", "batch"):
            fresh = [_fresh(draw, ids if what == "replace" else []) for _ in range(5 if what == "batch" else 1)]
            ids += [id for id in dict(fresh) if id not in ids]
            yield "subscribe", fresh
        elif what in ("checkpoint", "match"):
            yield what, None


def _fresh(draw: random.Random, ids: list[SubscriptionId]) -> tuple[SubscriptionId, str]:
    number = draw.randrange(10**6)
    id = draw.choice(ids) if ids else number if number % 2 else f"é{number}"
    return id, f"v = {number % 3} and w != 'it''s {number}'"


def model_after(model: Model, operation: Operation) -> Model:
    """What is subscribed after an operation, in the order of subscribing."""
    verb, what = operation
    after = dict(model)
    if verb == "unsubscribe":
        del after[what]
    elif verb == "subscribe":
        for id, text in what:
            after.pop(id, None)
            after[id] = text
    return after


def write(engine: Engine, operation: Operation) -> None:
    verb, what = operation
    if verb == "subscribe":
        engine.subscribe(*what[0]) if len(what) == 1 else engine.subscribe_many(what)
    elif verb == "unsubscribe":
        engine.unsubscribe(what)
    elif verb == "checkpoint":
        engine._registry.checkpoint()  # type: ignore[union-attr]
    else:
        engine.match_many([{"v": 1, "w": "x"}])


def main(path: str, seed: str) -> None:
    with restless():
        engine = Engine.open(Path(path), create=True)
        for number, operation in enumerate(operations(int(seed), engine.ids())):
            write(engine, operation)
            print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
