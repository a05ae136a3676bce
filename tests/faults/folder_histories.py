"""Histories of a durable folder: what is done, and what must be there after each step."""

from __future__ import annotations

import gc
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tamis import Engine, SegmentError
from tamis.segments.segment_registry import SegmentRegistry
from tests.faults.disk import Recorder, Stopped
from tests.segments.writer import Model, Operation, model_after, write

ENGINE, COPY = "engine", "copy"
LONG_LOG = 10
"""A batch of so many goes past the log, and a log of so many becomes segments."""

Allowed = list[Model | None]
"""What may be found; None if there may be no engine."""

SCRIPT: list[Operation] = [
    ("open", None),
    ("subscribe", [("ann", "v = 1")]),
    ("subscribe", [("bob", f"v = 1 and w != '{'x' * 1500}'")]),
    ("subscribe", [("ann", "v = 2")]),
    ("unsubscribe", "bob"),
    ("subscribe", [(n, f"v = {n}") for n in range(3)]),
    ("checkpoint", None),
    ("subscribe", [("eve", f"v < 3 or w = '{'y' * 700}'")]),
    ("leave", None),
    ("subscribe", [(n, f"v > {n}") for n in range(2, 2 + LONG_LOG)]),
    ("unsubscribe", 3),
    ("save", None),
    ("subscribe", [(4, "w = 'z'")]),
    ("save", None),
    ("close", None),
    ("subscribe", [("zoe", "v = 0")]),
    ("close", None),
]
"""Every kind of step at least once."""


def random_steps(seed: int, count: int) -> Iterator[Operation]:
    draw, ids = random.Random(seed), [*range(8), "é", "ann", "bob"]
    known: set[object] = set()
    yield "open", None
    for _ in range(count):
        verb = draw.choice(["one", "one", "one", "forget", "some", "many", "checkpoint", "leave", "close", "save"])
        if verb in ("one", "some", "many"):
            size = {"one": 1, "some": 3, "many": LONG_LOG}[verb]
            chosen = draw.sample(ids, size)
            known.update(chosen)
            padding = "x" * draw.choice((0, 0, 400, 1100, 3000))
            yield "subscribe", [(id, f"v = {draw.randrange(4)} and w != '{padding}{draw.random()}'") for id in chosen]
        elif verb == "forget" and known:
            id = draw.choice(sorted(known, key=str))
            known.discard(id)
            yield "unsubscribe", id
        elif verb != "forget":
            yield verb, None


class Mark(NamedTuple):
    """The step from one number of calls to another, and what is there before and after it."""

    step: Operation
    first: int
    last: int
    before: dict[str, Model | None]
    after: dict[str, Model | None]


class Player:
    """Plays a history on real folders under a recorder's base."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.path = recorder.base / ENGINE
        self.engine: Engine | None = None
        self.marks: list[Mark] = []
        self.held: dict[str, Model | None] = {ENGINE: None, COPY: None}

    def play(self, steps: list[Operation]) -> list[Mark]:
        with self.recorder.listening(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # a process that ends closes no files
            for step in steps:
                self._play(step)
            if self.engine is not None:
                leave(self.engine)
            if self.recorder.failed:
                gc.collect()
        return self.marks

    def _play(self, step: Operation) -> None:
        first, before = len(self.recorder.calls), dict(self.held)
        if step[0] == "unsubscribe" and step[1] not in (before[ENGINE] or {}):
            return  # it was to be subscribed by a step that failed
        after, failed = self._after(step), False
        try:
            self._do(step)
            self.held = after
        except (SegmentError, Stopped) as error:
            if not self.recorder.failed:
                raise
            failed = True
            self._go_on(step, isinstance(error, Stopped), after)
        last = len(self.recorder.calls)
        self.marks.append(Mark(step, first, last, before, after))
        if failed:
            self.marks.append(Mark(("failed", step), last, last, self.held, self.held))
        assert self.engine is not None
        assert items(self.engine) == self.held[ENGINE], f"memory after {step}, {self.recorder.failed}"

    def _after(self, step: Operation) -> dict[str, Model | None]:
        engine = self.held[ENGINE]
        if step[0] == "save":
            return self.held | {COPY: engine}
        return self.held | {ENGINE: model_after(engine or {}, step)}

    def _do(self, step: Operation) -> None:
        verb = step[0]
        if verb in ("leave", "close"):
            assert self.engine is not None
            leave(self.engine) if verb == "leave" else self.engine.close()
        if verb in ("open", "leave", "close"):
            self.engine = Engine.open(self.path, create=verb == "open")
        elif verb == "save":
            assert self.engine is not None
            self.engine.save(self.path.with_name(COPY))
        else:
            assert self.engine is not None
            write(self.engine, step)

    def _go_on(self, step: Operation, stopped: bool, after: dict[str, Model | None]) -> None:
        """After a failure all is as it was, unless the engine will not write on. Then, and after the end of a process,
        the folder is opened again, and what is found there, whichever it is, is there from then on."""
        self.recorder.revive()
        if stopped or self.engine is None or folder_closed(self.engine):
            if self.engine is not None:
                leave(self.engine)
            self.engine = Engine.open(self.path, create=step[0] == "open")
            found = items(self.engine)
            assert found in (self.held[ENGINE] or {}, after[ENGINE]), f"after {step}, {self.recorder.failed}"
            self.held = self.held | {ENGINE: found}
        if step[0] == "save" and self.path.with_name(COPY).joinpath("current.json").exists():
            copy = Engine.open(self.path.with_name(COPY))
            assert items(copy) in (self.held[COPY], after[COPY]), f"after {step}, {self.recorder.failed}"
            self.held = self.held | {COPY: items(copy)}
            leave(copy)


def allowed(marks: list[Mark], calls: int, folder: str) -> Allowed:
    """What may be found after the power was lost when so many calls were made."""
    for mark in marks:
        if calls < mark.last:
            return [mark.before[folder], mark.after[folder]]
    return [marks[-1].after[folder]]


def items(engine: Engine) -> Model:
    return dict(engine._registry.items())


def registry(engine: Engine) -> SegmentRegistry:
    assert isinstance(engine._registry, SegmentRegistry)
    return engine._registry


def leave(engine: Engine) -> None:
    """Go as a killed process goes: without a checkpoint."""
    folder = registry(engine)._folder
    assert folder is not None
    folder.close()


def folder_closed(engine: Engine) -> bool:
    folder = registry(engine)._folder
    assert folder is not None
    return folder.closed


def wrong(path: Path, expected: Allowed, *, go_on: bool = False) -> str | None:
    """What is wrong with a folder that was found; None if nothing is. `go_on` writes to it and opens it again."""
    try:
        engine = Engine.open(path)
    except SegmentError as error:
        if None not in expected or path.joinpath("current.json").exists():
            return f"cannot be opened: {error}"
        engine = Engine.open(path, create=True)
        found: Model | None = None if not items(engine) else {"something": "where nothing was made"}
    else:
        found = items(engine)
    try:
        if found not in expected and not (found == {} and None in expected):
            return (
                f"found {list(found or {})}, expected one of {[None if one is None else list(one) for one in expected]}"
            )
        engine.check()
        if go_on:
            engine.subscribe("later", "v = 1")
            leave(engine)
            engine = Engine.open(path)
            if items(engine) != {**(found or {}), "later": "v = 1"}:
                return "what was written afterwards is not there"
    finally:
        leave(engine)
    return None
