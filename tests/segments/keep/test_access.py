"""Who may read and write a folder: modes, symbolic links, and folders that can only be read."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest
import xxhash

from tamis import Engine, SegmentError
from tamis.segments.keep import folder as folders
from tamis.segments.keep.folder import Folder
from tests.faults.folder_histories import items, leave, registry

KEPT = [(n, f"v < {n}") for n in range(30)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A segment, dead in it, and a log."""
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many(KEPT)
    engine = Engine.open(tmp_path / "engine")
    engine.unsubscribe(3)
    engine.subscribe("ann", "v = 1")
    leave(engine)
    return tmp_path / "engine"


def mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o}"


def content(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.iterdir()}


# -- modes --------------------------------------------------------------------------------------------------------


def test_a_new_folder_is_its_owners_alone(path: Path) -> None:
    assert mode(path) == "700"
    assert {mode(file) for file in path.iterdir()} == {"600"}


def test_the_mode_of_a_folder_is_kept_by_whoever_opens_it_later(tmp_path: Path) -> None:
    path = tmp_path / "engine"
    Engine.open(path, create=True, mode=0o750).close()
    with Engine.open(path) as engine:
        engine.subscribe_many(KEPT)
    Engine().save(path)

    assert mode(path) == "750"
    assert {mode(file) for file in path.iterdir()} == {"640"}


def test_a_mode_given_for_a_folder_that_exists_changes_it(path: Path) -> None:
    Engine.open(path, mode=0o755).close()
    assert (mode(path), {mode(file) for file in path.iterdir()}) == ("755", {"644"})
    with Engine.open(path, mode=0o700) as engine:
        engine.subscribe("bob", "v = 1")

    assert (mode(path), {mode(file) for file in path.iterdir()}) == ("700", {"600"})


# -- symbolic links -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["current.json", "*.seg", "*.wal", "lock"])
def test_a_symbolic_link_in_a_folder_is_not_followed(path: Path, tmp_path: Path, kind: str) -> None:
    file = next(path.glob(kind))
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()

    with pytest.raises(SegmentError, match=r"found a symbolic link, which is not followed here"):
        Engine.open(path)

    assert file.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == before


def test_a_link_to_nothing_makes_no_file(path: Path, tmp_path: Path) -> None:
    (path / "lock").unlink()
    (path / "lock").symlink_to(tmp_path / "made")

    with pytest.raises(SegmentError, match="found a symbolic link"):
        Engine.open(path)

    assert not (tmp_path / "made").exists()


def test_the_folder_itself_may_be_reached_through_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)

    with Engine.open(tmp_path / "link") as engine:
        assert len(engine) == 30


# -- for reading only ---------------------------------------------------------------------------------------------


def refuses_writes(engine: Engine) -> None:
    for write in (
        lambda: engine.subscribe("bob", "v = 1"),
        lambda: engine.subscribe_many([("bob", "v = 1"), ("eve", "v = 1")]),
        lambda: engine.unsubscribe(5),
        lambda: registry(engine).checkpoint(),
    ):
        with pytest.raises(SegmentError, match="open for reading only"):
            write()


def read_only_system(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """As a read-only mount does: whatever would write is refused."""
    real = os.open

    def refusing(name: str, flags: int, *more: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT) and str(name).startswith(str(path)):
            raise OSError(errno.EROFS, "Read-only file system", str(name))
        return real(name, flags, *more)

    monkeypatch.setattr("tamis.store.atomic.os.open", refusing)


def test_a_folder_on_a_read_only_mount_opens_for_reading(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(path)
    with monkeypatch.context() as patched:
        read_only_system(patched, path)
        for create in (False, True):
            with Engine.open(path, create=create) as engine:
                assert engine.match({"v": 1}) == [*(n for n, _ in KEPT if n > 1 and n != 3), "ann"]
                refuses_writes(engine)
                engine.observe([{"v": 1}])
                engine.save(tmp_path / "copy")
        with pytest.raises(SegmentError, match="cannot write here: Read-only file system"):
            Engine().save(path)

    assert content(path) == before
    with Engine.open(tmp_path / "copy") as copy:
        assert len(copy) == 30


def test_a_reader_holds_nothing_makes_nothing_and_cuts_nothing(path: Path) -> None:
    log = next(path.glob("*.wal"))
    log.write_bytes(log.read_bytes()[:-25])
    (path / "lock").unlink()
    (path / "segment-99-1.seg").write_bytes(b"an orphan")
    before = content(path)

    folder = Folder(path, read_only=True)
    engine = Engine(folder.schema, folder=folder)
    assert "ann" not in engine
    assert engine.stats()["recovered"] == {"record": 2, "byte": 78, "bytes": 54, "kept": None}
    refuses_writes(engine)
    engine.close()

    assert content(path) == before


NOBODY = 65534


def as_nobody(path: Path) -> int:
    """The exit code of a process without rights that opens the folder, matches, and tries to write."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:  # who may do everything must become somebody else to see it
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            engine = Engine.open(path)
            assert engine.match({"v": 28}) == [29]
            refuses_writes(engine)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the child of a fork may find locks taken; this one does not
def test_who_has_no_right_to_write_reads(path: Path) -> None:
    with Engine.open(path, mode=0o755) as engine:
        engine.match({"v": 28})  # kernels are loaded, whoever may read them later
    for file in path.iterdir():
        file.chmod(0o444)
    path.chmod(0o555)
    for folder in path.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)

    assert as_nobody(path) == 0
    path.chmod(0o755)


# -- what a crash left --------------------------------------------------------------------------------------------


def test_what_is_dropped_is_told_and_kept_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = next(path.glob("*.wal"))
    whole = log.read_bytes()
    log.write_bytes(whole[:-25])
    engine = Engine.open(path)

    recovered = engine.stats()["recovered"]
    assert "ann" not in engine
    assert recovered["record"] == 2
    assert (path / recovered["kept"]).read_bytes() == whole[recovered["byte"] : -25]
    assert len(whole) - 25 == recovered["byte"] + recovered["bytes"]
    assert f"so its write never returned; they are kept in {recovered['kept']}" in caplog.text
    engine.subscribe("bob", "v = 1")
    engine.close()
    with Engine.open(path) as engine:
        assert engine.stats()["recovered"] is None
        assert (path / recovered["kept"]).exists()


def test_one_dropped_write_is_kept_the_last(path: Path) -> None:
    for _ in range(3):
        engine = Engine.open(path)
        engine.subscribe("bob", "v = 1")
        leave(engine)
        log = next(path.glob("*.wal"))
        log.write_bytes(log.read_bytes()[:-25])
    leave(Engine.open(path))

    assert len(list(path.glob("dropped-*"))) == 1


def test_orphans_are_swept_at_open(path: Path) -> None:
    kept = {one.name for one in path.iterdir()}
    for name in ("segment-99-1.seg", "log-99.wal", ".current.json.0123abcd", ".segment-9-9.seg.0123abcd"):
        (path / name).write_bytes(b"left by a crash")

    with Engine.open(path) as engine:
        assert {one.name for one in path.iterdir()} == kept
        assert len(items(engine)) == 30


def test_a_folder_of_the_format_before_says_what_to_do(path: Path) -> None:
    (path / "current.json").write_text('{"format": 1, "number": 1, "sum": ""}')

    with pytest.raises(SegmentError, match=r"expected format 2, found 1; an older Tamis wrote it, before any release"):
        Engine.open(path)


@pytest.mark.parametrize("forged", [2**40, -1, 0o077, 0o1777, "755", None, 448.0])
def test_a_list_with_a_mode_that_nobody_may_give_is_refused(path: Path, forged: object) -> None:
    found = json.loads((path / "current.json").read_bytes()) | {"mode": forged}
    del found["sum"]
    found["sum"] = xxhash.xxh3_64_hexdigest(json.dumps(found, sort_keys=True).encode())
    (path / "current.json").write_text(json.dumps(found))
    before = mode(path)

    with pytest.raises(SegmentError, match=r"current\.json: expected .*a folder's mode"):
        Engine.open(path)

    assert mode(path) == before


@pytest.mark.parametrize("name", ["current.json", "segment-"])
def test_a_timeout_of_the_callers_is_not_taken_for_a_refusal(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A signal handler's `TimeoutError` is an `OSError` as well; it is the caller's, and told as it is."""

    def late(*_: object, **__: object) -> None:
        raise TimeoutError("by a handler")

    if name == "current.json":
        monkeypatch.setattr("tamis.segments.keep.current.read_file", late)
    else:
        monkeypatch.setattr(Path, "open", late)

    with pytest.raises(TimeoutError, match="by a handler"):
        Engine.open(path, read_only=True)


def test_a_failed_write_whose_cut_cannot_be_synced_closes_the_engine(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    engine = Engine.open(path)
    with monkeypatch.context() as patched:
        patched.setattr(folders.os, "fdatasync", fail)
        with pytest.raises(SegmentError, match="cannot write here: Input/output error"):
            engine.subscribe("bob", "v = 1")

    assert "bob" not in engine
    with pytest.raises(SegmentError, match="the engine was closed; open it again to write"):
        engine.subscribe("eve", "v = 1")
    engine.close()
    Engine.open(path).close()
