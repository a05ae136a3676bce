"""Attributes and values that no event has: what subscriptions ask for, beside what events were seen to have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lint.claims import is_single
from tamis.lint.report import FindingKind
from tamis.lint.uses import Use
from tamis.model import EVENT_TYPE, Kind, Schema
from tamis.model.domains import hint
from tamis.model.values import show_raw
from tamis.registry.learning import Seen

__all__ = ["Suspicion", "suspicions"]

_NOUNS = {
    Kind.NUMBER: "numbers",
    Kind.STRING: "text",
    Kind.BOOLEAN: "booleans",
    Kind.TIMESTAMP: "timestamps",
    Kind.RECORD: "records",
}


class Suspicion(NamedTuple):
    """One sentence about some texts and an attribute."""

    kind: FindingKind
    attribute: str
    texts: npt.NDArray[np.int64]
    sentence: str


def suspicions(uses: list[Use], schema: Schema, seen: Seen) -> Iterator[Suspicion]:
    """What is odd about the uses."""
    for use in uses:
        if use.attribute == EVENT_TYPE:
            continue
        for kind, doubt in _DOUBTS.items():
            sentence = doubt(use, schema, seen)
            if sentence is not None:
                yield Suspicion(kind, use.attribute, use.texts, sentence)
                break  # of an attribute that nobody has, nothing else is worth telling


def _unheard(use: Use, schema: Schema, seen: Seen) -> str | None:
    name = show_raw(use.attribute)
    if seen.events:
        if use.attribute in seen.kinds:
            return None
        return f"no event had the attribute {name} ({seen.events:,} looked at){hint(use.attribute, seen.kinds)}"
    if schema.open or not schema.event_types or any(use.attribute in uses for uses in schema.event_types.values()):
        return None
    known = dict.fromkeys(name for uses in schema.event_types.values() for name in uses)
    return f"no event type has the attribute {name}{hint(use.attribute, known)}"


def _other_kind(use: Use, schema: Schema, seen: Seen) -> str | None:
    kinds = seen.kinds.get(use.attribute)
    if not kinds or use.kind is None:
        return None
    name = show_raw(use.attribute)
    if use.kind not in kinds:
        if use.date and Kind.TIMESTAMP in kinds:
            return None  # which is told as a date
        had = " and ".join(sorted(_NOUNS[kind] for kind in kinds))
        return f"it compares {name} with {_NOUNS[use.kind]}, but events had {had}: that is never true"
    if use.number and use.ordered and Kind.STRING in kinds:
        return f"it compares {name} as text, in which '9' comes after '10'; numbers are written without quotes"
    return None


def _date_as_text(use: Use, schema: Schema, seen: Seen) -> str | None:
    if not use.date:
        return None
    name, kinds = show_raw(use.attribute), seen.kinds.get(use.attribute, set())
    if Kind.TIMESTAMP in kinds:
        return f"it compares {name} with text, but events had timestamps: write timestamp '…' before the date"
    if use.ordered:
        return f"it compares the dates in {name} as text, letter by letter; declare the attribute a timestamp"
    return None


def _never_several(use: Use, schema: Schema, seen: Seen) -> str | None:
    if not use.contains or use.attribute in seen.several:
        return None
    name = show_raw(use.attribute)
    meant = (
        "; did you mean 'includes', which looks within a text?" if use.kind is Kind.STRING else "; '=' says the same"
    )
    if is_single(schema, use.attribute):
        return f"'contains' asks for one of several values, and the schema lets {name} have only one{meant}"
    if use.attribute in seen.kinds:
        looked_at = f"({seen.events:,} looked at)"
        return f"'contains' asks for one of several values, and no event had several of {name} {looked_at}{meant}"
    return None


_DOUBTS: dict[FindingKind, Callable[[Use, Schema, Seen], str | None]] = {
    FindingKind.ATTRIBUTE: _unheard,
    FindingKind.KIND: _other_kind,
    FindingKind.DATE: _date_as_text,
    FindingKind.CONTAINS: _never_several,
}
