"""What returned survives: processes killed at any moment, full disks, and who holds a folder."""

from __future__ import annotations

import errno
import gc
import json
import os
import random
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from tamis import Engine, OptionError, Schema, SegmentError, UnknownSubscription
from tamis.model.values import value_of
from tamis.segments import segment_registry as registries
from tamis.segments.compile.statistics import Statistics
from tamis.segments.keep.folder import Folder
from tamis.segments.keep.log import HEADER_BYTES, SEAL_BYTES
from tamis.segments.segment_registry import SegmentRegistry
from tests.segments.writer import Model, model_after, operations, write

ROOT = Path(__file__).parents[3]
EVENTS: list[dict[str, object]] = [{"v": n, "w": "x"} for n in range(4)]


def registry(engine: Engine) -> SegmentRegistry:
    assert isinstance(engine._registry, SegmentRegistry)
    return engine._registry


def held(engine: Engine) -> list[tuple[object, str]]:
    return [(id, engine.expression(id)) for id in engine.ids()]


def answers_as(engine: Engine, model: Model) -> None:
    oracle = Engine(algorithm="naive")
    oracle.subscribe_many(model.items())
    assert [set(ids) for ids in engine.match_many(EVENTS)] == [set(oracle.match(event)) for event in EVENTS]
    engine.check()


def folder_of(engine: Engine) -> Folder:
    folder = registry(engine)._folder
    assert folder is not None
    return folder


def leave(engine: Engine) -> None:
    """Go as a killed process goes: without a checkpoint."""
    folder_of(engine).close()


# -- kill -9 ------------------------------------------------------------------------------------------------------


def write_and_be_killed(path: Path, seed: int, after: int) -> int:
    """How many operations the child said were done; it is killed while it does the next or one soon after."""
    command = [sys.executable, "-m", "tests.segments.writer", str(path), str(seed)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        seen = [line for line in islice(child.stdout, after) if line.endswith("\n")]
        assert len(seen) == after, f"the writer died by itself, seed {seed}"
        child.send_signal(signal.SIGKILL)
        seen += [line for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    return len(seen)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_what_returned_survives_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    model: Model = {}
    for turn in range(3):
        done = write_and_be_killed(tmp_path / "engine", seed * 100 + turn, after=draw.randrange(1, 120))

        engine = Engine.open(tmp_path / "engine")
        steps = list(islice(operations(seed * 100 + turn, list(model)), done + 1))
        for step in steps[:-1]:
            model = model_after(model, step)
        in_flight = model_after(model, steps[-1])
        assert held(engine) in (list(model.items()), list(in_flight.items())), f"seed {seed}, turn {turn}, {done} done"
        model = dict(held(engine))  # type: ignore[arg-type]
        answers_as(engine, model)
        leave(engine) if turn % 2 else engine.close()


def test_a_log_cut_at_any_byte_holds_the_writes_before_the_cut(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    log = next((tmp_path / "engine").glob("log-*.wal"))
    model: Model = {}
    states = [(folder_of(engine).log_bytes, model)]
    for step in islice((one for one in operations(5, []) if one[0] in ("subscribe", "unsubscribe")), 12):
        write(engine, step)
        model = model_after(model, step)
        states.append((folder_of(engine).log_bytes, model))
    leave(engine)
    whole = log.read_bytes()

    for length in range(HEADER_BYTES, len(whole) + 1, 7):
        log.write_bytes(whole[:length])
        opened = Engine.open(tmp_path / "engine")
        expected = [state for size, state in states if size <= length][-1]
        assert held(opened) == list(expected.items()), f"cut at {length}"
        opened.subscribe("after", "v = 1")  # what is cut off is gone, and writing goes on from there
        leave(opened)
        opened = Engine.open(tmp_path / "engine")
        assert opened.ids() == [*expected, "after"]
        leave(opened)


def test_bytes_that_a_lost_power_left_unwritten_are_a_cut(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe("ann", "v = 1")
        log = next((tmp_path / "engine").glob("log-*.wal"))
        first = folder_of(engine).log_bytes
        engine.subscribe("bob", "v = 1")
        leave(engine)
    whole = log.read_bytes()[:-SEAL_BYTES]

    for written in (first, first + 20, first + 40):
        log.write_bytes(whole[:written] + bytes(len(whole) - written))
        engine = Engine.open(tmp_path / "engine")
        assert engine.ids() == ["ann"]
        leave(engine)


# -- who holds it -------------------------------------------------------------------------------------------------


def test_one_engine_at_a_time_holds_a_folder(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)

    with pytest.raises(SegmentError, match="another engine holds this folder open"):
        Engine.open(tmp_path / "engine")
    with pytest.raises(SegmentError, match="another engine holds this folder open"):
        Engine().save(tmp_path / "engine")
    engine.close()
    Engine.open(tmp_path / "engine").close()


def test_an_engine_that_nobody_closed_lets_go_when_it_is_forgotten(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe("ann", "v = 1")
    del engine
    gc.collect()

    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == ["ann"]


def test_a_closed_engine_answers_and_takes_no_writes(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe("ann", "v = 1")
    engine.close()
    engine.close()

    assert engine.match({"v": 1}) == ["ann"]
    for write_something in (
        lambda: engine.subscribe("bob", "v = 1"),
        lambda: engine.subscribe_many([("bob", "v = 1"), ("eve", "v = 1")]),
        lambda: engine.unsubscribe("ann"),
    ):
        with pytest.raises(SegmentError, match="closed"):
            write_something()
    assert engine.ids() == ["ann"]
    engine.save(tmp_path / "engine")
    engine.save(tmp_path / "copy")
    for name in ("engine", "copy"):
        with Engine.open(tmp_path / name) as opened:
            assert opened.ids() == ["ann"]


def test_a_durable_engine_saves_to_its_own_folder_and_to_others(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many([("ann", "v = 1"), ("bob", "v = 2")])
        engine.save(tmp_path / "engine")
        engine.save(tmp_path / "copy")
        engine.unsubscribe("ann")

    with Engine.open(tmp_path / "engine") as engine, Engine.open(tmp_path / "copy") as copy:
        assert (engine.ids(), copy.ids()) == (["bob"], ["ann", "bob"])


def test_only_the_adaptive_engine_keeps_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="only the adaptive engine keeps a folder"):
        Engine.open(tmp_path / "engine", create=True, algorithm="naive")

    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all my work")

    for make in (lambda: Engine.open(tmp_path, create=True), lambda: Engine().save(tmp_path)):
        with pytest.raises(SegmentError, match=r"'thesis.tex' is no part of an engine"):
            make()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_engine_that_cannot_be_made_leaves_the_folder_free(tmp_path: Path) -> None:
    Engine().save(tmp_path / "engine")

    with pytest.raises(OptionError, match="speed"):
        Engine.open(tmp_path / "engine", speed="high")
    Engine.open(tmp_path / "engine").close()


def test_what_was_observed_is_kept_with_the_engine_and_with_copies_of_it(tmp_path: Path) -> None:
    sample: list[dict[str, object]] = [{"v": 1, "w": "x", "t": 0.5, "b": True} for _ in range(9)] + [{"v": [2, 3]}]
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many([(n, f"v = {n % 4} and w = 'x'") for n in range(40)])
        engine.observe(sample)
        engine.subscribe("late", "v = 1")
        learned = registry(engine).subscriptions.statistics
        engine.save(tmp_path / "copy")
        leave(engine)

    assert learned is not None
    assert learned.attributes["v"].frequent == {value_of(1): 0.9, value_of(2): 0.1, value_of(3): 0.1}
    for folder in ("engine", "copy", "engine"):
        with Engine.open(tmp_path / folder) as engine:
            assert registry(engine).subscriptions.statistics == learned
            answers_as(engine, {**{n: f"v = {n % 4} and w = 'x'" for n in range(40)}, "late": "v = 1"})
            engine.subscribe("one more", "v = 2")
            engine.unsubscribe("one more")
            registry(engine).checkpoint()
    given = Statistics(1, {})
    with Engine.open(tmp_path / "copy", statistics=given) as engine:
        assert registry(engine).subscriptions.statistics == given


def test_what_was_observed_chooses_homes_after_opening_too(tmp_path: Path) -> None:
    texts = [(n, f"v = {n % 2} and w = {n % 100} and u < {n}") for n in range(6000)]
    sample: list[dict[str, object]] = [{"v": 0, "w": n % 100, "u": n} for n in range(300)]
    unknowing, knowing = Engine(), Engine()
    unknowing.subscribe_many(texts)
    knowing.observe(sample)
    knowing.subscribe_many(texts)
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.observe(sample)
    with Engine.open(tmp_path / "engine") as engine:
        engine.subscribe_many(texts)

        assert homes(engine) == homes(knowing) != homes(unknowing)


def homes(engine: Engine) -> list[int]:
    return [engine.stats()[name] for name in ("in_blocks", "in_clusters", "accesses", "index_bytes")]


def test_a_folder_without_statistics_has_none(tmp_path: Path) -> None:
    Engine.open(tmp_path / "engine", create=True).close()

    assert "statistics" not in json.loads((tmp_path / "engine" / "current.json").read_text())
    with Engine.open(tmp_path / "engine") as engine:
        assert registry(engine).subscriptions.statistics is None


def test_a_schema_is_kept_with_the_engine(tmp_path: Path) -> None:
    schema = Schema.loads("[attributes]\nprice = 'number'")
    with Engine.open(tmp_path / "engine", schema=schema, create=True) as engine:
        engine.subscribe("ann", "price < 5")

    with Engine.open(tmp_path / "engine", schema=schema) as engine:
        assert (engine.schema, engine.match({"price": 3})) == (schema, ["ann"])


# -- what goes wrong while writing --------------------------------------------------------------------------------


def full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_write_that_does_not_reach_the_log_did_not_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe("ann", "v = 1")
    write_some = os.pwrite

    def half(handle: int, content: memoryview, at: int) -> int:
        if len(content) < 10:
            full_disk()
        return write_some(handle, content[: len(content) // 2], at)

    with monkeypatch.context() as patched:
        patched.setattr("tamis.store.atomic.os.pwrite", half)
        for call in (
            lambda: engine.subscribe("bob", "v = 1"),
            lambda: engine.subscribe_many([("bob", "v = 1")]),
            lambda: engine.unsubscribe("ann"),
        ):
            with pytest.raises(SegmentError, match="No space left on device"):
                call()
            assert engine.match({"v": 1}) == ["ann"]
    engine.subscribe("eve", "v = 1")
    leave(engine)

    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == ["ann", "eve"]


@pytest.mark.parametrize("step", ["os.fsync", "Path.replace"])
def test_a_checkpoint_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe_many([("ann", "v = 1"), ("bob", "v = 1")])

    with monkeypatch.context() as patched:
        patched.setattr(f"tamis.store.atomic.{step}", full_disk)
        with pytest.raises(SegmentError, match="No space left on device"):
            registry(engine).checkpoint()
    engine.unsubscribe("ann")
    leave(engine)

    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == ["bob"]


def test_a_large_batch_that_cannot_be_kept_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "_LONG_LOG", 10)
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe_many([(0, "v = 0"), ("ann", "v = 1")])

    with monkeypatch.context() as patched:
        patched.setattr("tamis.store.atomic.os.fsync", full_disk)
        with pytest.raises(SegmentError, match="No space left on device"):
            engine.subscribe_many([(n, "v = 1") for n in range(20)])
    assert held(engine) == [(0, "v = 0"), ("ann", "v = 1")]
    engine.check()
    assert engine.subscribe_many([(n, "v = 1") for n in range(20)]).replaced == 1
    leave(engine)

    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == ["ann", *range(20)]


def test_a_long_log_becomes_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "_LONG_LOG", 10)
    with Engine.open(tmp_path / "engine", create=True) as engine:
        for n in range(35):
            engine.subscribe(n, f"v = {n % 3}")
        leave(engine)
        (log,) = (tmp_path / "engine").glob("log-*.wal")
        assert 0 < log.stat().st_size < 10 * 90

    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == list(range(35))
        assert opened.stats()["segments"] >= 1


def test_files_that_no_longer_count_are_swept(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", create=True) as engine:
        for n in range(6):
            engine.subscribe_many([(f"{n}-{k}", "v = 1") for k in range(20)])
            registry(engine).checkpoint()
        count = engine.stats()["segments"]

    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "engine").iterdir())
    assert names == ["current.json", "lock", "log", *["segment"] * count]


def test_an_empty_batch_and_an_unknown_id_leave_no_trace(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    assert engine.subscribe_many([]).subscribed == 0
    with pytest.raises(UnknownSubscription):
        engine.unsubscribe("nobody")
    leave(engine)

    with Engine.open(tmp_path / "engine") as opened:
        assert len(opened) == 0


def test_many_checkpoints_never_list_one_segment_for_another(tmp_path: Path) -> None:
    """Segments come and go between checkpoints; a new one may lie in memory where an old one lay."""
    model: Model = {}
    with Engine.open(tmp_path / "engine", create=True) as engine:
        for step in islice(operations(77, []), 300):
            write(engine, step)
            model = model_after(model, step)
            registry(engine).subscriptions.flush()

    with Engine.open(tmp_path / "engine") as opened:
        assert held(opened) == list(model.items())
        answers_as(opened, model)
