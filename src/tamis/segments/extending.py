"""The same subscriptions under a schema that has more.

An extension changes what an expression says only where it names an attribute whose domain is another one then: one that
an open schema did not declare, or `event_type`. Such texts are read under both schemas, and the extension is refused if
one of them would say something else. Segments that look at such an attribute are compiled anew; the others stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import Conflict, LanguageError, LimitError
from tamis.language import parse
from tamis.model import Conjunction, Schema, SubscriptionId
from tamis.model.records import cuts
from tamis.segments import merging
from tamis.segments.ids import IdColumn
from tamis.segments.segment import Compiled, Segment, compile_segment
from tamis.segments.subscriptions import Subscriptions
from tamis.segments.used import names_in

__all__ = ["changed_names", "extended", "reads_otherwise", "words_of", "would_say_else"]

Longs = npt.NDArray[np.int64]

_MOST_TOLD = 100
"""Ids that an error has."""


def extended(there: Subscriptions, schema: Schema) -> Subscriptions:
    """What is subscribed now, under that schema; `Conflict` has the ids that would be read otherwise. Nobody writes."""
    snapshot = there.snapshot(freeze=True)
    changed = changed_names(there.schema, schema)
    found = [id for segment in snapshot.segments for id in _otherwise(segment, changed, there.schema, schema)]
    if found:
        raise would_say_else(found)
    compile = partial(_compile, schema=schema, there=there)
    grown = Subscriptions(schema, snapshot.statistics, there.tuning)
    for segment in snapshot.segments:
        stays = names_in(segment.layout.columns).isdisjoint(changed)
        grown.adopt(segment if stays else merging.merge([segment], compile))
    return grown


def _compile(ids: IdColumn, texts: pa.Array, numbers: Longs, *, schema: Schema, there: Subscriptions) -> Compiled:
    return compile_segment(ids, texts, schema, there.statistics, sequence=numbers, tuning=there.tuning)


def _otherwise(segment: Segment, changed: list[str], old: Schema, new: Schema) -> Iterator[SubscriptionId]:
    """The ids whose texts the two schemas read differently."""
    living = segment.living
    texts = segment.texts.take(pa.array(living))
    for at in np.flatnonzero(_naming(texts, changed)).tolist():
        text = texts[at].as_py()
        if reads_otherwise(text, old, new):
            yield from segment.ids.at(living[at : at + 1])


def _naming(texts: pa.Array, names: list[str]) -> npt.NDArray[np.bool_]:
    """Which texts may name one of these."""
    found = np.zeros(len(texts), bool)
    for word in words_of(names):
        found |= pc.match_substring(texts, word).to_numpy(zero_copy_only=False)
    return found


def words_of(names: list[str]) -> list[str]:
    """A text that names one of these has one of the words: the name itself, unless it is one that is written with
    doubled quotes, or within `any(…)` that of the list around it."""
    words = dict.fromkeys([*names, *(outer for one in names for outer, _ in cuts(one))])
    return [""] if any('"' in word or "`" in word for word in words) else list(words)


def changed_names(old: Schema, new: Schema) -> list[str]:
    """Attributes that expressions could name before, and that have another domain now."""
    return [name for name in new.names() if (domain := old.domain(name)) and domain != new.domain(name)]


def reads_otherwise(text: str, old: Schema, new: Schema) -> bool:
    return _read(text, old) != _read(text, new)


def _read(text: str, schema: Schema) -> tuple[Conjunction, ...] | None:
    try:
        return parse(text, schema)
    except (LanguageError, LimitError):
        return None


def would_say_else(ids: list[SubscriptionId]) -> Conflict:
    more = f" and {len(ids) - 3:,} more" if len(ids) > 3 else ""
    told = ", ".join(map(repr, ids[:3])) + more
    message = f"under the extended schema these subscriptions would say something else: {told}; replace them first"
    return Conflict(message, tuple(ids[:_MOST_TOLD]))
