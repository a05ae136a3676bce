"""A folder looked at from top to bottom, and copied without what is damaged. Neither alters anything in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tamis.errors import SegmentError, UnknownSubscription
from tamis.segments.keep.current import NAME, Current, read_current
from tamis.segments.keep.folder import Folder, log_bytes, written
from tamis.segments.keep.log import read_log, salvage
from tamis.segments.keep.segment_file import open_listed
from tamis.segments.segment_registry import SegmentRegistry
from tamis.store.findings import Findings

__all__ = ["check_folder", "repair_folder"]


def check_folder(path: Path) -> Findings:
    """Every sum, every invariant, each file; then all of it together, as an engine opens it."""
    found = Findings()
    with found.looking(path / NAME):
        current = read_current(path)
        _check_files(path, current, found)
        if found.whole:
            with found.looking(path):
                registry = _opened(path)
                registry.check()
                found.notes.append(f"{path}: checkpoint {current.number}, {len(registry):,} subscriptions")
    return found


def _check_files(path: Path, current: Current, found: Findings) -> None:
    for listed in current.segments:
        with found.looking(path / listed.file):
            segment = open_listed(path, listed, current.schema)
            segment.check()
            found.notes.append(f"{path / listed.file}: {len(segment):,} subscriptions, {len(segment.buried()):,} dead")
    with found.looking(path / current.log):
        log = read_log(log_bytes(path, current), current.generation, path / current.log)
        found.notes.append(f"{path / current.log}: {len(log.records):,} writes since the checkpoint")
        if log.torn:
            found.notes.append(
                f"{path / current.log}: its last {log.torn:,} bytes, from byte {log.end:,} on, are of a write that "
                "never returned; opening drops them"
            )
    kept = {NAME, "lock", current.log, *(listed.file for listed in current.segments)}
    spare = [one.name for one in path.iterdir() if one.name not in kept]
    if spare:
        found.notes.append(f"{path}: {len(spare)} files do not count, such as {min(spare)}")


def _opened(path: Path) -> SegmentRegistry:
    folder = Folder(path, read_only=True)
    try:
        return SegmentRegistry(folder.schema, folder=folder)
    finally:
        folder.close()


def repair_folder(path: Path, to: Path) -> Findings:
    """Write a new folder with what is whole: segments, and the writes of the log. `damage` tells what it lacks.

    A write is left out if its record is damaged, and those behind it are not: each says all of its own ids. Without
    the list, `current.json`, nothing can be told; that is a `SegmentError`.
    """
    current, found = read_current(path), Findings()
    registry = SegmentRegistry(current.schema, current.statistics)
    for listed in current.segments:
        with found.looking(path / listed.file):
            segment = open_listed(path, listed, current.schema)
            segment.check()
            registry.subscriptions.adopt(segment)
    _repeat(path, current, registry, found)
    registry.check()
    registry.save(to, current.mode)
    found.notes.append(f"{to}: {len(registry):,} subscriptions")
    return found


def _repeat(path: Path, current: Current, registry: SegmentRegistry, found: Findings) -> None:
    """The log's writes again, as far as they are whole."""
    with found.looking(path / current.log):
        content = log_bytes(path, current)
        try:
            read_log(content, current.generation, path / current.log)
        except SegmentError as error:
            found.damage.append(str(error))
        missed: list[int] = []
        last = 0
        for record in salvage(content, current.generation):
            missed += range(last + 1, record.sequence)
            last = record.sequence
            for verb, id, text in written(content[record.start : record.end]):
                with suppress(UnknownSubscription):  # what it had was in a segment, or a record, that is lost
                    registry.subscribe(id, text) if verb == "s" else registry.unsubscribe(id)
        if missed:
            listed = ", ".join(map(str, missed[:10])) + (", …" if len(missed) > 10 else "")
            found.damage.append(f"{path / current.log}: of {last:,} writes these are lost: {listed}")
