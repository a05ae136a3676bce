"""The file an engine is saved in: whole, or refused with its name."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash

from tamis import Engine, OptionError, Schema, SegmentError
from tamis.store.saved import Saved, read_saved, write_saved
from tamis.workloads import auctions

SEED = 20240531


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "auctions.tamis"
    pairs: list[tuple[str | int, str]] = [*auctions.subscriptions(20), (7, "price < 1"), (-(2**63), "price < 2")]
    write_saved(path, Saved(Schema.loads(auctions.SCHEMA), "naive", pairs))
    return path


def test_what_is_written_is_read_again(saved: Path) -> None:
    found = read_saved(saved)

    assert found.schema == Schema.loads(auctions.SCHEMA)
    assert found.algorithm == "naive"
    assert found.subscriptions[:20] == list(auctions.subscriptions(20))
    assert found.subscriptions[20:] == [(7, "price < 1"), (-(2**63), "price < 2")]


def is_refused(path: Path) -> bool:
    try:
        Engine.open(path)
    except SegmentError as error:
        return error.path == str(path) and str(error).startswith(f"{path}: ")
    return False


def test_a_file_cut_anywhere_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    draw = random.Random(SEED)
    cuts = {*range(32), len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(200))}

    for length in sorted(cuts):
        saved.write_bytes(whole[:length])
        assert is_refused(saved), f"cut at {length} unnoticed, seed {SEED}"


def test_a_file_with_any_bit_turned_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    draw = random.Random(SEED)
    places = [*range(32), *(draw.randrange(len(whole)) for _ in range(300))]

    for place in places:
        turned = bytearray(whole)
        turned[place] ^= 1 << draw.randrange(8)
        saved.write_bytes(turned)
        assert is_refused(saved), f"byte {place} was turned unnoticed, seed {SEED}"


def test_a_file_with_something_after_its_end_is_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"\0")

    with pytest.raises(SegmentError, match="checksum"):
        Engine.open(saved)


@pytest.mark.parametrize("content", [b"", b"TAMIS", b"PAR1" * 10, b"\xff" * 100, b"PK\3\4 a zip file, perhaps"])
def test_a_foreign_file_is_refused_as_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)

    with pytest.raises(SegmentError, match="found another kind of file"):
        Engine.open(path)


def test_a_newer_format_says_that_a_newer_tamis_may_have_written_it(saved: Path) -> None:
    newer = bytearray(saved.read_bytes())
    newer[7] = 2
    saved.write_bytes(newer)

    with pytest.raises(SegmentError, match="expected format 1, found 2; a newer Tamis may have written it"):
        Engine.open(saved)


def write_with_a_good_checksum(path: Path, body: bytes) -> None:
    path.write_bytes(b"TAMIS\0\0\1" + xxhash.xxh3_64_digest(body) + body)


def arrow_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


COLUMNS = {"name": ["ann"], "number": pa.array([None], pa.string()), "expression": ["price < 1"]}
METADATA = {"schema": "open = true", "algorithm": "naive"}


@pytest.mark.parametrize(
    ("columns", "metadata"),
    [
        (COLUMNS, {}),
        (COLUMNS, {"schema": "open = true"}),
        (COLUMNS, METADATA | {"schema": "not TOML"}),
        (COLUMNS, METADATA | {"schema": b"\xff"}),
        ({"name": ["ann"]}, METADATA),
        (COLUMNS | {"name": pa.array([None], pa.string())}, METADATA),
        (COLUMNS | {"name": pa.array([None], pa.string()), "number": ["x"]}, METADATA),
    ],
)
def test_a_sound_file_of_unsound_content_is_refused(tmp_path: Path, columns: object, metadata: object) -> None:
    path = tmp_path / "unsound"
    write_with_a_good_checksum(path, arrow_stream(pa.table(columns).replace_schema_metadata(metadata)))

    with pytest.raises(SegmentError, match="found one that cannot be read"):
        Engine.open(path)


def test_no_arrow_at_all_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "no-arrow"
    draw = random.Random(SEED)
    for body in (b"", b"\xff" * 64, *(draw.randbytes(200) for _ in range(20))):
        write_with_a_good_checksum(path, body)
        with pytest.raises(SegmentError, match="found one that cannot be read"):
            Engine.open(path)


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = saved.read_bytes()
    engine = Engine(algorithm="naive")
    engine.subscribe("ann", "price < 1")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr("tamis.store.atomic.os.fsync", fail)
    elif step == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr("tamis.store.saved._encode", lambda _: "text, which no binary file takes")
    with pytest.raises((SegmentError, TypeError)):
        engine.save(saved)

    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_interrupt_while_writing_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tamis.store.atomic.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Engine(algorithm="naive").save(saved)

    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_a_missing_folder_is_a_segment_error_and_no_folder_is_made(tmp_path: Path, algorithm: str) -> None:
    with pytest.raises(SegmentError, match=r"nowhere/engine: cannot write here: No such file or directory"):
        Engine(algorithm=algorithm).save(tmp_path / "nowhere" / "engine")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
@pytest.mark.parametrize("path", ["", "a\0b", "/"])
def test_a_path_that_is_none_is_a_segment_error(path: str, algorithm: str) -> None:
    with pytest.raises(SegmentError, match="cannot write here"):
        Engine(algorithm=algorithm).save(path)
    with pytest.raises(SegmentError, match="expected a saved engine"):
        Engine.open(path)


def test_a_folder_in_the_place_of_the_file_is_a_segment_error(tmp_path: Path) -> None:
    with pytest.raises(SegmentError, match="expected a saved engine"):
        Engine.open(tmp_path)
    with pytest.raises(SegmentError, match="Is a directory"):
        Engine(algorithm="naive").save(tmp_path)


def modes(path: Path) -> set[str]:
    return {f"{stat.S_IMODE(file.stat().st_mode):o}" for file in (path.iterdir() if path.is_dir() else [path])}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_is_saved_is_its_owners_alone_unless_a_mode_is_given(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        for name, mode in (("private", None), ("shared", 0o750)):
            Engine(algorithm="naive").save(tmp_path / f"{name}-file", mode=mode)
            Engine().save(tmp_path / f"{name}-folder", mode=mode)
    finally:
        os.umask(before)

    assert (modes(tmp_path / "private-file"), modes(tmp_path / "private-folder")) == ({"600"}, {"600"})
    assert (modes(tmp_path / "shared-file"), modes(tmp_path / "shared-folder")) == ({"640"}, {"640"})
    folders = [f"{stat.S_IMODE((tmp_path / name).stat().st_mode):o}" for name in ("private-folder", "shared-folder")]
    assert folders == ["700", "750"]


@pytest.mark.parametrize("mode", [0, 0o400, 0o1777, -1, "750", True, 0o70])
def test_a_mode_that_is_none_is_refused(tmp_path: Path, mode: Any) -> None:
    with pytest.raises(OptionError, match="expected a folder's mode from 0o700"):
        Engine().save(tmp_path / "engine", mode=mode)
    with pytest.raises(OptionError, match="expected a folder's mode from 0o700"):
        Engine.open(tmp_path / "engine", create=True, mode=mode)

    assert list(tmp_path.iterdir()) == []
