"""What a start finds, and makes of it: the log is the truth, the rest is taken if it fits or else made anew.

log.db         the log
derived.db     blocks and index; of another log, or past the end of this one, it is discarded
checkpoint/    the engine's segments as of a mark, never past `reached`; beside it `handles.bin` of the same mark
lock           held by the one process that has the folder open
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tamis.errors import OptionError, SegmentError
from tamis.model import Schema
from tamis.segments.keep.folder import Folder
from tamis.segments.segment_registry import SegmentRegistry
from tamis.service.blocks import Block
from tamis.service.changes import Change
from tamis.service.commit import Standing
from tamis.service.feed_index import CHUNK_BITS, LEVELS, FeedIndex, unpacked
from tamis.service.handles import NEVER, Handles
from tamis.service.matcher import Matcher, subscribe
from tamis.service.settings import Settings
from tamis.store.atomic import PRIVATE, open_file, why
from tamis.store.derived import Derived, State
from tamis.store.log import EPOCH, Log, Meta
from tamis.store.sqlite import Touch

__all__ = ["Recovered", "recover", "take_lock"]

_AT_ONCE = 100_000


@dataclass
class Recovered:
    log: Log
    derived: Derived
    standing: Standing
    matcher: Matcher
    schemas: dict[int, Schema]


def take_lock(folder: Path) -> io.FileIO:
    """Make the folder if need be, and hold it; `SegmentError` if another process does."""
    try:
        folder.mkdir(PRIVATE, parents=True, exist_ok=True)
        lock = open_file(folder / "lock", os.O_RDWR | os.O_CREAT)
    except (OSError, ValueError) as error:
        raise SegmentError(f"cannot write here: {why(error)}", str(folder)) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise SegmentError("another service holds this folder open", str(folder)) from None
    return lock


def recover(
    folder: Path, schema: Schema | None, settings: Settings, random: Callable[[int], bytes], touch: Touch
) -> Recovered:
    """Open what is there, or make it."""
    log = Log(folder / "log.db", touch)
    try:
        standing, schemas = _standing(log, schema, random)
        meta = standing.meta
        derived = Derived.open(folder / "derived.db", State(meta.made, meta.epoch, meta.tail), touch)
        try:
            matcher = _matcher(folder, log, derived, standing, settings)
        except BaseException:
            derived.close()
            raise
    except BaseException:
        log.close()
        raise
    return Recovered(log, derived, standing, matcher, schemas)


def _standing(log: Log, schema: Schema | None, random: Callable[[int], bytes]) -> tuple[Standing, dict[int, Schema]]:
    if log.meta() is None:
        first = schema if schema is not None else Schema(open=True)
        log.begin(Meta(0, 0, 0, 0, 0, random(16).hex()), first.dumps())
    meta = log.meta()
    assert meta is not None
    schemas = {version: Schema.loads(toml) for version, _, toml in log.schemas()}
    version = max(schemas)
    newest = schemas[version]
    if schema is not None and schema not in schemas.values():
        raise OptionError("the service was made with another schema; leave it out, and extend the one it has")
    return Standing(meta, newest, version), schemas


def _matcher(folder: Path, log: Log, derived: Derived, standing: Standing, settings: Settings) -> Matcher:
    meta = standing.meta
    state = derived.state()
    reached = meta.epoch * EPOCH if state is None else state.reached
    found = _from_checkpoint(folder, meta, reached)
    if found is None:
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)
        (folder / "handles.bin").unlink(missing_ok=True)
        registry, handles, mark = _from_rows(folder, log, reached)
    else:
        registry, handles, mark = found
    matcher = Matcher((log, derived), registry, (handles, FeedIndex(reached)), settings)
    matcher.feed_room(meta.feed)
    _catch_up(matcher, log, mark, reached)
    _fill(matcher.index, derived, matcher.handles)
    return matcher


def _from_checkpoint(folder: Path, meta: Meta, reached: int) -> tuple[SegmentRegistry, Handles, int] | None:
    """The engine as of its mark, if that is there, whole, of this log, and not past what was reached."""
    if not (folder / "checkpoint").exists():
        return None
    try:
        kept = Folder(folder / "checkpoint", marked=True)
        try:
            registry = SegmentRegistry(kept.schema, folder=kept, verify="structure")
        except BaseException:
            kept.close()
            raise
    except SegmentError:
        return None
    mark = registry.mark or 0
    handles = Handles.load(folder / "handles.bin", meta.made, mark) if mark <= reached else None
    if handles is None:
        registry.close()
        return None
    return registry, handles, mark


def _from_rows(folder: Path, log: Log, reached: int) -> tuple[SegmentRegistry, Handles, int]:
    """Whoever lives at `reached`, read from the log's rows."""
    toml = max((one for one in log.schemas() if one[1] <= reached), key=lambda one: one[0])[2]
    schema = Schema.loads(toml)
    registry = SegmentRegistry(schema, folder=Folder(folder / "checkpoint", schema, create=True, marked=True))
    handles = Handles()
    after = -1
    while rows := log.versions(after, _AT_ONCE):
        columns = np.array([(*row[:3], NEVER if row[3] is None else row[3]) for row in rows], np.int64).T
        handles.add(*columns)
        after = rows[-1][0]
    after = -1
    while living := log.expressions(after, reached, _AT_ONCE):
        subscribe(registry, living)
        after = living[-1][0]
    return registry, handles, reached


def _catch_up(matcher: Matcher, log: Log, mark: int, reached: int) -> None:
    """What changed between the mark and `reached`."""
    changes: list[tuple[int, Change]] = []
    for record in log.changes(mark, reached):
        if record.codec == "change":
            changes.append((record.first, Change.loads(record.body)))
            continue
        matcher.bury(matcher.apply(changes))
        changes = []
        matcher.registry.grow(Schema.loads(record.body.decode()))
    matcher.bury(matcher.apply(changes))


def _fill(index: FeedIndex, derived: Derived, handles: Handles) -> None:
    """The nodes that `reached` lies in, from what was written below them."""
    nodes = index.seen
    for level in range(1, LEVELS):
        first = nodes.numbers(level) << CHUNK_BITS
        for row in derived.nodes_of(level - 1, first, nodes.numbers(level - 1) - 1):
            index.mark(level, unpacked(row.data)[0], row.range)
    for begin, _ in derived.block_spans(nodes.number << 2 * CHUNK_BITS, nodes.reached):
        block = Block.unpacked(derived.block(begin))
        index.restore(block, handles.feed_of[block.handles])
    index.publish()
