"""Update: inserts, replacements and deletes as a new version; and the removal of what no version needs."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.batches.refusals import OnError, check_on_error
from tamis.errors import OptionError, WriteConflict
from tamis.model.values import show_raw
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import IndexPath, check_frame, path_text
from tamis.spark.steps.compaction import compact, needs_compaction
from tamis.spark.steps.event_frames import check_batch
from tamis.spark.steps.indexing import FOLDERS, Commit, entries, finish, subscriptions_of, write_segments
from tamis.spark.versions.holding import HOLDS, held
from tamis.spark.versions.manifest import FOLDER, Entry, Manifest, latest, manifest_path, read_manifest, versions
from tamis.spark.versions.storage import root_of, storage
from tamis.spark.workers.building import LISTED, MARKED, Mark, WriteIds

__all__ = ["update", "vacuum"]

_log = logging.getLogger("tamis.spark")


def update(path: IndexPath, changes: DataFrame, *, on_error: OnError = "collect") -> Commit:
    """A new version with the changes (`id`, `expression`): an expression inserts or replaces, null deletes.

    New subscriptions become new segments; old segments stay as they are, with a list of the rows that are gone. A
    change that cannot be read changes nothing, and what its id had before stays; `on_error` is as for `index`. To
    delete an unknown id is no error. When many updates have worn the index, a version that says the same in fewer
    segments follows (`compact`).
    """
    check_frame(changes, "changes")
    check_on_error(on_error)
    check_batch(changes, "update")
    path = path_text(path)
    place = storage(path)
    before = latest(place, writing=True)
    if before is None:
        raise OptionError(f"{path}: expected an index to update, found none")
    known = subscriptions_of(changes)
    found = known.schema[ID].dataType.simpleString()
    if found != before.id_type:
        raise OptionError(f"{path}: the index has ids of type {before.id_type}, the changes of type {found}")
    built = write_segments(known.filter(F.col(EXPRESSION).isNotNull()), path, before)
    fresh = entries(built)
    with told():
        lists = _write_deleted(known, path, before.mode)
        marks = _mark(changes, path, before, fresh, lists)
    kept = tuple(one for one in (_marked(entry, marks) for entry in before.segments) if one is not None)
    manifest = replace(before, version=before.version + 1, segments=(*kept, *fresh), rejected=(), rejected_count=0)
    done = finish(place, path, manifest, built, on_error)
    for name, _ in lists:
        place.delete(name)
    fewer = before.subscriptions + sum(one.subscriptions for one in fresh) - manifest.subscriptions
    if needs_compaction(manifest):
        done = _compacted(path, done)
    return done._replace(removed=fewer)


def _compacted(path: str, done: Commit) -> Commit:
    """The changes stand already: whoever writes at the same time may go first."""
    try:
        return compact(path)._replace(rejected=done.rejected)
    except WriteConflict as error:
        _log.info("%s: not compacted now: %s", path, error)
        return done


def _write_deleted(changes: DataFrame, path: str, mode: int) -> tuple[tuple[str, str], ...]:
    """Files that list the ids, and their sums."""
    deleted = changes.filter(F.col(EXPRESSION).isNull() & F.col(ID).isNotNull()).select(ID)
    written = deleted.mapInArrow(WriteIds(root_of(path, mode)), LISTED).collect()
    return tuple((row.path, row.checksum) for row in written)


def _mark(
    changes: DataFrame, path: str, before: Manifest, fresh: tuple[Entry, ...], lists: tuple[tuple[str, str], ...]
) -> dict[str, Row]:
    if not before.segments or not (fresh or lists):
        return {}
    numbers = changes.sparkSession.range(len(before.segments))
    mark = Mark(root_of(path, before.mode), before, fresh, lists)
    return {row.path: row for row in numbers.mapInArrow(mark, MARKED).collect()}


def _marked(entry: Entry, marks: dict[str, Row]) -> Entry | None:
    """The segment without what is gone; None if nothing is left of it."""
    if entry.path not in marks:
        return entry
    mark = marks[entry.path]
    left = entry.subscriptions - mark.removed_count
    removed = {name: mark[name] for name in ("removed", "removed_count", "removed_checksum")}
    return replace(entry, **removed) if left else None


def vacuum(path: IndexPath, *, keep: int = 1, min_age_hours: float = 24.0) -> int:
    """Forget all but the last `keep` versions and delete every file that no kept version needs; the number deleted.

    Files younger than `min_age_hours` stay: a build that is under way has written some that no manifest names yet.
    A job that still matches against a version that goes will fail; what a stream needs is kept (`holds/`).
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise OptionError(f"expected to keep at least one version, found {show_raw(keep)}")
    if isinstance(min_age_hours, bool) or not isinstance(min_age_hours, int | float) or not min_age_hours >= 0:
        raise OptionError(f"min_age_hours: expected a number of hours from 0 on, found {show_raw(min_age_hours)}")
    path = path_text(path)
    place = storage(path)
    whole = latest(place)
    if whole is None:
        raise OptionError(f"{path}: expected an index, found none")
    numbers = versions(place)
    needed_by_streams = held(place)
    kept = [number for number in numbers if number <= whole.version][-keep:]
    if streamed := sorted(needed_by_streams.intersection(numbers) - set(kept)):
        _log.info("%s: versions %s are kept for streams, see %s/", path, streamed, place.full(HOLDS))
    kept += streamed
    needed = {manifest_path(number) for number in kept}
    for number in kept:
        needed |= read_manifest(place, path, number).files()
    latest_change = time.time() - min_age_hours * 3600
    files = [
        (f"{folder}/{name}", changed) for folder in (FOLDER, *FOLDERS) for name, changed in place.list(folder).items()
    ]
    # Manifests stand first, so that no version is left whose files are gone.
    spare = [name for name, changed in files if name not in needed and changed <= latest_change]
    if held(place) - needed_by_streams:
        raise WriteConflict("a stream took up a version meanwhile; try again", path, whole.version)
    for name in spare:
        place.delete(name)
    return len(spare)
