"""`tamis check` finds what is damaged and alters nothing; `tamis repair` copies what is whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.cli import main
from tamis.segments.keep.log import SEAL_BYTES
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.versions.manifest import Entry, Manifest, commit, manifest_path, read_manifest
from tamis.spark.versions.routing import EVERY, KEY
from tamis.spark.versions.storage import Root, storage
from tamis.spark.workers.building import COPIES, Build, Mark, WriteIds
from tests.faults.folder_histories import items, leave

KEPT = [(n, f"v < {n}") for n in range(12)]


def content(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def tamis(*arguments: object) -> int:
    return main([str(one) for one in arguments])


def turn(file: Path, at: int) -> None:
    whole = bytearray(file.read_bytes())
    whole[at] ^= 1
    file.write_bytes(whole)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two segments, one with dead, and a log of three writes."""
    path = tmp_path / "engine"
    with Engine.open(path, create=True) as engine:
        engine.subscribe_many(KEPT)
    engine = Engine.open(path)
    engine.subscribe("ann", "v = 1")
    engine.unsubscribe(3)
    engine.subscribe("bob", "v = 2")
    leave(engine)
    return path


def test_a_whole_folder_is_told_and_left_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(folder)

    assert tamis("check", folder) == 0

    out, err = capsys.readouterr()
    assert "3 writes since the checkpoint" in out
    assert "13 subscriptions" in out
    assert err == ""
    assert content(folder) == before


def test_what_a_crash_left_of_a_last_write_is_no_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = next(folder.glob("log-*.wal"))
    log.write_bytes(log.read_bytes()[:-5])  # a torn seal
    assert tamis("check", folder) == 0
    log.write_bytes(log.read_bytes()[: -SEAL_BYTES - 5])

    assert tamis("check", folder) == 0

    assert "are of a write that never returned; opening drops them" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["*.seg", "*.wal", "current.json"])
def test_every_damaged_file_of_a_folder_is_named(folder: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(folder.glob(kind))
    turn(file, len(file.read_bytes()) // 2)
    before = content(folder)

    assert tamis("check", "--quiet", folder) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert f"tamis check: {file}: " in err
    assert content(folder) == before


def test_a_repaired_folder_lacks_the_damaged_write_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = next(folder.glob("log-*.wal"))
    turn(log, log.read_bytes().index(b'"u"'))
    before = content(folder)

    assert tamis("repair", folder, "--to", tmp_path / "copy") == 1

    err = capsys.readouterr().err
    assert "in record 2: " in err
    assert "of 3 writes these are lost: 2" in err
    assert content(folder) == before
    with Engine.open(tmp_path / "copy") as engine:
        assert items(engine) == {**dict(KEPT), "ann": "v = 1", "bob": "v = 2"}
    assert tamis("check", tmp_path / "copy") == 0


def test_a_repaired_folder_lacks_the_damaged_segment_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turn(next(folder.glob("*.seg")), 3000)

    assert tamis("repair", folder, "--to", tmp_path / "copy") == 1

    assert "segment-2-1.seg: " in capsys.readouterr().err
    with Engine.open(tmp_path / "copy") as engine:
        assert items(engine) == {"ann": "v = 1", "bob": "v = 2"}


def test_a_whole_folder_is_copied(folder: Path, tmp_path: Path) -> None:
    assert tamis("repair", folder, "--to", tmp_path / "copy") == 0

    with Engine.open(tmp_path / "copy") as copy, Engine.open(folder) as engine:
        assert items(copy) == items(engine)


def test_without_its_list_a_folder_is_not_guessed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "current.json").unlink()

    assert tamis("check", folder) == 1
    assert tamis("repair", folder, "--to", tmp_path / "copy") == 1

    assert "nothing was written" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


def test_mistakes_exit_with_2(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()

    assert tamis("check", tmp_path / "nowhere") == 2
    assert tamis("check", tmp_path / "empty") == 2
    assert tamis("repair", folder, "--to", tmp_path / "empty") == 2
    assert tamis("repair", folder, "--to", tmp_path / "copy", "--version", "1") == 2
    assert capsys.readouterr().err.count("\n") == 4


def test_a_saved_file_is_checked_and_copied_only_if_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "engine.tamis"
    engine = Engine(algorithm="naive")
    engine.subscribe_many(KEPT)
    engine.save(file)
    assert tamis("check", file) == 0
    assert tamis("repair", file, "--to", tmp_path / "copy") == 0
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()
    turn(file, 200)

    assert tamis("check", file) == 1
    assert tamis("repair", file, "--to", tmp_path / "other") == 1

    assert capsys.readouterr().err.count("the checksum does not fit") == 2
    assert not (tmp_path / "other").exists()


# -- Spark indexes, without a JVM ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of an index: two segments, then the same with two subscriptions gone."""
    path = tmp_path_factory.mktemp("index") / "index"
    root, place, schema = Root(str(path)), storage(str(path)), Schema(open=True)
    entries = []
    for first in (0, 10):
        columns = {ID: range(first, first + 10), EXPRESSION: [f"price < {at}" for at in range(10)], KEY: [EVERY] * 10}
        batch = pa.RecordBatch.from_pydict(columns | {COPIES: pa.nulls(10, pa.int64())})
        [row] = next(iter(Build(root, schema)(iter([batch])))).to_pylist()
        entries.append(Entry(row["path"], 10, row["size"], row["checksum"], row["keys"]))
    manifest = Manifest(1, schema, "bigint", tuple(entries))
    commit(place, str(path), manifest)
    [listed] = WriteIds(root)(iter([pa.RecordBatch.from_pydict({ID: [2, 4]})]))
    lists = tuple((one["path"], one["checksum"]) for one in listed.to_pylist())
    [marked] = Mark(root, manifest, (), lists)(iter([pa.RecordBatch.from_pydict({"number": [0]})]))
    mark = marked.to_pylist()[0]
    gone = Entry(*entries[0].__dict__.values())
    gone = Entry(*list(gone.__dict__.values())[:5], mark["removed"], 2, mark["removed_checksum"])
    commit(place, str(path), Manifest(2, schema, "bigint", (gone, entries[1])))
    return path


@pytest.fixture
def index(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "index")
    return tmp_path / "index"


def test_a_whole_index_is_told_and_copied(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(index)

    assert tamis("check", index) == 0
    assert tamis("repair", index, "--to", tmp_path / "copy") == 0
    assert tamis("check", tmp_path / "copy") == 0

    out = capsys.readouterr().out
    assert "version 1, 20 subscriptions" in out
    assert f"{tmp_path / 'copy'}: version 2, 18 subscriptions" in out
    assert content(index) == before
    copied = content(tmp_path / "copy")
    assert copied == {name: content for name, content in before.items() if name in copied}


@pytest.mark.parametrize("kind", ["segments", "removed", "manifests"])
def test_every_damaged_file_of_an_index_is_named(
    index: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = read_manifest(storage(str(index)), str(index))
    entry = manifest.segments[0]
    file = {"segments": entry.path, "removed": entry.removed, "manifests": manifest_path(2)}[kind]
    assert file is not None
    turn(index / file, len((index / file).read_bytes()) - 9)

    assert tamis("check", "--quiet", index) == 1
    assert f"tamis check: {index / file}: " in capsys.readouterr().err

    assert tamis("repair", index, "--to", tmp_path / "copy") == 1
    if kind == "manifests":
        assert not (tmp_path / "copy").exists()
        assert tamis("repair", index, "--to", tmp_path / "copy", "--version", "1") == 0
        assert read_manifest(storage(str(tmp_path / "copy")), "copy").subscriptions == 20
    else:
        assert read_manifest(storage(str(tmp_path / "copy")), "copy").subscriptions == 10
    assert tamis("check", "--quiet", tmp_path / "copy") == 0


def test_an_unfinished_manifest_is_no_damage(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (index / manifest_path(3)).write_bytes((index / manifest_path(2)).read_bytes()[:40])

    assert tamis("check", index) == 0

    assert "00000003.json: unfinished; its writer is at work, or died" in capsys.readouterr().out
