"""HashedIds: a hash table from constants to buckets of ids."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tamis.indexes.base import Ints, Key
from tamis.indexes.buckets import Buckets

__all__ = ["HashedIds"]


class HashedIds:
    """add and look-up O(1), remove O(size of the bucket); `but` copies every other bucket."""

    def __init__(self, pairs: Iterable[tuple[Key, int]] = ()) -> None:
        self._bucket: dict[Key, int] = {}
        numbers, ids = [], []
        for key, id in pairs:
            numbers.append(self._bucket.setdefault(key, len(self._bucket)))
            ids.append(id)
        self._buckets = Buckets.of(len(self._bucket), np.array(numbers, dtype=np.int64), np.array(ids, dtype=np.int32))
        self._free: list[int] = []

    def __len__(self) -> int:
        """The number of constants."""
        return len(self._bucket)

    def add(self, key: Key, id: int) -> None:
        bucket = self._bucket.get(key)
        if bucket is None:
            bucket = self._bucket[key] = self._free.pop() if self._free else self._buckets.extend()
        self._buckets.add(bucket, id)

    def remove(self, key: Key, id: int) -> None:
        bucket = self._bucket[key]
        self._buckets.remove(bucket, id)
        if not self._buckets.count[bucket]:
            self._free.append(self._bucket.pop(key))

    def at(self, key: Key) -> Ints:
        """The ids under this constant, as a view."""
        bucket = self._bucket.get(key)
        return self._buckets.ids(bucket) if bucket is not None else np.empty(0, dtype=np.int32)

    def but(self, key: Key) -> Ints:
        """The ids under all other constants."""
        chosen = np.arange(len(self._buckets))
        return self._buckets.gather(np.delete(chosen, self._bucket[key]) if key in self._bucket else chosen)

    def bytes_used(self) -> int:
        return self._bucket.__sizeof__() + self._buckets.bytes_used()

    def check(self) -> None:
        self._buckets.check()
        numbers = [*self._bucket.values(), *self._free]
        assert sorted(numbers) == list(range(len(self._buckets))), "each bucket has one constant or is free"
        assert all(self._buckets.count[bucket] for bucket in self._bucket.values()), "no constant without ids"
        assert not any(self._buckets.count[bucket] for bucket in self._free), "free buckets are empty"
