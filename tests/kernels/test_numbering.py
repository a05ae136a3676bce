"""Numbers for keys, orders by number, and hashes in order; also where keys were chosen to collide."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.kernels.numbering import MOST_PROBES, find_hashes, grouped, numbered, ranked, sorted_hashes

SEED = 5


def keys_of(count: int, most: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(0, most, count)


@pytest.mark.parametrize(("count", "most"), [(0, 1), (1, 1), (1000, 3), (1000, 500), (1000, 2**62)])
def test_equal_keys_have_equal_numbers_in_the_order_of_their_coming(count: int, most: int) -> None:
    keys = keys_of(count, most)

    numbers, first = numbered(keys)

    assert (keys[first][numbers] == keys).all()
    assert len(set(keys[first].tolist())) == len(first)
    assert (np.diff(first) > 0).all()


def test_negative_keys_have_no_number_and_no_place() -> None:
    numbers, first = numbered(np.array([7, -1, 3, 7, -5]))
    starts, order = grouped(numbers, len(first))

    assert numbers.tolist() == [0, -1, 1, 0, -1]
    assert (starts.tolist(), order.tolist()) == ([0, 2, 3], [0, 3, 2])


@pytest.mark.parametrize("most", [1, 10, 2**62])
def test_ranks_order_as_a_stable_sort_does(most: int) -> None:
    keys = keys_of(500, most)

    ranks, count = ranked(keys)

    assert grouped(ranks, count)[1].tolist() == np.argsort(keys, kind="stable").tolist()


def test_keys_chosen_for_their_hashes_may_be_numbered_twice_but_never_mixed_up() -> None:
    candidates = np.arange(2_000_000, dtype=np.uint64)
    mixed = (candidates ^ (candidates >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    keys = candidates[mixed % np.uint64(2048) == 3][: 2 * MOST_PROBES].astype(np.int64)
    assert len(keys) == 2 * MOST_PROBES  # the table for so many has 2048 places, and all want the same

    numbers, first = numbered(np.r_[keys, keys][: 4 * MOST_PROBES])

    assert (keys[first % len(keys)][numbers] == np.r_[keys, keys]).all()


@pytest.mark.parametrize("hashes", ["spread", "all alike", "one bucket", "none"])
def test_hashes_come_in_order(hashes: str) -> None:
    random = np.random.default_rng(SEED).integers(0, 2**64, 1000, np.uint64)
    given = {"spread": random, "all alike": random * 0 + 7, "one bucket": random >> np.uint64(40), "none": random[:0]}[
        hashes
    ]

    found, order = sorted_hashes(given)

    assert order.tolist() == np.argsort(given, kind="stable").tolist()
    assert (given[order] == found).all()


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
@pytest.mark.parametrize("spread", [2**64 - 1, 2**20, 3], ids=["evenly", "all small", "all the same few"])
def test_hashes_are_found_where_halving_finds_them(count: int, spread: int) -> None:
    random = np.random.default_rng(SEED)
    hashes = np.sort(random.integers(0, spread, count, np.uint64))
    edges = np.array([0, 1, 2**32, 2**63, 2**64 - 1], np.uint64)
    wanted = np.concatenate([hashes, hashes + np.uint64(1), random.integers(0, spread, 500, np.uint64), edges])
    places = np.empty(len(wanted), np.int64)

    find_hashes(hashes, wanted, places)

    assert places.tolist() == np.searchsorted(hashes, wanted).tolist()
