"""Nothing grows over cycles of use: descriptors, threads and live objects exactly, memory by the block.

Memory is counted where it is given out: Python's blocks, Arrow's pool, and what glibc has lent. A cycle that leaks does
so in every stretch of cycles, while caches that fill and noise of other threads show in some; so of several stretches
the one that grew least is looked at.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from tamis import Engine, TamisError
from tamis.segments import merging
from tamis.segments import segment_registry as registries

EVENTS = [{"v": v, "tag": f"t{v % 3}"} for v in range(40)]
KEPT = [(n, f"v < {n} and tag = 't{n % 3}'") for n in range(60)]
STRETCHES = 4

Cycle = Callable[[Path], object]


class Held(NamedTuple):
    """What the process holds."""

    descriptors: int
    threads: int
    blocks: int
    arrow_bytes: int
    lent_bytes: int
    objects: Counter[str]


class _Lent(ctypes.Structure):
    """glibc's `mallinfo2`."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                          "fsmblks", "uordblks", "fordblks", "keepcost"))  # fmt: skip


def held() -> Held:
    gc.collect()
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Lent
    lent = mallinfo()
    kinds = map(type, gc.get_objects())
    ours = Counter(kind.__name__ for kind in kinds if str(kind.__module__).startswith("tamis."))
    return Held(
        len(list(Path("/proc/self/fd").iterdir())),
        len(sys._current_frames()),
        sys.getallocatedblocks(),
        pa.total_allocated_bytes(),
        lent.uordblks + lent.hblkhd,
        ours,
    )


def growth(cycle: Cycle, path: Path, cycles: int) -> Held:
    """The least growth over a stretch of so many cycles, after one that does not count."""
    for _ in range(cycles):
        cycle(path)
    grown = [_stretch(cycle, path, cycles) for _ in range(STRETCHES)]
    nothing = _stretch(lambda _: None, path, cycles)  # what counting itself keeps
    numbers = (min(one[at] for one in grown) - nothing[at] for at in range(5))  # type: ignore[operator,type-var]
    return Held(*numbers, min((one.objects for one in grown), key=Counter.total))  # type: ignore[arg-type]


def _stretch(cycle: Cycle, path: Path, cycles: int) -> Held:
    before = held()
    for _ in range(cycles):
        cycle(path)
    after = held()
    numbers = (after[at] - before[at] for at in range(5))  # type: ignore[operator]
    return Held(*numbers, after.objects - before.objects)


def filled(engine: Engine) -> Engine:
    engine.subscribe_many(KEPT)
    return engine


def open_and_close(path: Path) -> None:
    with Engine.open(path / "kept", create=True) as engine:
        engine.subscribe(1, "v < 7")
        engine.match(EVENTS[0])


def left_to_the_collector(path: Path) -> None:
    engine = Engine.open(path / "left", create=True)
    engine.subscribe(1, "v < 7")


def write_and_merge(path: Path) -> None:
    engine = filled(Engine())
    for n in range(70):
        engine.subscribe(n, f"v = {n}")
        engine.match(EVENTS[0])
    for n in range(50):
        engine.unsubscribe(n)
    engine._registry.subscriptions.finish_merging()  # type: ignore[attr-defined]
    engine.observe(EVENTS)


def ask(engine: Engine, path: Path) -> None:
    engine.match_many(EVENTS, threads=2).to_arrow()
    list(engine.match_many(EVENTS))
    engine.count_many(pa.Table.from_pylist(EVENTS))
    for event in EVENTS[:5]:
        engine.match(event)


def failing(engine: Engine, path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: engine.subscribe(1, "v <"),
        lambda: engine.subscribe_many([(1, "v < 2"), (2, "v < 'a' and v < 2 and")]),
        lambda: engine.unsubscribe("nobody"),
        lambda: engine.match({"v": object()}),
        lambda: engine.match_many([{"v": float("nan")}]),
        lambda: Engine.open(path / "no folder"),
        lambda: engine.save(path / "no folder" / "below"),
    ]
    for call in calls:
        with pytest.raises(TamisError):
            call()


def save_and_open(engine: Engine, path: Path) -> None:
    engine.save(path / "saved")
    with Engine.open(path / "saved") as opened:
        assert len(opened) == len(KEPT)
    opened = Engine.open(path / "saved", algorithm="counting-lists")
    opened.save(path / "one file")
    assert len(Engine.open(path / "one file")) == len(KEPT)


def on(cycle: Callable[[Engine, Path], None]) -> Cycle:
    engine = filled(Engine())
    return lambda path: cycle(engine, path)


CYCLES: dict[str, Callable[[], Cycle]] = {
    "open and close": lambda: open_and_close,
    "left to the collector": lambda: left_to_the_collector,
    "write and merge": lambda: write_and_merge,
    "ask": lambda: on(ask),
    "failing calls": lambda: on(failing),
    "save and open": lambda: on(save_and_open),
}


def judge(found: Held, cycles: int) -> list[str]:
    """What grew. Each kernel that is handed a named tuple keeps some blocks of Python's until it was called about two
    thousand times, and none from then on (Numba 0.68): so a few of them are allowed, a kilobyte per cycle."""
    allowed = {"descriptors": 0, "threads": 0, "blocks": 16 * cycles, "arrow_bytes": 0, "lent_bytes": 1024 * cycles}
    wrong = [f"{name}: {getattr(found, name):,}" for name, most in allowed.items() if getattr(found, name) > most]
    return wrong + ([f"objects: {dict(found.objects)}"] if found.objects else [])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "_LONG_LOG", 50)
    monkeypatch.setattr(merging, "QUICK", 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", CYCLES)
def test_nothing_grows_over_cycles(name: str, tmp_path: Path) -> None:
    cycles = 8

    assert judge(growth(CYCLES[name](), tmp_path, cycles), cycles) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CYCLES)
def test_nothing_grows_over_many_cycles(name: str, tmp_path: Path) -> None:
    cycles = 300

    assert judge(growth(CYCLES[name](), tmp_path, cycles), cycles) == []


def test_a_leak_would_be_seen(tmp_path: Path) -> None:
    kept: list[object] = []
    leaks: dict[str, Cycle] = {
        "descriptors": lambda path: kept.append(os.dup(1)),
        "arrow_bytes": lambda path: kept.append(pa.array(range(100))),
        "lent_bytes": lambda path: kept.append(bytearray(5_000)),
        "blocks": lambda path: kept.extend(object() for _ in range(40)),
        "objects": lambda path: kept.append(Engine(algorithm="naive")),
    }
    for name, leak in leaks.items():
        assert any(line.startswith(name) for line in judge(growth(leak, tmp_path, 8), 8)), name
        for one in kept:
            if isinstance(one, int):
                os.close(one)
        kept.clear()
