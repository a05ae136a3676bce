"""One server for all tests of the door: they use names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tamis import Client
from tests.server.processes import ServerProcess


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("server") / "data") as running:
        yield running


@pytest.fixture(scope="package")
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url, patience=60) as made:
        yield made
