"""What child processes do in the PB+tree's tests: they are killed, or open a damaged file that may kill them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from tamis.errors import SegmentError
from tamis.indexes import INDEXES, SIX, PredicateIndex
from tamis.model import Kind, Number, Operator, Value, compare

Held = dict[int, tuple[Operator, Value]]

PROBES = [Value(Kind.NUMBER, n) for n in range(0, 3_000, 173)]


def steps(seed: int) -> Iterator[tuple[Held, list[int]]]:
    """An endless plan: what each transaction inserts and deletes."""
    chance, next_id = random.Random(seed), 0
    held: list[int] = []
    while True:
        new: Held = {}
        for _ in range(chance.choice([1, 5, 200, 600])):
            new[next_id] = (chance.choice(SIX), Value(Kind.NUMBER, chance.randrange(3_000)))
            next_id += 1
        gone = chance.sample(held, min(len(held), chance.choice([0, 3, 60])))
        held = [id for id in held if id not in set(gone)] + list(new)
        yield new, gone


def state(seed: int, transactions: int) -> Held:
    """What is held after so many transactions."""
    held: Held = {}
    plan = steps(seed)
    for _ in range(transactions):
        new, gone = next(plan)
        held |= new
        for id in gone:
            del held[id]
    return held


def answers(held: Held) -> list[list[int]]:
    number = Number()
    return [sorted(id for id, (op, c) in held.items() if compare(number, op, value, c)) for value in PROBES]


def found(index: PredicateIndex) -> list[list[int]]:
    return [np.sort(index.search(value)).tolist() for value in PROBES]


def write_until_killed(path: Path, seed: int, done: Connection) -> None:
    """Run the plan, and tell after each commit."""
    index = INDEXES["pb-tree"](Number(), path=path)
    for number, (new, gone) in enumerate(steps(seed), start=1):
        with index.transaction():  # type: ignore[attr-defined]  # a disk index has transactions
            index.insert_many([(id, *predicate) for id, predicate in new.items()])
            for id in gone:
                index.delete(id)
        done.send(number)


def search_damaged(
    path: Path, damages: list[tuple[int, bytes]], expected: list[list[int]], verdicts: Connection
) -> None:
    """For bytes overwritten at an offset: "right", "refused" or "wrong". They are put back afterwards."""
    for offset, damage in damages:
        intact = _overwrite(path / "data.mdb", offset, damage)
        try:
            index = INDEXES["pb-tree"](Number(), path=path)
            try:
                verdict = "right" if found(index) == expected else "wrong"
            finally:
                index.close()
        except SegmentError:
            verdict = "refused"
        _overwrite(path / "data.mdb", offset, intact)
        verdicts.send(verdict)


def _overwrite(file: Path, offset: int, damage: bytes) -> bytes:
    """What was there before."""
    with file.open("r+b") as stream:
        stream.seek(offset)
        before = stream.read(len(damage))
        stream.seek(offset)
        stream.write(damage)
    return before
