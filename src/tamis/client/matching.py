"""Answers to batches that were matched over HTTP, as the `Matches` that an engine gives."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.refusals import OnError, Refusals
from tamis.client.answers import Answer, refusals
from tamis.errors import EventError, ServiceError
from tamis.matchers.base import Rows
from tamis.matches import ListedIds, Matches

__all__ = ["matches_of", "raise_first"]


def matches_of(answer: Answer, on_error: OnError, first: int) -> Matches[str]:
    """Columns `event` and `subscription`, with what was refused."""
    try:
        with pa.ipc.open_stream(answer.body) as reader:
            table = reader.read_all()
        told = {name.decode(): text.decode() for name, text in table.schema.metadata.items()}
        count, found = int(told["events"]), refusals(json.loads(told["rejected"]), first)
    except (pa.ArrowException, AttributeError, KeyError, ValueError, OSError):
        raise ServiceError("expected matches as Arrow from the service; is this address one?", answer.status) from None
    if on_error == "raise":
        raise_first(found)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(table["event"].to_numpy(), minlength=count), out=offsets[1:])
    coded = pc.dictionary_encode(table["subscription"].combine_chunks())
    ids = ListedIds(coded.dictionary.to_pylist())
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return Matches(Rows(offsets, codes), ids, found if on_error == "collect" else Refusals())


def raise_first(errors: Refusals) -> None:
    """The first event that was refused, as an engine raises it."""
    for first in errors[:1]:
        raise EventError(f"event {first.row}: {first.reason}", first.rule, first.attribute)
