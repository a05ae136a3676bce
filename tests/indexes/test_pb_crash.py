"""A PB+tree through `kill -9` and through damage: all of a transaction or none, and never a wrong answer."""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tamis.errors import LimitError, SegmentError
from tamis.indexes import INDEXES
from tamis.indexes.pb_tree import PbTree
from tamis.model import Kind, Number, Operator, Value
from tests.indexes.pb_children import answers, found, search_damaged, state, write_until_killed

KILLS = 15

children = multiprocessing.get_context("forkserver")
children.set_forkserver_preload(["tests.indexes.pb_children", "tamis.indexes.pb_tree"])


@pytest.mark.slow
def test_a_transaction_is_all_or_nothing_when_the_process_is_killed(tmp_path: Path) -> None:
    chance = random.Random(20_260)
    done_before = 0
    for attempt in range(KILLS):
        path = tmp_path / str(attempt)
        committed = _run_and_kill(path, attempt, chance)
        index = PbTree(Number(), path)
        index.check()
        after = found(index)
        index.close()

        either = [answers(state(attempt, number)) for number in (committed, committed + 1)]
        assert after in either, f"seed {attempt}, killed after {committed} transactions"
        done_before += committed
    assert done_before > KILLS, "most children got somewhere before they were killed"


def _run_and_kill(path: Path, seed: int, chance: random.Random) -> int:
    """The number of transactions the child had told of when it was killed."""
    here, there = children.Pipe(duplex=False)
    child = children.Process(target=write_until_killed, args=(path, seed, there))
    child.start()
    there.close()
    committed, wanted = 0, chance.randrange(12)
    try:
        while committed < wanted:
            committed = here.recv()
        child.join(timeout=chance.random() * 0.05)  # so that the kill falls anywhere in the next transactions
    finally:
        child.kill()
        child.join()
    try:
        while True:
            committed = here.recv()
    except EOFError:
        return committed


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, bytes, list[list[int]]]:
    """An index on disk, its bytes, and its answers."""
    index = PbTree(Number(), tmp_path)
    held = state(7, 30)
    index.insert_many([(id, *predicate) for id, predicate in held.items()])
    index.close()
    return tmp_path, (tmp_path / "data.mdb").read_bytes(), answers(held)


@pytest.mark.slow
def test_a_flipped_bit_is_refused_or_harmless_and_never_a_wrong_answer(
    stored: tuple[Path, bytes, list[list[int]]],
) -> None:
    path, content, expected = stored
    chance = random.Random(11)
    anywhere = [chance.randrange(len(content)) for _ in range(80)]
    heads = [chance.randrange(len(content) // 4096) * 4096 + chance.randrange(100) for _ in range(120)]
    flips = [(at, bytes([content[at] ^ (1 << chance.randrange(8))])) for at in anywhere + heads]
    verdicts = Counter(_verdicts(path, flips, expected))

    assert verdicts["wrong"] == 0
    assert verdicts["died"] == 0
    assert verdicts["refused"] > 20


@pytest.mark.slow
def test_a_torn_page_is_refused_or_unused_and_never_a_wrong_answer(stored: tuple[Path, bytes, list[list[int]]]) -> None:
    path, content, expected = stored
    nodes = [at for at in range(2 * 4096, len(content), 4096) if content[at + 24 : at + 28] == b"PB+1"]
    torn = [(at + 2048, bytes(2048)) for at in nodes]
    verdicts = Counter(_verdicts(path, torn, expected))

    assert verdicts["wrong"] == 0
    assert verdicts["refused"] >= 3


def _verdicts(path: Path, damages: list[tuple[int, bytes]], expected: list[list[int]]) -> list[str]:
    here, there = children.Pipe(duplex=False)
    child = children.Process(target=search_damaged, args=(path, damages, expected, there))
    child.start()
    there.close()
    verdicts = []
    try:
        for _ in damages:
            verdicts.append(here.recv())
    except EOFError:
        verdicts.append("died")
    child.join()
    return verdicts


def test_a_transaction_left_by_an_exception_leaves_nothing() -> None:
    index = PbTree(Number())
    three = Value(Kind.NUMBER, 3)
    index.insert(1, Operator.EQ, three)
    seen = 0
    with suppress(ZeroDivisionError), index.transaction():
        index.delete(1)
        index.insert_many([(id, Operator.GE, three) for id in range(10, 5_000)])
        seen = len(index.search(three))
        _ = 1 / 0

    assert seen == 4_990
    index.check()
    assert index.search(three).tolist() == [1]
    index.close()


def test_a_refused_insertion_leaves_the_rest_of_its_transaction() -> None:
    index = PbTree(Number())
    three = Value(Kind.NUMBER, 3)
    with index.transaction():
        index.insert(1, Operator.EQ, three)
        with pytest.raises(KeyError):
            index.insert_many([(2, Operator.EQ, three), (1, Operator.EQ, three)])

    index.check()
    assert index.search(three).tolist() == [1]
    index.close()


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"no database" * 1_000)

    with pytest.raises(SegmentError):
        PbTree(Number(), tmp_path)


def test_an_index_with_a_path_is_there_after_closing_and_one_without_is_gone(tmp_path: Path) -> None:
    kept, own = PbTree(Number(), tmp_path / "kept"), PbTree(Number())
    home = Path(own._store.path)
    for index in (kept, own):
        index.insert(5, Operator.LT, Value(Kind.NUMBER, 3))
        index.close()
    again = INDEXES["pb-tree"](Number(), path=tmp_path / "kept")

    assert again.search(Value(Kind.NUMBER, 2)).tolist() == [5]
    assert not home.exists()
    again.close()


def test_a_full_map_is_a_limit(tmp_path: Path) -> None:
    index = PbTree(Number(), tmp_path)
    index._store.env.set_mapsize(200_000)
    predicates = [(id, Operator.LT, Value(Kind.NUMBER, id)) for id in range(20_000)]
    with pytest.raises(LimitError):
        index.insert_many(predicates)

    assert index.search(Value(Kind.NUMBER, 0)).tolist() == []
    index.close()
