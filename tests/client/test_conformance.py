"""The histories that every algorithm answers as the naive matcher does, answered by a server, through the client."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tamis import Client, Engine, Schema
from tests.conformance.histories import History, make_history
from tests.server.processes import ServerProcess
from tests.strategies import Dice, make_schema

HISTORIES = int(os.environ.get("TAMIS_EXAMPLES", "50")) // 3


def closed_schema() -> Schema:
    """One with event types and as many attributes as the dice give."""
    seeds = (make_schema(Dice(random.Random(seed).randrange)) for seed in range(1_000))
    return max((one for one in seeds if not one.open and one.event_types), key=lambda one: len(one.attributes))


@pytest.fixture(scope="module", params=["open", "closed"])
def served(
    request: pytest.FixtureRequest, client: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    if request.param == "open":
        yield client
        return
    folder: Path = tmp_path_factory.mktemp("conformance")
    closed_schema().save(folder / "schema.toml")
    with (
        ServerProcess(folder / "data", schema=folder / "schema.toml") as server,
        Client(server.url, patience=60) as made,
    ):
        assert made.schema == closed_schema()
        yield made


def test_any_history_has_the_naive_answers(served: Client) -> None:
    schema, matches = served.schema, 0
    made = {seed: make_history(Dice(random.Random(seed).randrange), schema) for seed in range(4 * HISTORIES)}
    richest = sorted(made, key=lambda seed: -replay(None, made[seed], seed))
    for seed in richest[:HISTORIES]:
        served.unsubscribe_many(served.ids())
        matches += replay(served, made[seed], seed)

    assert matches > HISTORIES


def replay(client: Client | None, history: History, seed: int) -> int:
    """On the client and on naive, comparing every answer, or on naive alone; over HTTP ids are texts."""
    oracle: Engine[str] = Engine(history.schema, algorithm="naive")
    total = 0
    for verb, what in history.steps:
        if verb == "subscribe":
            pairs = [(f"id {id!r}", text) for id, text in what]
            assert client is None or client.subscribe_many(pairs).accepted == len(pairs)
            oracle.subscribe_many(pairs)
        elif verb == "unsubscribe" and f"id {what!r}" in oracle:
            if client is not None:
                client.unsubscribe(f"id {what!r}")
            oracle.unsubscribe(f"id {what!r}")
        elif verb == "match":
            events = [event for event in what if sayable(event)]
            expected = [oracle.match(event) for event in events]
            if client is not None:
                compare(client, oracle, events, expected, seed)
            total += sum(map(len, expected))
    return total


def compare(
    client: Client, oracle: Engine[str], events: list[dict[str, object]], expected: list[list[str]], seed: int
) -> None:
    assert [client.match(event) for event in events] == expected, seed
    assert [set(row) for row in client.match_many(events)] == [set(row) for row in expected], seed
    assert sorted(client.ids()) == sorted(oracle.ids())
    for event, ids in zip(events[:1], expected, strict=False):
        for id in oracle.ids():
            told = client.explain(id, event)
            assert told == oracle.explain(id, event)
            assert told.matches is (id in ids)


def sayable(event: Any) -> bool:
    """JSON has no moments, and Arrow none among texts: of those events that have any, the client's own tests tell."""
    if isinstance(event, dict):
        return all(map(sayable, event.values()))
    return all(map(sayable, event)) if isinstance(event, list) else not isinstance(event, date)
