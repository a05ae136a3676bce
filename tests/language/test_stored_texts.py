"""A folder that commit 9090aee wrote, in version 1 of the language: it opens, merges and matches as it did.

`stored/answers.json` has its subscriptions, events, and the answers that 9090aee gave.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tamis import Engine, LanguageError, Schema, SegmentError
from tamis.language.door import LANGUAGE_VERSION

STORED = Path(__file__).parent / "stored"
KEPT = json.loads((STORED / "answers.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(STORED / "folder", tmp_path / "folder")
    return tmp_path / "folder"


def answers(engine: Engine) -> list[list[object]]:
    return [engine.match(event) for event in KEPT["events"]]


def test_stored_texts_keep_their_reading(folder: Path) -> None:
    with Engine.open(folder) as engine:
        assert [[id, engine.expression(id)] for id in engine.ids()] == KEPT["subscriptions"]
        assert answers(engine) == KEPT["answers"]


def test_and_when_they_are_compiled_again(folder: Path) -> None:
    with Engine.open(folder) as engine:
        engine.observe(KEPT["events"])

        assert answers(engine) == KEPT["answers"]
    with Engine.open(folder) as engine:
        assert answers(engine) == KEPT["answers"]


@pytest.mark.parametrize("algorithm", ["naive", "counting-lists"])
def test_and_under_another_algorithm(folder: Path, algorithm: str, tmp_path: Path) -> None:
    engine = Engine.open(folder, algorithm=algorithm)

    assert answers(engine) == KEPT["answers"]

    engine.save(tmp_path / "saved")
    assert answers(Engine.open(tmp_path / "saved")) == KEPT["answers"]


def test_what_may_be_stored_may_not_be_subscribed_anew(folder: Path) -> None:
    with Engine.open(folder) as engine, pytest.raises(LanguageError, match="write 'maker' for the text or @maker"):
        engine.subscribe("quoted", engine.expression("quoted"))


def test_a_folder_records_the_version_of_the_language(folder: Path, tmp_path: Path) -> None:
    assert "language" not in json.loads((folder / "current.json").read_bytes())
    with Engine.open(tmp_path / "new", create=True, schema=Schema(open=True)) as engine:
        engine.subscribe("a", "title includes 'x'")

    assert json.loads((tmp_path / "new" / "current.json").read_bytes())["language"] == LANGUAGE_VERSION


def test_a_folder_in_a_later_version_is_refused(folder: Path) -> None:
    current = json.loads((folder / "current.json").read_bytes())
    (folder / "current.json").write_text(json.dumps(current | {"language": LANGUAGE_VERSION + 1}))

    with pytest.raises(SegmentError, match="a newer Tamis may have written it"):
        Engine.open(folder)
