"""Texts that were stored in version 1 of the language keep their reading: they are not held against what is new.

`stored/answers.json` has subscriptions as commit 9090aee took them, in version 1, events, and the answers it gave.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xxhash

from tamis import Engine, LanguageError, Schema, SegmentError
from tamis.language.door import LANGUAGE_VERSION
from tamis.segments.keep.folder import Folder
from tamis.segments.segment_registry import SegmentRegistry
from tamis.store.saved import Saved, write_saved

KEPT = json.loads((Path(__file__).parent / "stored" / "answers.json").read_text(encoding="utf-8"))
SCHEMA = Schema.loads('open = true\n[attributes]\nmaterial = "string"\nmaker = "string"\n')
PAIRS = [(id, text) for id, text in KEPT["subscriptions"]]


def rewrite_list(folder: Path, **altered: object) -> None:
    """The folder's list as another version would have written it; None leaves a field out."""
    path = folder / "current.json"
    current = json.loads(path.read_bytes()) | altered
    current = {name: found for name, found in current.items() if found is not None and name != "sum"}
    current["sum"] = xxhash.xxh3_64_hexdigest(json.dumps(current, sort_keys=True).encode())
    path.write_text(json.dumps(current))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Half of the texts in a segment and half in the log, by a Tamis that had no versions."""
    path = tmp_path / "folder"
    registry = SegmentRegistry(SCHEMA, folder=Folder(path, SCHEMA, create=True))
    registry.subscribe_many(PAIRS[::2])
    registry.checkpoint()
    for id, text in PAIRS[1::2]:
        registry.subscribe(id, text)
    assert registry._folder is not None
    registry._folder.close()  # past the checkpoint of `close`: the log stays
    rewrite_list(path, language=None)
    return path


def answers(engine: Engine) -> list[list[object]]:
    return [sorted(engine.match(event)) for event in KEPT["events"]]


EXPECTED = [sorted(found) for found in KEPT["answers"]]


def test_stored_texts_keep_their_reading(folder: Path) -> None:
    with Engine.open(folder) as engine:
        assert {id: engine.expression(id) for id in engine.ids()} == dict(PAIRS)
        assert answers(engine) == EXPECTED
        assert [sorted(found) for found in engine.match_many(KEPT["events"])] == EXPECTED


def test_and_when_they_are_compiled_again(folder: Path) -> None:
    with Engine.open(folder) as engine:
        engine.observe(KEPT["events"])

        assert answers(engine) == EXPECTED
    with Engine.open(folder) as engine:
        assert answers(engine) == EXPECTED


@pytest.mark.parametrize("algorithm", ["naive", "counting-lists", "adaptive"])
def test_and_in_a_saved_file(tmp_path: Path, algorithm: str) -> None:
    write_saved(tmp_path / "saved", Saved(SCHEMA, algorithm, PAIRS))

    engine: Engine = Engine.open(tmp_path / "saved")

    assert [(id, engine.expression(id)) for id in engine.ids()] == PAIRS
    assert [engine.match(event) for event in KEPT["events"]] == KEPT["answers"]


@pytest.mark.parametrize("algorithm", ["naive", "counting-lists"])
def test_and_under_another_algorithm(folder: Path, algorithm: str, tmp_path: Path) -> None:
    engine: Engine = Engine.open(folder, algorithm=algorithm)

    assert answers(engine) == EXPECTED

    engine.save(tmp_path / "saved")
    assert answers(Engine.open(tmp_path / "saved")) == EXPECTED


def test_what_may_be_stored_may_not_be_subscribed_anew(folder: Path) -> None:
    with Engine.open(folder) as engine:
        with pytest.raises(LanguageError, match="write 'maker' for the text or @maker"):
            engine.subscribe("quoted", engine.expression("quoted"))
        receipt = engine.subscribe_many(PAIRS, on_error="collect")

    assert [one.row for one in receipt.errors] == [0, 1, 9, 12]
    assert receipt.subscribed == len(PAIRS) - 4


def test_a_folder_records_the_version_of_the_language(folder: Path, tmp_path: Path) -> None:
    assert "language" not in json.loads((folder / "current.json").read_bytes())
    with Engine.open(tmp_path / "new", create=True, schema=Schema(open=True)) as engine:
        engine.subscribe("a", "title includes 'x'")

    assert json.loads((tmp_path / "new" / "current.json").read_bytes())["language"] == LANGUAGE_VERSION


def test_a_folder_in_a_later_version_is_refused(folder: Path) -> None:
    rewrite_list(folder, language=LANGUAGE_VERSION + 1)

    with pytest.raises(SegmentError, match="a newer Tamis may have written it"):
        Engine.open(folder)
