"""The folder on a disk that loses its power, or fails, at every call in turn.

A history is played once and its system calls recorded. For every beginning of them the states are made that a disk may
be found in (`disk.py`), and each is opened: what was acknowledged is there, and the one call that was under way has
taken place wholly or not at all.
"""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tamis.segments import segment_registry as registries
from tests.faults.disk import Disk, Image, Recorder, make
from tests.faults.folder_histories import COPY, ENGINE, LONG_LOG, SCRIPT, Mark, Player, allowed, random_steps, wrong
from tests.segments.writer import Operation

SEED = 20261118
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "_LONG_LOG", LONG_LOG)


class Trials:
    """States found after a loss of power; each different one is opened once."""

    def __init__(self, tmp_path: Path, seed: int = SEED, *, first_only: bool = False) -> None:
        self.first_only = first_only
        self.tmp_path = tmp_path
        self.draw = random.Random(seed)
        self.seed = seed
        self.tried = 0
        self.wrong: list[str] = []
        self._seen: set[int] = set()

    def record(self, steps: list[Operation], **how: object) -> tuple[Recorder, list[Mark]]:
        base = self.tmp_path / "live"
        shutil.rmtree(base, ignore_errors=True)
        base.mkdir()
        recorder = Recorder(base, **how)  # type: ignore[arg-type]
        return recorder, Player(recorder).play(steps)

    def at_every_call(self, recorder: Recorder, marks: list[Mark], more: int, most: int | None = None) -> None:
        """The states after every call, or after a sample of them, with so `more` drawn at random."""
        last = len(recorder.calls)
        chosen = range(last + 1) if most is None else self.draw.sample(range(last + 1), min(most, last + 1))
        self.at_calls(recorder, marks, chosen, more)

    def after_the_fault(self, recorder: Recorder, marks: list[Mark], more: int = 1) -> None:
        """The states after the step in which a call failed or the process ended, and after the next two."""
        failed = next((at for at, mark in enumerate(marks) if mark.step[0] == "failed"), len(marks))
        chosen = {mark.last for mark in marks[failed : failed + 3]}
        self.at_calls(recorder, marks, chosen | {at - 1 for at in chosen if at}, more)

    def at_calls(self, recorder: Recorder, marks: list[Mark], chosen: Iterable[int], more: int) -> None:
        last, disk, old, chosen = len(recorder.calls), Disk(), _old_bytes(recorder), set(chosen)
        for calls in range(last + 1):
            if calls in chosen and not (self.first_only and self.wrong):
                for image in disk.after_power_loss(self.draw, old, more):
                    self._look(image, marks, calls)
            if calls < last:
                disk.follow(recorder.calls[calls])

    def _look(self, image: Image, marks: list[Mark], calls: int) -> None:
        for folder in (ENGINE, COPY):
            expected = allowed(marks, calls, folder)
            part = {name: content for name, content in image.items() if Path(name).parts[0] == folder}
            key = hash((folder, repr(expected), tuple(part.items())))
            if key in self._seen or (not part and expected == [None, None]):
                continue
            self._seen.add(key)
            self.tried += 1
            base = self.tmp_path / "found"
            shutil.rmtree(base, ignore_errors=True)
            make(part, base)
            reason = wrong(base / folder, expected, go_on=self.tried % 5 == 0)
            if reason is not None:
                under_way = next((mark.step for mark in marks if calls < mark.last), "nothing")
                self.wrong.append(f"{folder} after {calls} calls, {str(under_way)[:80]} under way: {reason}")

    def report(self) -> str:
        return f"{len(self.wrong)} of {self.tried} wrong, seed {self.seed}\n" + "\n".join(self.wrong[:30])


def _old_bytes(recorder: Recorder) -> bytes:
    """What an earlier log of the folder had, at the same places: bytes that a new one must not take for its own."""
    logs = [call.path for call in recorder.calls if call.kind == "create" and call.path.endswith(".wal")]
    content = bytearray()
    for call in recorder.calls:
        if call.kind == "write" and call.path == logs[0]:
            content[call.at : call.at + len(call.content)] = call.content
    return bytes(content) * 20


def test_what_is_recorded_is_all_that_is_done(tmp_path: Path) -> None:
    recorder, _ = Trials(tmp_path).record(SCRIPT)
    disk = Disk()
    for call in recorder.calls:
        disk.follow(call)

    real = {
        str(path.relative_to(recorder.base)): None if path.is_dir() else path.read_bytes()
        for path in recorder.base.rglob("*")
    }
    assert disk.now() == real
    assert len(recorder.calls) > 100


def test_what_was_acknowledged_is_there_after_a_loss_of_power_at_every_call(tmp_path: Path) -> None:
    trials = Trials(tmp_path)
    trials.at_every_call(*trials.record(SCRIPT), more=1, most=45)

    assert not trials.wrong, trials.report()
    assert trials.tried > 60


def test_random_histories_survive_a_loss_of_power(tmp_path: Path) -> None:
    trials = Trials(tmp_path)
    for seed in (1, 2):
        trials.at_every_call(*trials.record(list(random_steps(seed, 20))), more=3, most=10)

    assert not trials.wrong, trials.report()
    assert trials.tried > 30


SYNCS = (
    "Log.append in Folder.append",
    "Log.create in Folder._new_log",
    "sync_folder in Folder._make",
    "sync_folder in Folder._new_log",
    "sync_folder in write_atomically",
    "write_atomically in _write",
    "write_atomically in write_current",
)


SYNCS_AFTER_FAULTS = ("sync_folder in Folder.replay", "Log._cut in finish", "Log.open in Folder.replay")
"""Those that matter only when a call failed or a process ended before."""


@pytest.mark.parametrize("forgotten", SYNCS)
def test_a_sync_that_is_forgotten_is_noticed(tmp_path: Path, forgotten: str) -> None:
    trials = Trials(tmp_path, first_only=True)
    recorder, marks = trials.record(SCRIPT, deaf_to=forgotten)
    trials.at_every_call(recorder, marks, more=0)

    assert recorder.syncs == {*SYNCS, *SYNCS_AFTER_FAULTS[:1]}
    assert trials.wrong


ERRORS = (errno.EIO, errno.ENOSPC)


def with_a_fault(trials: Trials, steps: list[Operation], kind: str, calls: Iterable[int], **how: object) -> set[str]:
    """Play the steps with a fault at each of these calls, and look at what a loss of power leaves; where we synced."""
    syncs: set[str] = set()
    for call in calls:
        if trials.first_only and trials.wrong:
            break
        recorder, marks = trials.record(steps, **{kind: call}, error=ERRORS[call % 2], **how)
        trials.after_the_fault(recorder, marks)
        syncs |= recorder.syncs
    return syncs


@pytest.mark.parametrize("kind", ["fail_at", "stop_at"])
def test_after_a_call_that_fails_or_is_the_last_nothing_is_lost_and_nothing_comes_back(
    tmp_path: Path, kind: str
) -> None:
    trials = Trials(tmp_path)
    count = trials.record(SCRIPT)[0].count
    with_a_fault(trials, SCRIPT, kind, trials.draw.sample(range(1, count + 1), 6))

    assert not trials.wrong, trials.report()
    assert trials.tried > 40


APPEND = [*SCRIPT[:2], ("checkpoint", None), *SCRIPT[1:4]]


@pytest.mark.parametrize(
    ("forgotten", "kind"), list(zip(SYNCS_AFTER_FAULTS, ("stop_at", "fail_at", "stop_at"), strict=True))
)
def test_a_sync_that_is_forgotten_after_a_fault_is_noticed(tmp_path: Path, forgotten: str, kind: str) -> None:
    trials = Trials(tmp_path, first_only=True)
    count = trials.record(APPEND)[0].count
    syncs = with_a_fault(trials, APPEND, kind, range(10, count + 1), deaf_to=forgotten)

    assert forgotten in syncs
    assert trials.wrong


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["power", "fail_at", "stop_at"])
def test_histories_for_long(tmp_path: Path, kind: str) -> None:
    trials = Trials(tmp_path)
    for steps in (SCRIPT, *(list(random_steps(seed, 25)) for seed in range(100, 112))):
        recorder, marks = trials.record(steps)
        if kind == "power":
            trials.at_every_call(recorder, marks, more=6)
        else:
            with_a_fault(trials, steps, kind, range(1, recorder.count + 1))
    print(f"{kind}: {trials.tried} states, {len(trials.wrong)} wrong")

    assert not trials.wrong, trials.report()
