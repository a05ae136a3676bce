"""Who may read an index in a local folder, and what of it is on disk when a version is. No JVM is needed to see it."""

from __future__ import annotations

import random
import shutil
import stat
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.errors import SegmentError
from tamis.model import Schema
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.versions.manifest import Entry, Manifest, commit, manifest_path, read_manifest
from tamis.spark.versions.routing import EVERY, KEY
from tamis.spark.versions.storage import Root, storage
from tamis.spark.workers import segment_store
from tamis.spark.workers.building import COPIES, Build, open_entries
from tests.faults.disk import Disk, Recorder

OPEN = Schema(open=True)


def build(path: Path, mode: int = 0o700) -> Manifest:
    """A version with a segment and a table of what was rejected."""
    root = Root(str(path), mode=mode)
    columns = {ID: [1, 2, 3], EXPRESSION: ["price < 1", "price <", "price < 3"], KEY: [EVERY] * 3}
    batch = pa.RecordBatch.from_pydict(columns | {COPIES: pa.nulls(3, pa.int64())})
    [row] = next(iter(Build(root, OPEN)(iter([batch])))).to_pylist()
    entry = Entry(row["path"], 2, row["size"], row["checksum"], row["keys"])
    manifest = Manifest(1, OPEN, "bigint", (entry,), (row["rejected"],), 1, mode=mode)
    commit(storage(str(path)), str(path), manifest)
    return manifest


@pytest.mark.parametrize(("mode", "folders", "files"), [(0o700, "700", "600"), (0o755, "755", "644")])
def test_an_index_is_for_those_that_its_mode_says(tmp_path: Path, mode: int, folders: str, files: str) -> None:
    build(tmp_path / "index", mode)

    found = [tmp_path / "index", *(tmp_path / "index").rglob("*")]
    modes = {(path.is_dir(), f"{stat.S_IMODE(path.stat().st_mode):o}") for path in found}
    assert modes == {(True, folders), (False, files)}
    assert read_manifest(storage(str(tmp_path / "index")), "index").mode == mode


@pytest.mark.parametrize("what", ["manifest", "segment"])
def test_a_symbolic_link_in_an_index_is_not_followed(tmp_path: Path, what: str) -> None:
    manifest = build(tmp_path / "index")
    file = tmp_path / "index" / (manifest_path(1) if what == "manifest" else manifest.segments[0].path)
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    segment_store._OPEN.clear()

    def opened() -> None:
        read = read_manifest(storage(str(tmp_path / "index")), "index")
        open_entries(Root(str(tmp_path / "index")), read, read.segments)

    with pytest.raises(SegmentError, match="found a symbolic link, which is not followed here") as caught:
        opened()

    assert caught.value.path == str(file)


def test_a_committed_version_is_on_disk_with_its_names(tmp_path: Path) -> None:
    recorder, disk = Recorder(tmp_path), Disk()
    with recorder.listening():
        commit(storage(str(tmp_path / "index")), "index", Manifest(1, OPEN, "bigint", ()))
    for call in recorder.calls:
        disk.follow(call)

    worst = next(disk.after_power_loss(random.Random(1), b"", 0))
    assert worst == disk.now()
    assert f"index/{manifest_path(1)}" in worst
