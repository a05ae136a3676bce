"""Access clusters: conjunctions under the hash of the equality constants that make them rare (Le Subscribe's equality
clusters, generalised), their other constraints verified one by one.

An *access* is a set of event columns. Its members are filed by the codes they want there, packed into one integer, under
buckets of that integer's hash. An access without columns to hash is a plain list, looked at whenever its one
column (if any) has a value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import Events
from tamis.kernels.jit import kernel

__all__ = ["Clusters", "bucket_of", "find_buckets", "match_clusters"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
ALL = 1

_MOST_PROBES = 4096
"""Combinations of values tried for one access; past it every member's key is held against the event instead."""


class Clusters(NamedTuple):
    """Access a looks at the columns `column_start[a]` to `[a + 1]`, its members lie under `bucket_start[a]` …."""

    column_start: Ints
    column: Ints
    shift: Ints  # per access column: where its code lies in the key, plus 256 times how many bits it has
    hashed: npt.NDArray[np.uint8]  # per access: 0 for a plain list
    bucket_start: Ints  # per access: its first entry in `bucket`
    bucket_bits: Ints  # per access: log2 of its number of buckets
    bucket: Ints  # per bucket, and one more per access: its first member
    key: npt.NDArray[np.uint64]  # per member
    rest_start: Ints  # per member, and one more: its first interval
    rest_slot: Ints
    rest_low: Ints
    rest_high: Ints
    slot_column: Ints  # per slot: its event column
    slot_mode: npt.NDArray[np.uint8]  # per slot: ANY or ALL


@kernel
def bucket_of(key: np.uint64, bits: int) -> int:
    if bits == 0:
        return 0
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@kernel
def find_buckets(keys: npt.NDArray[np.uint64], bits: int, out: Longs) -> None:
    """The bucket of each key."""
    for at in range(len(keys)):
        out[at] = bucket_of(keys[at], bits)


@kernel
def _holds(clusters: Clusters, first: int, last: int, code: int) -> bool:
    """Whether one of the intervals first to last has the code."""
    for i in range(first, last):
        if clusters.rest_low[i] <= code <= clusters.rest_high[i]:
            return True
    return False


@kernel
def _verify(clusters: Clusters, member: int, events: Events, event: int) -> bool:
    """Whether the event satisfies the rest of a member's constraints."""
    i, end = clusters.rest_start[member], clusters.rest_start[member + 1]
    while i < end:
        slot = clusters.rest_slot[i]
        last = i + 1
        while last < end and clusters.rest_slot[last] == slot:
            last += 1
        code = events.codes[event, clusters.slot_column[slot]]
        if code >= 0:
            if not _holds(clusters, i, last, code):
                return False
        else:
            some, every = False, True
            for at in range(events.list_start[-1 - code], events.list_start[-code]):
                if _holds(clusters, i, last, events.list_codes[at]):
                    some = True
                else:
                    every = False
            if not (every if clusters.slot_mode[slot] == ALL else some):
                return False
        i = last
    return True


@kernel
def _has(events: Events, event: int, column: int, code: int) -> bool:
    found = events.codes[event, column]
    if found >= 0:
        return found == code
    for at in range(events.list_start[-1 - found], events.list_start[-found]):
        if events.list_codes[at] == code:
            return True
    return False


@kernel
def _key_fits(clusters: Clusters, access: int, key: np.uint64, events: Events, event: int) -> bool:
    """Whether the event has every code that a key packs."""
    for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
        width = clusters.shift[i] >> 8
        code = np.int64(
            (key >> np.uint64(clusters.shift[i] & 255)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        )
        if not _has(events, event, clusters.column[i], code):
            return False
    return True


@kernel
def _probes(clusters: Clusters, access: int, events: Events, event: int) -> int:
    """How many combinations of values the event has for an access; 0 if a column is missing."""
    count = 1
    for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
        code = events.codes[event, clusters.column[i]]
        if code == 0:
            return 0
        if code < 0:
            count *= events.list_start[-code] - events.list_start[-1 - code]
            if count > _MOST_PROBES:
                return _MOST_PROBES + 1
    return count


@kernel
def _nth_key(clusters: Clusters, access: int, events: Events, event: int, number: int) -> np.uint64:
    """The key of the number-th combination."""
    key = np.uint64(0)
    for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
        code = np.int64(events.codes[event, clusters.column[i]])
        if code < 0:
            start = events.list_start[-1 - code]
            length = events.list_start[-code] - start
            code = np.int64(events.list_codes[start + number % length])
            number //= length
        key |= np.uint64(code) << np.uint64(clusters.shift[i] & 255)
    return key


@kernel
def match_clusters(clusters: Clusters, events: Events, event: int, found: Ints, count: int, work: Longs) -> int:
    """Write the members that an event satisfies to `found` from `count` on; the value is the new count.

    -1 says that `found` is too short. `work` counts probes and candidates.
    """
    for access in range(len(clusters.column_start) - 1):
        probes = _probes(clusters, access, events, event)
        if probes == 0:
            continue
        base, bits = clusters.bucket_start[access], clusters.bucket_bits[access]
        whole = clusters.hashed[access] == 0 or probes > _MOST_PROBES
        for probe in range(1 if whole else probes):
            if whole:
                first, last = clusters.bucket[base], clusters.bucket[base + (1 << bits)]
                key = np.uint64(0)
            else:
                key = _nth_key(clusters, access, events, event, probe)
                at = base + bucket_of(key, bits)
                first, last = clusters.bucket[at], clusters.bucket[at + 1]
            work[0] += 1
            if count + (last - first) > len(found):
                return -1
            for member in range(first, last):
                if whole:
                    if clusters.hashed[access] == 1 and not _key_fits(
                        clusters, access, clusters.key[member], events, event
                    ):
                        continue
                elif clusters.key[member] != key:
                    continue
                work[1] += 1
                if _verify(clusters, member, events, event):
                    found[count] = member
                    count += 1
    return count
