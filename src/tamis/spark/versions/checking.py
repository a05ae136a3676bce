"""An index in a local folder looked at from top to bottom, and copied without what is damaged. No JVM is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.errors import SegmentError
from tamis.model import Schema
from tamis.segments.keep.segment_file import open_segment, sums_of
from tamis.spark.versions.manifest import Entry, Manifest, commit, manifest_path, read_manifest, read_version, versions
from tamis.spark.versions.storage import Storage
from tamis.spark.workers.segment_store import Summed
from tamis.store.atomic import read_file, refuse_link, why, write_atomically
from tamis.store.findings import Findings

__all__ = ["check_index", "repair_index"]


def check_index(path: Path) -> Findings:
    """Every manifest, and every file that one of them names: sums, sizes, counts, invariants."""
    found, place = Findings(), Storage(str(path))
    seen: set[object] = set()
    for version in versions(place):
        with found.looking(path / manifest_path(version)):
            manifest = read_version(place, version)
            if manifest is None:
                found.notes.append(f"{path / manifest_path(version)}: unfinished; its writer is at work, or died")
                continue
            found.notes.append(f"{path}: version {version}, {manifest.subscriptions:,} subscriptions")
            for entry in manifest.segments:
                if (entry, manifest.schema.dumps()) not in seen:
                    seen.add((entry, manifest.schema.dumps()))
                    with found.looking(path / entry.path):
                        _check_entry(path, entry, manifest.schema)
            for name in manifest.rejected:
                with found.looking(path / name):
                    _check_rejected(path / name)
    return found


def _check_entry(path: Path, entry: Entry, schema: Schema) -> None:
    """A segment is the very file that was committed, and its dead are those that were."""
    file = path / entry.path
    refuse_link(file)
    if sums_of(file) != entry.checksum:
        raise SegmentError("expected the file that was committed, found another one", str(file))
    segment = open_segment(file, schema)
    assert file.stat().st_size == entry.size, f"the manifest says {entry.size:,} bytes"
    assert len(segment) == entry.subscriptions, f"the manifest says {entry.subscriptions:,} subscriptions"
    if entry.removed is not None:
        refuse_link(path / entry.removed)
        rows = Summed(path / entry.removed, str(entry.removed_checksum)).rows()
        assert len(rows) == entry.removed_count, f"the manifest says {entry.removed_count:,} are gone"
        assert not len(rows) or 0 <= rows.min() <= rows.max() < len(segment.ids), "a row that is gone never was"
        segment = segment.bury(rows)
    segment.check()


def _check_rejected(file: Path) -> None:
    refuse_link(file)
    try:
        pq.read_table(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise SegmentError(f"expected a table of rejected subscriptions: {why(error)}", str(file)) from None


def repair_index(path: Path, to: Path, version: int | None = None) -> Findings:
    """Write a new index with one version, the latest or another: all of its segments that are whole.

    A segment whose list of the dead is damaged is left out, as who of it lives cannot be told. A damaged manifest is a
    `SegmentError`: to take an older version, which has what was deleted since, is for the user to say.
    """
    found, place = Findings(), Storage(str(path))
    manifest = read_manifest(place, str(path), version)
    kept: list[Entry] = []
    for entry in manifest.segments:
        with found.looking(path / entry.path):
            _check_entry(path, entry, manifest.schema)
            kept.append(entry)
    refused = []
    for name in manifest.rejected:
        with found.looking(path / name):
            _check_rejected(path / name)
            refused.append(name)
    whole = replace(manifest, segments=tuple(kept), rejected=tuple(refused))
    _copy(path, to, whole)
    found.notes.append(f"{to}: version {whole.version}, {whole.subscriptions:,} subscriptions")
    return found


def _copy(path: Path, to: Path, manifest: Manifest) -> None:
    place = Storage(str(to))
    for folder in ("segments", "removed", "rejected"):
        place.make(folder, manifest.mode)
    for name in sorted(manifest.files()):
        write_atomically(to / name, [read_file(path / name)], manifest.mode)
    commit(place, str(to), manifest)
