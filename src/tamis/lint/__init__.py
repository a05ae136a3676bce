"""What is wrong with these subscriptions? Those that are dead, equal, covered, misspelt or dear.

Texts are read as the adaptive engine reads them, by the column; nothing here changes an engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from tamis.lint.costs import costliest
from tamis.lint.reading import Read, read_and_relate
from tamis.lint.report import Finding, FindingKind, Report
from tamis.lint.suspicions import suspicions
from tamis.lint.uses import uses_of
from tamis.model import Schema, SubscriptionId
from tamis.model.values import show_raw
from tamis.registry.learning import Seen

__all__ = ["Finding", "FindingKind", "Report", "lint_subscriptions"]

_K = FindingKind
_LONGEST = 100


def lint_subscriptions(
    pairs: Sequence[tuple[SubscriptionId, str]], schema: Schema, seen: Seen
) -> Report[SubscriptionId]:
    """Findings about subscriptions, in the order of subscribing, beside what events were seen to have."""
    ids, texts = [id for id, _ in pairs], [text for _, text in pairs]
    read = read_and_relate(pa.array(texts, pa.large_string()), schema)
    found = [*_suspected(read, schema, seen, ids), *_related(read, ids, texts), *_dear(read, ids)]
    return Report(found, len(ids), seen.events, read.relations.work)


def _suspected(read: Read, schema: Schema, seen: Seen, ids: list[SubscriptionId]) -> Iterator[Finding]:
    told: set[tuple[FindingKind, str, int]] = set()
    found: list[tuple[int, Finding]] = []
    for one in suspicions(list(uses_of(read, schema)), schema, seen):
        for text in one.texts.tolist():
            if (key := (one.kind, one.attribute, text)) not in told:
                told.add(key)
                found.append((text, Finding(one.kind, ids[text], None, one.attribute, one.sentence)))
    yield from (finding for _, finding in sorted(found, key=lambda one: one[0]))


def _related(read: Read, ids: list[SubscriptionId], texts: list[str]) -> Iterator[Finding]:
    rejected = dict(read.reading.rejected)
    for text, error in sorted(rejected.items()):
        yield Finding(_K.REFUSED, ids[text], None, None, str(error))
    relations = read.relations
    for text in relations.never:
        if text not in rejected:
            yield Finding(_K.NEVER, ids[text], None, None, "it contradicts itself: no event can match it")
    for text, other in sorted(relations.equal.items()):
        yield Finding(_K.EQUAL, ids[text], ids[other], None, f"it says the same as {ids[other]!r}")
    for text, other in sorted(relations.covered.items()):
        sentence = f"whatever matches it matches {ids[other]!r}: {_short(texts[other])}"
        yield Finding(_K.COVERED, ids[text], ids[other], None, sentence)
    for text in sorted(relations.undecided):
        yield Finding(
            _K.UNDECIDED,
            ids[text],
            None,
            None,
            "no other was shown to cover it, and not all of it is compared by its values",
        )


def _dear(read: Read, ids: Iterable[SubscriptionId]) -> Iterator[Finding]:
    listed = list(ids)
    for cost in costliest(read, len(listed)):
        yield Finding(_K.DEAR, listed[cost.text], None, None, cost.why)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{show_raw(text[:_LONGEST])}…"
