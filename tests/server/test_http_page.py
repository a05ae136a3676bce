"""docs/http.md: every route has a `curl` line there, and each line is answered as the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.server.routes import ROUTES
from tests.pages import fences, page
from tests.server.processes import ServerProcess

LINES = [
    line for block in fences(page("docs/http.md"), "sh") for line in block.splitlines() if re.search(r"\bcurl\b", line)
]


def method_and_path(line: str) -> tuple[str, str]:
    """What a line asks for, as curl has it."""
    named = re.search(r"-X (\w+)", line)
    sends = re.search(r"--json|--data-binary|-d '", line)
    path = re.search(r"localhost:8737(/[^\s'?]*)", line)
    assert path, line
    return (named[1] if named else "POST" if sends else "GET"), path[1]


def fits(path: str, found: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), found) is not None


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_has_a_line(route: object) -> None:
    asked = [method_and_path(line) for line in LINES]

    assert [one for one in asked if one[0] == route.method and fits(route.path, one[1])]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    assert shutil.which("curl"), "the page's lines are run as they stand: install curl (Debian: apt install curl)"
    with ServerProcess(tmp_path_factory.mktemp("page") / "data") as running:
        yield running


def test_every_line_is_answered_as_the_page_says(fresh: ServerProcess, tmp_path: Path) -> None:
    wrong = []
    for line in LINES:
        command, _, says = line.rpartition("  # ")
        got = opened(fresh, command) if says.endswith("stays open") else answered(fresh, command, tmp_path)
        if not got.startswith(says[:3]):
            wrong.append(f"{line}\n  {got}")

    assert wrong == []


def answered(server: ServerProcess, command: str, folder: Path) -> str:
    """The status, and the body."""
    out = folder / "body"
    command = on(server, command.replace("curl ", f"curl -s -o {out} -w '%{{http_code}}' ", 1))
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)
    return f"{done.stdout} {out.read_text()}"


def opened(server: ServerProcess, command: str) -> str:
    """The status of a stream, which is left then."""
    command = on(server, command.replace("curl ", "exec curl -s -i ", 1))
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        running.kill()
    return first.removeprefix("HTTP/1.1 ")


def on(server: ServerProcess, command: str) -> str:
    return command.replace("localhost:8737", server.url.removeprefix("http://"))


def test_the_line_that_the_command_prints_works(fresh: ServerProcess, tmp_path: Path) -> None:
    assert fresh.url in fresh.told[0]
    line = fresh.told[1].strip()
    assert line.startswith("curl ")

    assert answered(fresh, line, tmp_path).startswith("202")
