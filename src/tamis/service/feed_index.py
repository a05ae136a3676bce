"""Where does a feed have something? A tree over positions with a word of 64 bits for each feed and node.

Positions are cut into *chunks* of 64. A node of level 0 covers 64 chunks, 2**12 positions; of level 1 64 of those; of
level 2 2**24 positions. Bit i of a feed's word says that child i has something for it: feed 3 with an event at position
70 has bit 1 of node 0 of level 0, and bit 0 of the nodes above. What is in a chunk is told by its block.

The nodes that the newest position falls into are *open*: three words for each feed, in memory, however many events or
matches there are. When positions leave a node its words are written, those that are not zero, in shards of 4,096 feeds.
A bit that is set too early costs a look at a block; one that is missing would cost a notification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.service.blocks import Block
from tamis.store.derived import NodeRow
from tamis.store.packing import pack, planes, unpack, unplaned

__all__ = ["CHUNK_BITS", "LEVELS", "SHARD_BITS", "FeedIndex", "OpenNodes", "Walk", "unpacked"]

Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
ReadNode = Callable[[int, int, int], bytes | None]
"""Level, shard and range → what was written of it."""

CHUNK_BITS = 6
LEVELS = 3
SHARD_BITS = 12


class OpenNodes(NamedTuple):
    """What readers see: all up to `reached`, the number of the open node of level 0, and the words of each level."""

    reached: int
    number: int
    words: tuple[Words, ...]

    def numbers(self, level: int) -> int:
        return self.number >> (CHUNK_BITS * level)


class FeedIndex:
    """Written by the matcher: `take` each block, write the rows it gives, then `publish`."""

    def __init__(self, reached: int = 0) -> None:
        words = tuple(np.zeros(64, np.uint64) for _ in range(LEVELS))
        self.seen = OpenNodes(reached, reached >> (2 * CHUNK_BITS), words)
        self._next = self.seen

    def room(self, feeds: int) -> None:
        """For so many feeds. What readers hold stays as it is."""
        if feeds > len(self._next.words[0]):
            size = max(feeds, 2 * len(self._next.words[0]))
            grown = tuple(np.concatenate([old, np.zeros(size - len(old), np.uint64)]) for old in self._next.words)
            self._next = self._next._replace(words=grown)

    def take(self, block: Block, feeds: npt.NDArray[np.integer]) -> list[NodeRow]:
        """Note a block; `feeds` are those of its handles. The rows of nodes that positions have left."""
        rows: list[NodeRow] = []
        for chunk in range(block.first >> CHUNK_BITS, (block.last >> CHUNK_BITS) + 1):
            if chunk >> CHUNK_BITS != self._next.number:
                rows += self._leave(chunk >> CHUNK_BITS)
            self._note(chunk, block, feeds)
        self._next = self._next._replace(reached=block.last)
        return rows

    def _note(self, chunk: int, block: Block, feeds: npt.NDArray[np.integer]) -> None:
        begin, end = ((chunk + side << CHUNK_BITS) - block.first for side in (0, 1))
        first, last = block.offsets[max(begin, 0)], block.offsets[min(end, len(block.offsets) - 1)]
        if first < last:
            self._next.words[0][feeds[first:last]] |= np.uint64(1 << (chunk & 63))

    def _leave(self, number: int) -> list[NodeRow]:
        """Close what is open and does not lie above the new node of level 0."""
        rows: list[NodeRow] = []
        words = list(self._next.words)
        for level in range(LEVELS):
            old, new = self._next.numbers(level), number >> (CHUNK_BITS * level)
            if old == new:
                break
            feeds = np.flatnonzero(words[level])
            rows += _rows(level, old, feeds, words[level][feeds])
            if level + 1 < LEVELS:
                words[level + 1][feeds] |= np.uint64(1 << (old & 63))
            words[level] = np.zeros(len(words[level]), np.uint64)  # readers go on with the old ones
        self._next = self._next._replace(number=number, words=tuple(words))
        return rows

    def restore(self, block: Block, feeds: npt.NDArray[np.integer]) -> None:
        """Note what a block has in the open node of level 0."""
        begin = (self._next.number << 2 * CHUNK_BITS) - block.first
        for chunk in range(max(block.first + max(begin, 0), 0) >> CHUNK_BITS, (block.last >> CHUNK_BITS) + 1):
            self._note(chunk, block, feeds)

    def publish(self) -> None:
        """What was taken is on disk."""
        self.seen = self._next

    def take_back(self) -> None:
        """What was taken since is not."""
        self._next = self.seen

    def mark(self, level: int, feeds: Longs, child: int) -> None:
        """Note a child that was written before, when the open nodes are built again."""
        if len(feeds):
            self.room(int(feeds.max()) + 1)
            self._next.words[level][feeds] |= np.uint64(1 << (child & 63))


def _rows(level: int, number: int, feeds: Longs, words: Words) -> Iterator[NodeRow]:
    shards = feeds >> SHARD_BITS
    for shard in np.unique(shards).tolist():
        first, last = np.searchsorted(shards, [shard, shard + 1])
        content = planes(np.diff(feeds[first:last], prepend=0)) + words[first:last].tobytes()
        head = len(content).to_bytes(4, "little") + int(last - first).to_bytes(4, "little")
        yield NodeRow(level, shard, number, head + pack(content))


def unpacked(data: bytes) -> tuple[Longs, Words]:
    """The feeds of a row, ascending, and their words."""
    size, count = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4))
    content = memoryview(unpack(data[8:], size))
    gaps, used = unplaned(content, count)
    return np.cumsum(gaps), np.frombuffer(content[used:], np.uint64)


class Walk:
    """The chunks in which one feed may have something, for one reader."""

    def __init__(self, nodes: OpenNodes, feed: int, read: ReadNode, next_top: Callable[[int], int | None]) -> None:
        self._nodes = nodes
        self._feed = feed
        self._read = read
        self._next_top = next_top

    def chunks(self, after: int) -> Iterator[int]:
        """In order, from that of the position behind `after` on."""
        least = (after + 1) >> CHUNK_BITS
        top = LEVELS - 1
        number: int | None = least >> (CHUNK_BITS * LEVELS)
        while number is not None:
            opened = self._nodes.numbers(top)
            if number < opened:
                found = self._next_top(number)
                number = opened if found is None else min(found, opened)
            yield from self._below(top, number, least)
            number = number + 1 if number < opened else None

    def _below(self, level: int, number: int, least: int) -> Iterator[int]:
        word = self._word(level, number)
        while word:
            bit = word & -word
            word ^= bit
            child = (number << CHUNK_BITS) + bit.bit_length() - 1
            if (child + 1) << (CHUNK_BITS * level) > least:
                if level:
                    yield from self._below(level - 1, child, least)
                else:
                    yield child

    def _word(self, level: int, number: int) -> int:
        opened = self._nodes.numbers(level)
        if number > opened:
            return 0
        if number == opened:
            words = self._nodes.words[level]
            word = int(words[self._feed]) if self._feed < len(words) else 0
            return word | (1 << (self._nodes.numbers(level - 1) & 63)) if level else word
        data = self._read(level, self._feed >> SHARD_BITS, number)
        if data is None:
            return 0
        feeds, words = unpacked(data)
        at = int(np.searchsorted(feeds, self._feed))
        return int(words[at]) if at < len(feeds) and feeds[at] == self._feed else 0
