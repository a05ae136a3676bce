"""How long it takes to say who covers whom: python -m benchmarks.lint [COUNT]

For each workload: processor seconds to read texts and relate them, beside those to read and compile them into a
segment (the same texts, in turns, best of three), and the conjunctions looked at per subscription, which is what an
index saves: pairs would be as many as there are subscriptions.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from tamis import Schema
from tamis.lint.reading import read_and_relate
from tamis.segments.ids import IdColumn
from tamis.segments.segment import compile_segment
from tamis.workloads.catalogue import find_workload

SEED = 16
ROUNDS = 3


def workloads(count: int) -> Iterator[tuple[str, pa.Array, Schema]]:
    for name in ("lesub", "w4", "ads", "web", "light"):
        workload = find_workload(name)
        yield name, workload.subscriptions(count, SEED)["expression"].combine_chunks(), workload.schema()
    dice = random.Random(SEED)
    yield "chain", pa.array([f"price < {dice.randrange(10**7)}" for _ in range(count)]), Schema(open=True)
    yield "boxes", pa.array([" and ".join(map(dice_box(dice), "abcd")) for _ in range(count)]), Schema(open=True)


def dice_box(dice: random.Random) -> Callable[[str], str]:
    def box(name: str) -> str:
        low = dice.randrange(10_000)
        return f"{name} between {low} and {low + dice.randrange(8_000)}"

    return box


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main(count: int) -> None:
    print(f"{count:,} subscriptions, seed {SEED}, best of {ROUNDS}, processor seconds")
    print("workload   relate  compile  looked at each  covered  equal  never  undecided")
    for name, texts, schema in workloads(count):
        ids = IdColumn.of(range(count))
        found = read_and_relate(texts, schema).relations
        compile_segment(ids, texts, schema)
        times = [
            (
                seconds(lambda texts=texts, schema=schema: read_and_relate(texts, schema)),
                seconds(lambda ids=ids, texts=texts, schema=schema: compile_segment(ids, texts, schema)),
            )
            for _ in range(ROUNDS)
        ]
        relate, compiling = (min(side) for side in zip(*times, strict=True))
        print(
            f"{name:9} {relate:7.2f} {compiling:8.2f} {found.work['looked_at'] / count:15,.0f}"
            f" {len(found.covered):8,} {len(found.equal):6,} {len(found.never):6,} {len(found.undecided):10,}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
