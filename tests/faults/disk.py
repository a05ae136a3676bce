"""A disk that may lose its power: the system calls under a folder are recorded, and from any beginning of them the
states are made in which a disk may be found afterwards.

What a disk promises, and no more. Bytes of a file are there after it was synced; of what was written since, each block
of 512 bytes is there or not, in any order, and where a file grew the rest is zeros or old bytes. A name is there, or
gone, after its folder was synced; of what was done to names since, each name may be at any of its steps. Only a rename
over a name is never seen half done. This is less than journaling file systems promise.
"""

from __future__ import annotations

import errno
import os
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

BLOCK = 512
FOLDER = -1
"""In the place of a file's number."""

Image = dict[str, bytes | None]
"""Paths and contents; None is a folder."""


class Call(NamedTuple):
    """A system call that changed something, or made it durable."""

    kind: str
    path: str = ""
    file: int = 0
    at: int = 0
    content: bytes = b""


# -- recording ----------------------------------------------------------------------------------------------------


class Stopped(BaseException):
    """The process ended here; what was not synced is in the system's memory."""


class Recorder:
    """Listens to `os` for what happens under `base`. It makes one call fail, or ends the process there: then no call
    does anything until `revive`. And it can be deaf to the syncs of a place in our code, as if they were forgotten."""

    def __init__(
        self,
        base: Path,
        *,
        fail_at: int | None = None,
        stop_at: int | None = None,
        error: int = errno.EIO,
        deaf_to: str = "",
    ) -> None:
        self.base = base
        self.calls: list[Call] = []
        self.count = 0
        """Of all calls, also those that leave no trace, such as opening a file to read it."""
        self.syncs: set[str] = set()
        """The places in our code that sync something."""
        self.failed = ""
        self._fail_at, self._stop_at, self._error, self._deaf_to = fail_at, stop_at, error, deaf_to
        self._real: dict[str, Callable[..., Any]] = {}
        self._files: dict[str, int] = {}
        self._handles: dict[int, tuple[str, int]] = {}

    @contextmanager
    def listening(self) -> Iterator[Recorder]:
        with pytest.MonkeyPatch.context() as patched:
            for name in ("open", "pwrite", "fsync", "fdatasync", "ftruncate", "replace", "unlink", "mkdir"):
                self._real[name] = getattr(os, name)
                patched.setattr(os, name, getattr(self, f"_{name}"))
            yield self

    def _within(self, path: object) -> str | None:
        try:
            return str(Path(os.fspath(path)).relative_to(self.base))  # type: ignore[call-overload]
        except (TypeError, ValueError):
            return None

    def _step(self, what: str) -> bool:
        """Whether this call is the one to fail."""
        self.count += 1
        if self._stop_at is not None and self.count >= self._stop_at:
            self.failed = self.failed or f"call {self.count}, {what} in {place()}"
            raise Stopped
        if self.count != self._fail_at:
            return False
        self.failed = f"call {self.count}, {what} in {place()}"
        return True

    def revive(self) -> None:
        self._stop_at = None

    def _refuse(self) -> OSError:
        return OSError(self._error, os.strerror(self._error))

    def _open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        name = self._within(path)
        if name is None:
            return int(self._real["open"](path, flags, mode, **more))
        if self._step(f"open {name}"):
            raise self._refuse()
        known = name in self._files or os.path.lexists(path)
        handle = int(self._real["open"](path, flags, mode, **more))
        if flags & os.O_DIRECTORY:
            self._handles[handle] = (name, FOLDER)
            return handle
        if not known:
            self._files[name] = len(self.calls) + 1
            self.calls.append(Call("create", name, self._files[name]))
        elif flags & os.O_TRUNC:
            self.calls.append(Call("truncate", name, self._files[name]))
        self._handles[handle] = (name, self._files.get(name, 0))
        return handle

    def _pwrite(self, handle: int, content: Any, at: int) -> int:
        name, file = self._handles.get(handle, ("", 0))
        fails = bool(file) and self._step(f"write {name}")
        part = bytes(content)[: len(content) // 2] if fails else bytes(content)
        written = int(self._real["pwrite"](handle, part, at))
        if file:
            self.calls.append(Call("write", name, file, at, part[:written]))
        if fails:
            raise self._refuse()
        return written

    def _fsync(self, handle: int, how: str = "fsync") -> None:
        name, file = self._handles.get(handle, ("", 0))
        if file:
            if self._step(f"{how} {name}"):
                raise self._refuse()
            where = place()
            self.syncs.add(where)
            if where != self._deaf_to:
                self.calls.append(Call("sync folder" if file == FOLDER else "sync", name, file))
        if not file:
            self._real[how](handle)

    def _fdatasync(self, handle: int) -> None:
        self._fsync(handle, "fdatasync")

    def _ftruncate(self, handle: int, size: int) -> None:
        name, file = self._handles.get(handle, ("", 0))
        if file and self._step(f"truncate {name}"):
            raise self._refuse()
        self._real["ftruncate"](handle, size)
        if file:
            self.calls.append(Call("truncate", name, file, size))

    def _replace(self, source: Any, target: Any, **more: Any) -> None:
        old, new = self._within(source), self._within(target)
        if old is not None and new is not None:
            if self._step(f"rename {old}"):
                raise self._refuse()
            self._files[new] = self._files.pop(old)
            self.calls.append(Call("rename", old, self._files[new], content=new.encode()))
        self._real["replace"](source, target, **more)

    def _unlink(self, path: Any, **more: Any) -> None:
        name = self._within(path)
        if name is not None and self._step(f"unlink {name}"):
            raise self._refuse()
        self._real["unlink"](path, **more)
        if name is not None:
            self._files.pop(name, None)
            self.calls.append(Call("unlink", name))

    def _mkdir(self, path: Any, mode: int = 0o777, **more: Any) -> None:
        name = self._within(path)
        if name is not None and self._step(f"mkdir {name}"):
            raise self._refuse()
        self._real["mkdir"](path, mode, **more)
        if name is not None:
            self.calls.append(Call("mkdir", name, FOLDER))


def place() -> str:
    """The two innermost functions of ours that are under way, the inner one first."""
    frame, names = sys._getframe(1), []
    while frame is not None and len(names) < 2:
        if "/tamis/" in frame.f_code.co_filename and "<" not in frame.f_code.co_name:
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back  # type: ignore[assignment]
    return " in ".join(names)


# -- what is left -------------------------------------------------------------------------------------------------


@dataclass
class _File:
    """Bytes that are on disk, and what was done since."""

    durable: bytes = b""
    since: list[Call] = field(default_factory=list)


class Disk:
    """What calls come to: the state when all is well, and the states after a loss of power."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = defaultdict(_File)
        self._names: dict[str, list[int]] = defaultdict(lambda: [0])
        """Of each name the file it had when its folder was synced, and all it had since; 0 is none."""

    def follow(self, call: Call) -> None:
        kind, path, file = call.kind, call.path, call.file
        if kind in ("create", "mkdir"):
            self._names[path].append(file)
        elif kind in ("write", "truncate"):
            self._files[file].since.append(call)
        elif kind == "sync":
            self._files[file] = _File(_after(self._files[file], _everything))
        elif kind == "rename":
            self._names[call.content.decode()].append(file)
            self._names[path].append(0)
        elif kind == "unlink":
            self._names[path].append(0)
        elif kind == "sync folder":
            for name, steps in self._names.items():
                if str(Path(name).parent) == path:
                    del steps[:-1]

    def now(self) -> Image:
        return self._image({name: steps[-1] for name, steps in self._names.items()}, _everything)

    def after_power_loss(self, draw: random.Random, old: bytes, more: int) -> Iterator[Image]:
        """Nothing, everything, names without bytes, bytes without names or without cuts; one name that is behind the
        others, or ahead of them; then so many states drawn at random."""
        first = {name: steps[0] for name, steps in self._names.items()}
        last = {name: steps[-1] for name, steps in self._names.items()}
        for names in (first, last):
            for choose in (_nothing, _everything, _uncut):
                yield self._image(names, choose)
        unsure = [name for name in first if first[name] != last[name]]
        for name in unsure if len(unsure) > 1 else []:
            yield self._image(last | {name: first[name]}, _everything)
            yield self._image(first | {name: last[name]}, _everything)
        for _ in range(more):
            drawn = {name: draw.choice(steps) for name, steps in self._names.items()}
            chance = draw.choice((0.1, 0.5, 0.9))
            chooser = _Chooser(lambda _, chance=chance: draw.random() < chance, draw.choice((b"", old)))
            yield self._image(draw.choice((first, last, drawn)), chooser)

    def _image(self, chosen: dict[str, int], choose: _Chooser) -> Image:
        found: Image = {}
        for name in sorted(chosen):
            parent = str(Path(name).parent)
            if chosen[name] and (parent == "." or parent in found):
                file = chosen[name]
                found[name] = None if file == FOLDER else _after(self._files[file], choose)
        return found


class _Chooser(NamedTuple):
    """Which steps reached the disk, and what stands where a file grew and nothing was written."""

    chosen: Callable[[Call], bool]
    old: bytes


_nothing, _everything = _Chooser(lambda _: False, b""), _Chooser(lambda _: True, b"")
_uncut = _Chooser(lambda call: call.kind != "truncate", b"")


def _after(file: _File, choose: _Chooser) -> bytes:
    content = bytearray(file.durable)
    for call in file.since:
        if call.kind == "truncate":
            if choose.chosen(call):
                _resize(content, call.at, choose.old)
            continue
        end = call.at + len(call.content)
        for first in range(call.at - call.at % BLOCK, end, BLOCK):
            start, stop = max(first, call.at), min(first + BLOCK, end)
            if choose.chosen(call):
                _resize(content, max(len(content), stop), choose.old)
                content[start:stop] = call.content[start - call.at : stop - call.at]
        if choose.chosen(call):  # the file's length may be on disk where its bytes are not
            _resize(content, max(len(content), end), choose.old)
    return bytes(content)


def _resize(content: bytearray, size: int, old: bytes) -> None:
    more = size - len(content)
    if more > 0:
        content += old[len(content) : size].ljust(more, b"\0")
    else:
        del content[size:]


def make(image: Image, base: Path) -> None:
    """Put a state on a real disk."""
    base.mkdir()
    for name, content in sorted(image.items()):
        if content is None:
            (base / name).mkdir()
        else:
            (base / name).write_bytes(content)
