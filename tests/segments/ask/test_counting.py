"""`at least`: thresholds counted one by one and 64 at a time reach the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis import Engine
from tamis.kernels.segments.thresholds import Asked, Dense, count_dense, count_thresholds
from tamis.segments.ask import counting


def drawn(seed: int) -> tuple[Asked, np.ndarray, np.ndarray]:
    """Members of thresholds, and events with some of them each."""
    draw = random.Random(seed)
    members, thresholds = draw.randint(1, 12), draw.choice([1, 63, 64, 65, 200])
    of = [sorted(draw.sample(range(thresholds), draw.randint(0, thresholds))) for _ in range(members)]
    sizes = [sum(one in some for some in of) for one in range(thresholds)]
    least = [draw.randint(1, max(size, 1)) for size in sizes]
    events = [draw.sample(range(members), draw.randint(0, members)) for _ in range(20)]
    start, offsets = (np.cumsum([0, *map(len, some)], dtype=np.int64) for some in (of, events))
    asked = Asked(start, np.array([one for some in of for one in some], np.int32), np.array(least, np.uint8))
    return asked, offsets, np.array([one for some in events for one in some], np.int64)


@pytest.mark.parametrize("seed", range(30))
def test_one_by_one_and_many_at_a_time_reach_the_same(seed: int) -> None:
    asked, offsets, members = drawn(seed)
    words, bits, begin = counting._dense(asked)
    scratch = np.empty_like(begin), np.empty(words, np.uint64), np.empty(words, np.uint64)
    answers = []
    for dense in (False, True):
        rows, found = np.empty(10_000, np.int32), np.empty(10_000, np.int32)
        if dense:
            total = count_dense(offsets, members, Dense(words, bits, begin, *scratch), rows, found)
        else:
            total = count_thresholds(offsets, members, asked, asked.least.copy(), rows, found)
        answers.append(sorted(zip(rows[:total].tolist(), found[:total].tolist(), strict=True)))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("dense", [False, True])
def test_a_member_that_is_said_twice_counts_twice(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_is_dense", lambda asked: dense)
    texts = [f"at least {least} of (a = 1, a = 1, b = 1, c = 1)" for least in (1, 2, 3, 4)]
    engine, oracle = Engine(), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many(list(enumerate(texts)))
    events = [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"c": 1, "b": 1}]

    assert [sorted(one) for one in engine.match_many(events)] == [sorted(one) for one in oracle.match_many(events)]
