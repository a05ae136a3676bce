"""A segment is asked about every event that has one of its keys; no JVM is needed to know."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis.batches.batch import batch_of_events
from tamis.model import Schema
from tamis.spark.versions.routing import EVERY, Router, bitmap

SCHEMA = Schema.loads('[attributes]\nn = "number"\ns = "string"\nb = "boolean"\n')
EVENTS: dict[str, dict[str, object]] = {
    "a whole number": {"n": 5},
    "the same as a float": {"n": 5.0},
    "zero below zero": {"n": -0.0},
    "a fraction": {"n": 5.5},
    "a huge number": {"n": 10**30},
    "a text": {"s": "x"},
    "a text of digits": {"s": "5"},
    "an empty text": {"s": ""},
    "another letter": {"s": "é"},
    "several values": {"s": ["x", "y"], "n": [5, 7]},
    "another kind": {"b": True},
    "nothing": {},
}
KEYS = ["*", "n", "s", "b", "n|n|5", "n|n|0", "n|n|7", "s|s|x", "s|s|5", "s|s|", "s|s|é", "s|s|y", "s|s|z"]


def met(event: dict[str, object], key: str) -> bool:
    """As the module's words have it."""
    if key in (EVERY, *SCHEMA.names()):
        return key == EVERY or key in event
    name, _, value = key.split("|")
    values = event.get(name, [])
    listed = values if isinstance(values, list) else [values]
    return value in [str(int(one) if isinstance(one, float) and one.is_integer() else one) for one in listed]


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "all together"])
def test_a_segment_is_asked_about_the_events_that_have_its_keys(mixed: bool) -> None:
    router = Router([bitmap(pa.array([key.replace("|", "\x1f")])) for key in KEYS])
    batches = [list(EVENTS.values())] if mixed else [[event] for event in EVENTS.values()]

    for events in batches:
        routes = router.routes(batch_of_events([SCHEMA.event(event) for event in events]))
        expected = [[met(event, key) for key in KEYS] for event in events]
        assert routes.tolist() == expected


def test_a_segment_with_several_keys_is_asked_about_each() -> None:
    router = Router([bitmap(pa.array(["n\x1fn\x1f5", "s\x1fs\x1fx"])), bitmap(pa.array([], pa.string()))])
    events = [SCHEMA.event(event) for event in ({"n": 5}, {"s": "x"}, {"n": 6, "s": "y"})]

    assert router.routes(batch_of_events(events)).tolist() == [[True, False], [True, False], [False, False]]
