"""What events are like, told by a few of those that pass.

Each sample is paid for by what matching took since the one before: `Pace` counts both in the nanoseconds of `tuning`,
never by a clock, so that the same calls take the same samples. What was seen is kept in two generations. The older
one is dropped when the younger is full, so that what events were like some thousand samples ago is forgotten.

Memory: at most `_MOST_VALUES` values of up to `_LONG_TEXT` characters in each generation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, Part
from tamis.model import Event, Value
from tamis.segments.compile.statistics import MOST_FREQUENT, AttributeStatistics, Statistics
from tamis.segments.compile.tuning import Tuning

__all__ = ["ENOUGH", "Pace", "Sampler"]

Longs = npt.NDArray[np.int64]

ENOUGH = 256
"""Events in a sample that is worth judging by."""
_GENERATION = 1024
_MOST_ATTRIBUTES = 1 << 14
_MOST_VALUES = 1 << 16
_LONG_TEXT = 256
_FEW_VALUES = 64
"""Values of one attribute in one event that are looked at; whoever has more is no guide to the others."""
_ROWS = 64
"""Events taken from a batch at a time, for its columns cost the same however few are taken."""

SHARE = 0.02
"""Of the time of matching, for all samples together."""
_SINGLE_NS, _BATCH_NS = 5_000.0, 500.0
"""What any event costs at least, on its own or in a batch."""
_FIRST_NS = 16 * _SINGLE_NS
_LOOK_EVERY_NS = 16 * _SINGLE_NS
"""The counters of work are looked at after so much."""
_READ_NS, _READ_VALUE_NS = 10_000.0, 2_500.0
"""A sample of one event: reading it, and each of its values;"""
_COLUMN_NS, _COLUMN_VALUE_NS = 26_000.0, 700.0
"""one of a batch: each of its columns, and each value picked from them."""


class Pace:
    """When the next sample is due: when matching has taken `_owed` nanoseconds since the last one."""

    def __init__(self, tuning: Tuning, work: Longs, random: Random) -> None:
        self._tuning, self._work, self._random = tuning, work, random
        self._before = work.copy()
        self._owed = _FIRST_NS
        self._passed = 0.0  # what events cost at the least
        self._look_at = 0.0

    def one(self) -> bool:
        """An event on its own went by: is a sample due?"""
        self._passed += _SINGLE_NS
        return self._passed >= self._look_at and self._is_due()

    def many(self, events: int) -> bool:
        """So many went by in a batch."""
        self._passed += events * _BATCH_NS
        return self._passed >= self._look_at and self._is_due()

    def _is_due(self) -> bool:
        probes, candidates = (self._work - self._before).tolist()
        taken = self._passed + probes * self._tuning.probe_ns + candidates * self._tuning.verify_ns
        self._look_at = self._passed + _LOOK_EVERY_NS
        return taken >= self._owed

    def paid(self, cost_ns: float) -> None:
        """A sample was taken: the next one is due when this one is a small share of what matching took since, sooner or
        later by chance, lest a stream with a beat of its own be heard at that beat alone."""
        self._owed = cost_ns / SHARE * (0.5 + self._random.random())
        self._before = self._work.copy()
        self._passed = self._look_at = 0.0


@dataclass
class _Seen:
    """Of one attribute: events that had it, how often each value came, and how many came that are not kept."""

    present: int = 0
    counts: dict[Value, int] = field(default_factory=dict)
    strange: int = 0


@dataclass
class _Generation:
    events: int = 0
    kept: int = 0
    attributes: dict[str, _Seen] = field(default_factory=dict)

    def take(self, name: str, values: Iterable[Value], present: int) -> None:
        seen = self.attributes.get(name)
        if seen is None:
            if len(self.attributes) >= _MOST_ATTRIBUTES:
                return
            seen = self.attributes[name] = _Seen()
        seen.present += present
        for value in values:
            count = seen.counts.get(value)
            if count is None and (self.kept >= _MOST_VALUES or _is_long(value)):
                seen.strange += 1
                continue
            self.kept += count is None
            seen.counts[value] = (count or 0) + 1


def _is_long(value: Value) -> bool:
    if isinstance(value.data, str):
        return len(value.data) > _LONG_TEXT
    return isinstance(value.data, int) and value.data.bit_length() > _LONG_TEXT


class Sampler:
    """Takes no lock: what two threads write at once may be counted once, and that is all."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._before, self._now = _Generation(), _Generation()
        self.sampled = 0

    def take_event(self, event: Event) -> float:
        """What that is thought to have cost."""
        now = self._counted(1)
        for name, values in event.values.items():
            now.take(name, values[:_FEW_VALUES], 1)
        return _READ_NS + _READ_VALUE_NS * sum(map(len, event.values.values()))

    def take_rows(self, batch: Batch) -> float:
        """Some events of a batch, as far as they were read. What that is thought to have cost."""
        count = min(_ROWS, batch.size)
        now = self._counted(count)
        rows = np.sort(np.array(self._random.sample(range(batch.size), count), np.int64))
        taken = columns = 0
        for name, parts in batch.parts.items():
            for part in parts:
                values, present = _picked(part, rows, batch.size)
                now.take(name, values, present)
                taken, columns = taken + len(values), columns + 1
        return _READ_NS + _COLUMN_NS * columns + _COLUMN_VALUE_NS * taken

    def _counted(self, events: int) -> _Generation:
        if self._now.events >= _GENERATION:
            self._before, self._now = self._now, _Generation()
        self._now.events += events
        self.sampled += events
        return self._now

    def statistics(self) -> Statistics | None:
        """What the sample tells; None if that would be guessing."""
        both = [self._before, self._now]
        events = sum(one.events for one in both)
        if events < ENOUGH:
            return None
        names = {name for one in both for name in list(one.attributes)}
        found = {name: [one.attributes[name] for one in both if name in one.attributes] for name in names}
        return Statistics(events, {name: _told(seen, events) for name, seen in found.items()})


def _picked(part: Part, rows: Longs, size: int) -> tuple[list[Value], int]:
    """The values of some events, and how many of these have one."""
    if part.single and len(part.rows) == size:
        at, present = rows, len(rows)
    else:
        first, last = np.searchsorted(part.rows, rows), np.searchsorted(part.rows, rows, "right")
        lengths = np.minimum(last - first, _FEW_VALUES)
        at = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
        present = int((lengths > 0).sum())
    if part.entries is not None:
        at = part.entries[at].astype(np.int64)
    column = part.column
    listed = column.take(pa.array(at)).to_pylist() if isinstance(column, pa.Array) else column[at].tolist()
    return [Value(part.kind, one) for one in listed], present


def _told(seen: list[_Seen], events: int) -> AttributeStatistics:
    """Values that came once stand for all that did not come: how many there are is Chao's estimate, from how many came
    once and how many twice."""
    counts: Counter[Value] = Counter()
    for one in seen:
        counts.update(dict(one.counts))
    times = Counter(counts.values())
    once, twice = times[1] + sum(one.strange for one in seen), times[2]
    distinct = len(counts) + once * max(once - 1, 0) // (2 * (twice + 1))
    present = min(sum(one.present for one in seen) / events, 1.0)
    common = counts.most_common(MOST_FREQUENT)
    several = sum(counts.values()) > present * events  # then what is left over cannot be told
    frequent = {value: min(count / events, 1.0) for value, count in common if count > 1 or several}
    return AttributeStatistics(present, distinct, frequent)
