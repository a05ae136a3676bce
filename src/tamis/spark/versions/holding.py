"""Which version a stream takes up next, and holds that keep `vacuum` from a version that is still needed.

<index>/holds/<stream>.00000003     the stream of that id may have to match against version 3 again
"""

from __future__ import annotations

import logging

from tamis.errors import OptionError, SegmentError
from tamis.spark.versions.manifest import Entry, Manifest, manifest_path, read_version, versions
from tamis.spark.versions.storage import Root, Storage, is_local, storage
from tamis.spark.workers.building import open_entries

__all__ = ["HOLDS", "Watch", "held", "hold", "release"]

HOLDS = "holds"
_log = logging.getLogger("tamis.spark")


def hold(place: Storage, stream: str, manifest: Manifest, reason: str) -> None:
    """Have `vacuum` keep a version; `reason` says in the file who asked."""
    place.create(_name(stream, manifest.version), f"{reason}\n".encode(), manifest.mode)


def release(place: Storage, stream: str, below: int) -> None:
    """Give up the versions that a stream held, below one."""
    for name in place.list(HOLDS):
        owner, _, number = name.rpartition(".")
        if owner == stream and number.isdigit() and int(number) < below:
            place.delete(f"{HOLDS}/{name}")


def held(place: Storage) -> set[int]:
    """The versions that some stream needs."""
    numbers = [name.rpartition(".")[2] for name in place.list(HOLDS)]
    return {int(number) for number in numbers if number.isdigit()}


def _name(stream: str, version: int) -> str:
    return f"{HOLDS}/{stream}.{version:08d}"


class Watch:
    """The newest version of an index that is whole. A damaged one is passed over, which is said once; the one before
    goes on, though it may have what was deleted since: a stream that stands still helps nobody."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = storage(path)
        self._known: Manifest | None = None
        self._whole: frozenset[Entry] = frozenset()
        self._told: set[int] = set()

    def newest(self) -> Manifest:
        """Files are looked at once: those that the version before had are known. `SegmentError` if no version is whole,
        `OptionError` if there is none."""
        failure: SegmentError | None = None
        for version in reversed(versions(self._place)):
            if self._known is not None and version == self._known.version:
                return self._known
            try:
                found = read_version(self._place, version)
                if found is not None:
                    self._look_at(found)
                    return found
            except SegmentError as error:
                failure = failure or error
                self._tell(version, error)
        raise failure or OptionError(f"{self._path}: expected an index, found none")

    def _look_at(self, manifest: Manifest) -> None:
        """Open what is new, as a worker will. Elsewhere than in a local folder that would fetch every file."""
        if is_local(self._path):
            fresh = [one for one in manifest.segments if one not in self._whole]
            open_entries(Root(self._path), manifest, fresh)
        self._known, self._whole = manifest, frozenset(manifest.segments)

    def _tell(self, version: int, error: SegmentError) -> None:
        if version not in self._told:
            self._told.add(version)
            _log.warning("version %d is passed over, and the last good one kept: %s", version, error)

    def still_there(self, version: int) -> bool:
        return manifest_path(version).rpartition("/")[2] in self._place.list(manifest_path(version).partition("/")[0])
