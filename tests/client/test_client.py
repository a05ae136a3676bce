"""What the clients promise beside the engine's answers."""

from __future__ import annotations

import asyncio
import inspect
import threading
from datetime import UTC, datetime

import pyarrow as pa
import pytest

import tamis
from tamis import AsyncClient, Client, EventError, LanguageError, OptionError, Schema, ServiceError, UnknownSubscription
from tests.server.processes import ServerProcess, free_port


def test_ids_are_texts(client: Client) -> None:
    with pytest.raises(OptionError, match="over HTTP ids are texts, found 7"):
        client.subscribe(7, "x = 1")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="row 1: id: expected a text"):
        client.subscribe_many([("a", "x = 1"), (2, "x = 1")])
    with pytest.raises(OptionError, match="expected a text"):
        client.unsubscribe("")


def test_errors_are_those_of_the_library(client: Client) -> None:
    with pytest.raises(LanguageError) as wrong:
        client.subscribe("wrong", "price <")
    with pytest.raises(UnknownSubscription) as unknown:
        client.unsubscribe("nobody")
    with pytest.raises(EventError, match="expected values that JSON can say"):
        client.publish({"price": float("nan")})

    assert (wrong.value.column, wrong.value.text) == (8, "price <")
    assert unknown.value.id == "nobody"


def test_a_service_that_is_not_there_is_an_error_that_says_so() -> None:
    with (
        Client(f"http://127.0.0.1:{free_port()}", patience=0.2) as client,
        pytest.raises(ServiceError, match="the service does not answer"),
    ):
        client.match({})
    with pytest.raises(OptionError, match="expected the address of a service"):
        Client("localhost")


def test_a_load_of_any_size_counts_at_one_position(client: Client) -> None:
    count = 10_500
    pairs = [(f"load {n}", f"load = {n % 100}") for n in range(count)]
    with pytest.raises(LanguageError):
        client.subscribe_many([*pairs, ("load wrong", "load =")])
    assert "load 0" not in client

    done = client.subscribe_many(pairs)

    assert done.accepted == count
    assert client.subscription("load 0").position == client.subscription(f"load {count - 1}").position == done.position
    assert client.match_many([{"load": 7}]).counts().tolist() == [count // 100]
    client.unsubscribe_many([id for id, _ in pairs])
    assert client.match({"load": 7}) == []


def test_tables_and_moments_go_as_arrow(client: Client) -> None:
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    client.subscribe("moment", "due > timestamp '2026-01-01T00:00:00Z'")

    assert client.match({"due": moment}) == ["moment"]
    assert client.match({"due": moment.isoformat()}) == []
    assert client.explain("moment", {"due": moment}).matches
    assert client.publish(pa.table({"due": [moment, None]}), counts=True).matches == [1, 0]
    with pytest.raises(EventError, match="since JSON has no moments"):
        client.match({"due": [moment, "a text"]})
    client.unsubscribe("moment")


def test_what_is_refused_is_raised_skipped_or_collected(client: Client) -> None:
    data = b'{"a": 1}\n7\n{"a": 2}'

    assert len(client.match_json(data, on_error="skip").errors) == 0
    (refused,) = client.match_json(data, on_error="collect").errors
    assert refused.row == 1
    with pytest.raises(EventError, match="event 1: "):
        client.match_json(data)
    assert len(client.publish([{"a": 1}]).errors) == 0


def test_a_listener_goes_on_where_it_was_after_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = ServerProcess(tmp_path_factory.mktemp("listen") / "data").start()
    with Client(server.url, patience=120) as client:
        client.subscribe("heard", "n >= 0")
        heard = client.listen("heard")
        client.publish({"n": 0})
        assert next(heard).event == {"n": 0}

        server.kill()
        starting = threading.Thread(target=server.start)
        starting.start()
        client.publish({"n": 1})
        found = next(heard)
        starting.join()

        assert found.event == {"n": 1}
        heard.close()
        assert server.stop() == 0


def test_both_clients_have_the_same_methods(client: Client) -> None:
    def shown(kind: type) -> dict[str, str]:
        methods = {name: one for name, one in vars(kind).items() if inspect.isfunction(one) and name[0] != "_"}
        return {name: str(list(inspect.signature(one).parameters.values())) for name, one in methods.items()}

    blocking, awaiting = shown(Client), shown(AsyncClient)

    assert awaiting.pop("schema")
    assert blocking == awaiting


def test_the_engines_methods_are_the_clients_but_for_those_of_a_folder() -> None:
    methods = {name for name in vars(tamis.Engine) if not name.startswith("_")}

    of_a_folder = {"check", "checkpoint", "lint", "mark", "observe", "open", "refresh", "save", "settle"}
    assert methods - set(vars(Client)) == of_a_folder


async def _tour(url: str) -> list[object]:
    async with AsyncClient(url, patience=60) as client:
        await client.subscribe("awaited", "awaited > 1", feed="awaited")
        await client.subscribe_many({"second": "awaited > 2"})
        published = await client.publish([{"awaited": 2}, {"awaited": 3}], counts=True)
        found = []
        async for one in client.listen("awaited"):
            found.append(one.event["awaited"])
            if len(found) == 2:
                break
        matched = await client.match({"awaited": 3})
        batch = (await client.match_many([{"awaited": 2}])).counts().tolist()
        schema = await client.schema()
        await client.unsubscribe("awaited")
        return [published.matches, found, matched, batch, schema]


def test_the_awaited_client_does_the_same(server: ServerProcess) -> None:
    found = asyncio.run(_tour(server.url))

    assert found == [[1, 2], [2, 3], ["awaited", "second"], [1], Schema(open=True)]
