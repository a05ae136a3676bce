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
    room = ""
    for line in lines[1:]:
        entry = re.fullmatch(r"( {2}| {4})(\S+) {2,}(\S.*)", line)
        assert entry, f"not an entry of the tree: {line!r}"
        if len(entry[1]) == 2:
            room = entry[2] if entry[2].endswith("/") else ""
        found[entry[2] if len(entry[1]) == 2 else room + entry[2]] = entry[3]
    return found


def rooms() -> set[str]:
    """What stands in src/tamis: modules, and folders with modules in them."""
    folders = {f"{path.name}/" for path in SOURCE.iterdir() if any(path.glob("*.py"))}
    return folders | {path.name for path in SOURCE.glob("*.py")}


def test_everything_in_the_tree_exists() -> None:
    missing = [name for name in drawn(fence_after("## The tree")) if not (SOURCE / name).exists()]

    assert missing == []


def test_every_room_is_in_the_tree() -> None:
    assert rooms() - set(drawn(fence_after("## The tree"))) == set()


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
