"""Blocks and the index of feeds, against what a plain dictionary says."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest

from tamis.service.blocks import Block
from tamis.service.feed_index import CHUNK_BITS, LEVELS, SHARD_BITS, FeedIndex, Walk
from tamis.store.derived import NodeRow


@pytest.mark.parametrize("seed", range(20))
def test_a_block_comes_back_as_it_was(seed: int) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(1, 50))
    count = int(chance.integers(0, 400))
    pairs = sorted(
        set(zip(chance.integers(0, size, count).tolist(), chance.integers(0, 1 << 33, count).tolist(), strict=True))
    )
    shuffled = chance.permutation(np.array(pairs, np.int64).reshape(-1, 2))

    block = Block.of(1_000, 1_000 + size - 1, shuffled[:, 0], shuffled[:, 1])
    again = Block.unpacked(block.packed())

    for place in range(size):
        expected = [handle for at, handle in pairs if at == place]
        assert block.at(1_000 + place).tolist() == again.at(1_000 + place).tolist() == expected
    assert again.counts(1_000, 1_000 + size - 1).sum() == len(pairs)


def test_a_match_takes_few_bytes() -> None:
    """Hundreds of matches an event among 100,000 subscriptions."""
    chance = np.random.default_rng(1)
    places = np.repeat(np.arange(100), 660)
    handles = np.concatenate([chance.choice(100_000, 660, replace=False) for _ in range(100)])

    row = Block.of(1, 100, places, handles).packed()

    assert len(row.data) <= 3 * row.matches


class _Nodes:
    """What the index wrote."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int, int], bytes] = {}

    def add(self, rows: list[NodeRow]) -> None:
        for row in rows:
            assert row[:3] not in self.rows, "a node is left once"
            self.rows[row[:3]] = row.data

    def read(self, level: int, shard: int, number: int) -> bytes | None:
        return self.rows.get((level, shard, number))

    def next_top(self, shard: int, number: int) -> int | None:
        found = [key[2] for key in self.rows if key[:2] == (LEVELS - 1, shard) and key[2] >= number]
        return min(found, default=None)


def _history(seed: int) -> tuple[FeedIndex, _Nodes, dict[int, set[int]], int]:
    """Blocks over far more positions than there are events, epochs among them."""
    chance = random.Random(seed)
    index, nodes, truth, position = FeedIndex(), _Nodes(), defaultdict(set), 0
    index.room(9_000)
    for _ in range(60):
        first = position + 1
        last = first + chance.choice([0, 3, 100, 5_000])
        if chance.random() < 0.2:  # a long stretch without any match, or another epoch
            first += chance.choice([1 << 13, 1 << 19, 1 << 25, 1 << 40])
            last += first - position - 1
        count = chance.choice([0, 1, 5, 40])
        pairs = sorted(
            {(chance.randrange(last - first + 1), chance.choice([0, 1, 70, 5_000, 8_191])) for _ in range(count)}
        )
        for place, feed in pairs:
            truth[feed].add((first + place) >> CHUNK_BITS)
        places, feeds = np.array(pairs, np.int64).reshape(-1, 2).T
        nodes.add(index.take(Block.of(first, last, places, feeds), feeds))
        index.publish()
        position = last
    return index, nodes, truth, position


@pytest.mark.parametrize("seed", range(30))
def test_the_index_finds_every_chunk_of_a_feed_from_any_cursor(seed: int) -> None:
    index, nodes, truth, reached = _history(seed)
    chance = random.Random(seed)
    positions = sorted({0, reached, *(chunk << CHUNK_BITS for chunks in truth.values() for chunk in chunks)})

    for feed in (0, 1, 70, 5_000, 8_191, 42, 8_999, 100_000):
        for after in [0, *chance.sample(positions, min(5, len(positions)))]:
            walk = Walk(index.seen, feed, nodes.read, lambda at, feed=feed: nodes.next_top(feed >> SHARD_BITS, at))  # type: ignore[misc]
            expected = sorted(chunk for chunk in truth.get(feed, ()) if chunk >= (after + 1) >> CHUNK_BITS)
            assert list(walk.chunks(after)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_what_readers_hold_stays_true_while_the_matcher_goes_on(seed: int) -> None:
    index, nodes, truth, reached = _history(seed)
    seen = index.seen
    expected = {feed: sorted(chunks) for feed, chunks in truth.items()}

    first = reached + (1 << 20)
    nodes.add(index.take(Block.of(first, first, np.array([0]), np.array([1])), np.array([1])))

    for feed, chunks in expected.items():
        walk = Walk(seen, feed, nodes.read, lambda at, feed=feed: nodes.next_top(feed >> SHARD_BITS, at))  # type: ignore[misc]
        found = list(walk.chunks(0))
        assert set(chunks) <= set(found)


def test_the_open_nodes_take_a_few_bytes_a_feed_however_many_matches_there_are() -> None:
    index = FeedIndex()
    index.room(1_000)
    feeds = np.tile(np.arange(1_000), 64)
    for at in range(1, 64 * 64, 64):
        index.take(Block.of(at, at + 63, np.repeat(np.arange(64), 1_000), feeds), feeds)
        index.publish()

    assert sum(words.nbytes for words in index.seen.words) <= 3 * 8 * 2 * 1_000
