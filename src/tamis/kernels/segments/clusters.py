"""Access clusters: conjunctions under the hash of the equality constants that make them rare (Le Subscribe's equality
clusters, generalised), their other constraints verified one by one.

An *access* is a set of event columns. Its members are filed by the codes they want there, packed into one integer,
under buckets of that integer's hash. An access without columns to hash is a plain list, looked at whenever its one
column (if any) has a value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.numbering import first_from
from tamis.kernels.segments.blocks import Events, SlotMode

__all__ = ["Clusters", "bucket_of", "match_clusters"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_MOST_PROBES = 4096
"""Combinations of values tried for any access. Where there are more of them, and more than members, every member's key
is held against the event instead."""
_EVERY = 16
"""Of a batch one event in so many tells how many candidates each access has: threads would fight over the counters."""


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
    slot_mode: npt.NDArray[np.uint8]  # per slot: a SlotMode


@inlined
def bucket_of(key: Any, bits: int) -> Any:
    """The bucket of a key among two to the power of `bits`."""
    if bits == 0:
        return np.int64(0)
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@kernel
def _admits_several(clusters: Clusters, first: int, last: int, mode: int, events: Events, code: int) -> bool:
    """Whether the intervals first to last, none of which touches another, admit one, or all, of the codes of a list."""
    start, end = events.list_start[-1 - code], events.list_start[-code]
    admitted = np.int64(0)
    for i in range(first, last):
        low = first_from(events.list_codes, start, end, clusters.rest_low[i])
        admitted += first_from(events.list_codes, low, end, np.int64(clusters.rest_high[i]) + 1) - low
    return bool(admitted == end - start if mode == SlotMode.ALL_OF else admitted > 0)


@inlined
def _verify(clusters: Clusters, member: int, events: Events, codes: Ints) -> bool:
    """Whether an event (its row of codes) satisfies the rest of a member's constraints."""
    i, end = clusters.rest_start[member], clusters.rest_start[member + 1]
    holds = True
    while holds and i < end:
        slot = clusters.rest_slot[i]
        code = codes[clusters.slot_column[slot]]
        first = i
        holds = False
        while i < end and clusters.rest_slot[i] == slot:
            holds |= clusters.rest_low[i] <= code <= clusters.rest_high[i]
            i += 1
        if code < 0:
            holds = _admits_several(clusters, first, i, clusters.slot_mode[slot], events, code)
    return holds


@inlined
def _take_bucket(
    clusters: Clusters, at: int, key: Any, events: Events, codes: Ints, found: Ints, n: int, work: Longs
) -> int:
    """Append the members of a bucket that have the key and hold; their new number, or -1 if there is no room."""
    first, last = clusters.bucket[at], clusters.bucket[at + 1]
    work[0] += 1
    if n + (last - first) > len(found):
        n = -1
    else:
        for member in range(first, last):
            if clusters.key[member] == key:
                work[1] += 1
                if _verify(clusters, member, events, codes):
                    found[n] = member
                    n += 1
    return n


@kernel
def _has(events: Events, code: int, wanted: Any) -> bool:
    """Whether a code, or the list it stands for, is or has the one wanted; lists are in order."""
    if code >= 0:
        return bool(code == wanted)
    end = events.list_start[-code]
    at = first_from(events.list_codes, events.list_start[-1 - code], end, wanted)
    return bool(at < end and events.list_codes[at] == wanted)


@kernel
def _key_fits(clusters: Clusters, access: int, key: Any, events: Events, codes: Ints) -> bool:
    """Whether the event has every code that a key packs."""
    for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
        mask = (np.uint64(1) << np.uint64(clusters.shift[i] >> 8)) - np.uint64(1)
        wanted = np.int64((key >> np.uint64(clusters.shift[i] & 255)) & mask)
        if not _has(events, codes[clusters.column[i]], wanted):
            return False
    return True


@kernel
def _nth_key(clusters: Clusters, access: int, events: Events, codes: Ints, number: int) -> Any:
    """The key of the number-th combination of values, and whether there is one."""
    key = np.uint64(0)
    for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
        code = np.int64(codes[clusters.column[i]])
        if code < 0:
            start = events.list_start[-1 - code]
            length = events.list_start[-code] - start
            code = np.int64(events.list_codes[start + number % length])
            number //= length
        key |= np.uint64(code) << np.uint64(clusters.shift[i] & 255)
    return key, number == 0


@kernel
def _match_several(
    clusters: Clusters, access: int, events: Events, codes: Ints, found: Ints, n: int, work: Longs
) -> int:
    """An access that is a plain list, or where the event has several values: try every combination, or every member."""
    base, bits = clusters.bucket_start[access], clusters.bucket_bits[access]
    first, last = clusters.bucket[base], clusters.bucket[base + (1 << bits)]
    most: Any = max(np.int64(_MOST_PROBES), np.int64(last - first))
    for probe in range(most + 1):
        key, there = _nth_key(clusters, access, events, codes, probe)
        if not there:
            return n
        if probe == 0 and (clusters.hashed[access] == 0 or _nth_key(clusters, access, events, codes, most)[1]):
            break  # a list, or too many combinations: look at every member instead
        n = _take_bucket(clusters, base + bucket_of(key, bits), key, events, codes, found, n, work)
        if n < 0:
            return -1
    work[0] += 1
    if n + (last - first) > len(found):
        return -1
    for member in range(first, last):
        if clusters.hashed[access] == 0 or _key_fits(clusters, access, clusters.key[member], events, codes):
            work[1] += 1
            if _verify(clusters, member, events, codes):
                found[n] = member
                n += 1
    return n


@kernel
def match_clusters(
    clusters: Clusters, events: Events, first: int, last: int, found: Ints, found_start: Longs, work: Longs, met: Longs
) -> int:
    """The members that events first to last satisfy: `found_start[i]` to `[i + 1]` in `found` are the i-th event's.

    The value is their number, or -1 if `found` is too short. `work` counts probes and candidates, and `met` for some
    of the events the candidates of each access, behind them these events.
    """
    n: Any = np.int64(0)  # a literal's type would be tried, and compiled, first
    accesses = len(clusters.hashed)
    for event in range(first, last):
        found_start[event - first] = n
        codes = events.codes[event]
        tells = (event - first) % _EVERY == 0
        if tells:
            met[accesses] += 1
        for access in range(accesses):
            before = work[1]
            key = np.uint64(0)
            missing, several = False, clusters.hashed[access] == 0
            for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
                code = codes[clusters.column[i]]
                missing |= code == 0
                several |= code < 0
                key |= np.uint64(code) << np.uint64(clusters.shift[i] & 255)
            if missing:
                continue
            if several:
                n = _match_several(clusters, access, events, codes, found, n, work)
            else:
                at = clusters.bucket_start[access] + bucket_of(key, clusters.bucket_bits[access])
                n = _take_bucket(clusters, at, key, events, codes, found, n, work)
            if n < 0:
                return -1
            if tells:
                met[access] += work[1] - before
    found_start[last - first] = n
    return n
