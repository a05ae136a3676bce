"""The tree and the layers drawn in docs/architecture.md are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tamis"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def fence_after(words: str) -> list[str]:
    """The lines of the first fence after these words."""
    return PAGE.partition(words)[2].split("```\n")[1].splitlines()


def drawn(lines: list[str]) -> dict[str, str]:
    """Path under src/tamis → what is said of it."""
    found: dict[str, str] = {}
    rooms: list[str] = []
    for line in lines[1:]:
        entry = re.fullmatch(r"((?:  )+)(\S+) {2,}(\S.*)", line)
        assert entry, f"not an entry of the tree: {line!r}"
        rooms = rooms[: len(entry[1]) // 2 - 1]
        found["".join(rooms) + entry[2]] = entry[3]
        if entry[2].endswith("/"):
            rooms.append(entry[2])
    return found


def files() -> set[str]:
    """What stands in src/tamis: modules, and folders with modules in them; a folder speaks for its `__init__.py`."""
    modules = {path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"}
    folders = {f"{path.parent.relative_to(SOURCE)}/" for path in SOURCE.rglob("*/__init__.py")}
    return {str(path.relative_to(SOURCE)) for path in modules} | folders - {"./"}


def test_everything_in_the_tree_exists() -> None:
    missing = [name for name in drawn(fence_after("## The tree")) if not (SOURCE / name).exists()]

    assert missing == []


def test_every_file_is_in_the_tree() -> None:
    assert files() - set(drawn(fence_after("## The tree"))) == set()


def test_what_is_still_to_come_has_not_come() -> None:
    arrived = [name for name in drawn(fence_after("Rooms to come:")) if (SOURCE / name).exists()]

    assert arrived == [], "move these lines up into the tree"


def test_the_layers_are_those_that_import_linter_checks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (one for one in project["tool"]["importlinter"]["contracts"] if one["id"] == "layers")

    assert fence_after("## The layers") == [re.sub(r"[()]", "", layer) for layer in layers["layers"]]


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md")))
def test_a_decision_says_what_why_and_what_was_rejected(name: str) -> None:
    text = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8")

    assert re.fullmatch(r"\d{4}-[a-z-]+\.md", name)
    assert text.startswith(f"# {name[:4]} ")
    assert re.search(r"Rejected[.:]", text)


WALKS = PAGE.partition("## Follow one subscription")[2]


@pytest.mark.parametrize(("path", "names"), re.findall(r"`([\w/]+\.py)`(?: \| |, )((?:`\w+`(?:, )?)+)", WALKS))
def test_the_walks_lead_through_files_and_functions_that_exist(path: str, names: str) -> None:
    source = (SOURCE / path).read_text(encoding="utf-8")
    missing = [name for name in re.findall(r"`(\w+)`", names) if not re.search(rf"(?:def|class) {name}\b", source)]

    assert missing == []
