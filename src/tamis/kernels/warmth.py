"""Is the machine code of the kernels on disk? If not, their first calls wait for the compiler, half a minute in all.

Numba keeps the code of each file as long as that file's time and size stay the same. `mark` notes all of them beside
the code once everything was compiled, and `is_warm` asks whether the note still fits. Whoever compiles holds a lock and
says in its file how far it is, so that nobody compiles twice and those who wait can tell.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import llvmlite.binding
import numba
from numba.core import config

from tamis.kernels.numbering import sort_hashes

__all__ = ["Compiling", "compiling", "is_warm", "mark", "tell", "under_way"]

_MARK, _LOCK = "tamis.warm", "tamis.warming"


class Compiling(NamedTuple):
    """How far somebody is who compiles."""

    done: int
    of: int


def is_warm() -> bool:
    """Whether everything was compiled since a file of the kernels changed; nothing is, with the JIT off."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return True
    try:
        return (_folder() / _MARK).read_text() == _fingerprint()
    except OSError:
        return False


def mark() -> None:
    """Note that everything is compiled."""
    (_folder() / _MARK).write_text(_fingerprint())


@contextmanager
def compiling() -> Iterator[IO[str]]:
    """Hold the lock, once whoever else holds it is done. What `tell` writes meanwhile is what `under_way` says."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def tell(file: IO[str], progress: Compiling) -> None:
    """Write how far it is, into the file of `compiling`."""
    file.seek(0)
    file.truncate()
    file.write(f"{progress.done} {progress.of}\n")
    file.flush()


def under_way() -> Compiling | None:
    """How far somebody is who compiles now; None if nobody does."""
    try:
        with (_folder() / _LOCK).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                done, of = (file.read().split() or ["0", "1"])[:2]
                return Compiling(int(done), int(of))
    except (OSError, ValueError):
        pass
    return None


def _folder() -> Path:
    """Where Numba keeps machine code: beside the source, or in a folder of the user's if that may not be written to."""
    kept: Any = sort_hashes
    return Path(kept._cache.cache_path)


def _fingerprint() -> str:
    features = llvmlite.binding.get_host_cpu_features().flatten()
    parts = [numba.__version__, platform.python_version(), llvmlite.binding.get_host_cpu_name(), features]
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        found = path.stat()
        parts.append(f"{path.name} {found.st_mtime_ns} {found.st_size}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
