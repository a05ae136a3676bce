"""Readers beside a writer: what they have is what the folder held after some call, and they leave no trace."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tamis import Engine, OptionError, SegmentError, UnknownSubscription

SCRIPT = Path(__file__).with_name("beside_calls.py")
TEXTS = [(n, f"v < {n}") for n in range(20)]


def run(path: Path, length: int, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, path, str(length), str(seed)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"seed {seed}: {done.stderr[-6000:]}"
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == ["read", "read", "write"]


@pytest.mark.slow
def test_a_reader_sees_what_was_there_after_some_call(tmp_path: Path) -> None:
    run(tmp_path / "engine", 80, 20261118)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20))
def test_readers_for_long(seed: int, tmp_path: Path) -> None:
    run(tmp_path / "engine", 500, seed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many(TEXTS)
    return tmp_path / "engine"


def files(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.iterdir()}


def test_a_reader_alters_nothing_and_takes_no_lock(path: Path) -> None:
    before = files(path)

    with Engine.open(path, read_only=True) as one, Engine.open(path, read_only=True) as other:
        assert one.match({"v": 18}) == other.match({"v": 18}) == [19]
        with Engine.open(path) as writer:
            assert len(writer) == len(TEXTS)
        assert not one.refresh()

    assert files(path) == before


def test_a_torn_last_record_is_left_where_it_is(path: Path) -> None:
    writer = Engine.open(path)
    writer.subscribe("new", "v = 3")
    log = max(path.glob("log-*.wal"))
    torn = log.read_bytes()[:-30]
    writer._registry._folder.close()  # type: ignore[attr-defined]
    log.write_bytes(torn)

    with Engine.open(path, read_only=True) as reader:
        assert reader.ids() == list(range(20))
        assert not reader.refresh()

    assert log.read_bytes() == torn


def test_refreshing_takes_in_writes_checkpoints_and_what_was_taken_back(path: Path) -> None:
    with Engine.open(path) as writer, Engine.open(path, read_only=True) as reader:
        writer.subscribe("ann", "v = 3")
        assert "ann" not in reader
        assert reader.refresh()
        assert reader.match({"v": 3})[-1] == "ann"

        writer.unsubscribe_many([3, "ann", 4])
        writer._registry.checkpoint()  # type: ignore[attr-defined]
        writer.subscribe("bob", "v = 3")
        assert reader.refresh()
        assert reader.ids() == writer.ids()
        assert not reader.refresh()


def test_a_reader_does_not_write(path: Path) -> None:
    reader = Engine.open(path, read_only=True)
    for call in (
        lambda: reader.subscribe("ann", "v = 3"),
        lambda: reader.subscribe_many([("ann", "v = 3"), ("bob", "v = 3")]),
        lambda: reader.unsubscribe(3),
        lambda: reader.unsubscribe_many([3, 4]),
        lambda: reader.save(path),
    ):
        with pytest.raises(SegmentError, match="reading only"):
            call()

    assert reader.ids() == list(range(20))
    reader.close()
    with pytest.raises(SegmentError, match="was closed"):
        reader.refresh()


def test_only_a_reader_is_refreshed(path: Path) -> None:
    with Engine.open(path) as writer, pytest.raises(OptionError, match="read_only=True"):
        writer.refresh()
    with pytest.raises(OptionError, match="read_only=True"):
        Engine(algorithm="naive").refresh()
    with pytest.raises(OptionError, match="folder that exists"):
        Engine.open(path.parent / "none", read_only=True)


def _match(engine: Engine[int]) -> list[int]:
    return engine.match({"v": 18})


def test_an_engine_of_a_folder_is_pickled_as_its_path(path: Path) -> None:
    with Engine.open(path) as writer:
        copy = pickle.loads(pickle.dumps(writer))  # noqa: S301
        writer.subscribe("late", "v = 18")

        assert copy.refresh()
        assert copy.match({"v": 18}) == [19, "late"]
        with pytest.raises(SegmentError, match="reading only"):
            copy.subscribe("mine", "v = 1")
    with pytest.raises(OptionError, match="save it"):
        pickle.dumps(Engine(algorithm="naive"))


@pytest.mark.slow
def test_a_spawned_process_is_handed_an_engine(path: Path) -> None:
    with Engine.open(path) as writer, multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_match, (writer,)) == [19]


@pytest.mark.parametrize("algorithm", ["adaptive", "naive", "counting-lists"])
def test_several_are_forgotten_or_none(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many(TEXTS)
    engine.match_many([{"v": 1}])
    engine.subscribe("new", "v = 1")

    with pytest.raises(UnknownSubscription, match="nobody"):
        engine.unsubscribe_many([3, "nobody", "new"])
    assert len(engine) == 21
    engine.unsubscribe_many([3, "new", 3, 5])

    assert engine.ids() == [n for n in range(20) if n not in (3, 5)]
    assert engine.match({"v": 2}) == [4, *range(6, 20)]
    engine.unsubscribe_many([])
    engine.check()
