"""What people see of an engine and its answers: in a console, and from their type checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tamis import Engine
from tamis.registry.receipts import Receipt

TYPED = """
from typing import assert_type
from tamis import Engine
from tamis.matches import Matches

names: Engine[str] = Engine()
names.subscribe("ann", "price < 10")
assert_type(names.match({"price": 1}), list[str])
assert_type(names.match_many([{"price": 1}])[0], list[str])
assert_type(names.ids(), list[str])
with Engine[int].open("somewhere") as numbers:
    assert_type(numbers.match_many([]), Matches[int])
either = Engine()
either.subscribe("ann", "price < 10")
either.unsubscribe_many(["ann", 3])
assert_type(either.ids(), list[str | int])
"""


def test_an_engine_is_shown_on_one_line(tmp_path: Path) -> None:
    engine = Engine()
    engine.subscribe_many([(n, f"v < {n}") for n in range(1_200)])
    engine.save(tmp_path / "kept")

    assert repr(engine) == "<Engine: adaptive, 1,200 subscriptions>"
    with Engine.open(tmp_path / "kept", read_only=True) as opened:
        assert repr(opened) == f"<Engine: adaptive, 1,200 subscriptions in '{tmp_path}/kept'>"


def test_a_receipt_shows_a_few_ids() -> None:
    engine = Engine(algorithm="naive")

    receipt = engine.subscribe_many([(n, "v = 1 and v = 2") for n in range(1_000)])

    assert repr(receipt) == "Receipt(subscribed=1000, replaced=0, never_matching=(0, 1, 2, and 997 more))"
    assert repr(Receipt(2, 1, ("a",))) == "Receipt(subscribed=2, replaced=1, never_matching=('a',))"
    assert str(receipt) == repr(receipt)


def test_matches_are_shown_counted_and_indexed() -> None:
    engine = Engine(algorithm="naive")
    engine.subscribe_many([(n, f"v < {n}") for n in range(3)])

    matches = engine.match_many([{"v": 0}, {"v": 1}, {"v": 2}])

    assert repr(matches) == "<Matches: 3 events, 3 matches>"
    assert (len(matches), matches[0], matches[1], matches[-1]) == (3, [1, 2], [2], [])
    assert list(matches) == [[1, 2], [2], []]
    for row in (3, -4):
        with pytest.raises(IndexError, match="from 0 to 2"):
            matches[row]


@pytest.mark.slow
def test_a_type_checker_knows_the_ids(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "typed.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.startswith("Success"), done.stdout
