"""Any history has the naive answers, whatever happens to the engine between its steps."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis.segments import merging, subscriptions
from tamis.segments.compile import codes
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tests.conformance.histories import History, histories
from tests.segments.histories import replay_durable, restless
from tests.strategies import Dice, make_event, make_expression, make_schema

IDS = ("ann", "bob", 1, 2, "1", 2**63)
LONG_SEED = 20240531
LONG_HISTORIES = 10_000


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(history=histories(), data=st.data())
def test_any_history_survives_reopening_flushing_and_merging(history: History, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, restless():
        replay_durable(history, Path(folder) / "engine", Dice(lambda sides: data.draw(st.integers(0, sides - 1))))


def make_history(dice: Dice) -> History:
    """As `histories()` draws them, but from dice alone."""
    schema = make_schema(dice)
    steps: list[tuple[object, ...]] = []
    for at in range(2 + dice.roll(8)):
        verb = "subscribe" if at == 0 else dice.one(("subscribe", "subscribe", "unsubscribe", "match"))
        if verb == "subscribe":
            pairs = [(dice.one(IDS), make_expression(dice, schema)) for _ in range(1 + dice.roll(5))]
            steps.append((verb, pairs))
        elif verb == "unsubscribe":
            steps.append((verb, dice.one(IDS)))
        else:
            steps.append((verb, [make_event(dice, schema) for _ in range(1 + dice.roll(4))]))
    steps.append(("match", [make_event(dice, schema) for _ in range(4)]))
    return History(schema, tuple(steps))


def make_tuning(dice: Dice) -> Tuning:
    return replace(
        DEFAULT,
        probe_ns=dice.one((30.0, -1e9, 0.0, 1e9)),
        verify_ns=dice.one((8.0, 0.0, 1e9)),
        rare=dice.one((0.08, 0.0, 1.1)),
        members=dice.one((DEFAULT.members, 2, 3, 64)),
        most_slots=dice.one((170, 0, 1, 2)),
        sparse=dice.one((1024, 1, 10**9)),
        few=dice.one((96, 0, 10**9)),
        spacing=dice.one((64, 1, 2)),
    )


def replay_seed(seed: int, folder: Path) -> int:
    dice = Dice(random.Random(seed).randrange)
    history, tuning = make_history(dice), make_tuning(dice)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merging, "QUICK", dice.one((20_000, 0)))  # 0: every merge in the background
        patched.setattr(subscriptions, "_SMALL_DELTA", dice.one((16, 0)))
        patched.setattr(codes, "_MOST_OBJECTS", dice.one((1 << 16, 0)))
        with restless() if dice.roll(2) else nullcontext():
            return replay_durable(history, folder / f"engine-{seed}", dice, tuning=tuning)


def test_seeded_histories_survive_with_any_tuning_and_merges_in_the_background(tmp_path: Path) -> None:
    matches = 0
    for seed in range(60):
        print(f"seed {seed}")
        matches += replay_seed(seed, tmp_path)

    assert matches > 0


@pytest.mark.long
def test_ten_thousand_histories_have_the_naive_answers(tmp_path: Path) -> None:
    matches = 0
    for seed in range(LONG_SEED, LONG_SEED + LONG_HISTORIES):
        if (seed - LONG_SEED) % 100 == 0:
            print(f"seeds {seed} to {seed + 99}", flush=True)
        with TemporaryDirectory(dir=tmp_path) as folder:
            try:
                matches += replay_seed(seed, Path(folder))
            except BaseException:
                print(f"failed with seed {seed}", flush=True)
                raise

    assert matches > LONG_HISTORIES
