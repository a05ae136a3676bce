"""What a stream of ours remembers in its checkpoint, beside what Spark does.

    <checkpoint>/tamis/stream           the stream's id
    <checkpoint>/tamis/versions/…       batch → the version of the index, written before any work on the batch
    <checkpoint>/tamis/aside/…          files that could not be read, by the batch that met them
    <checkpoint>/tamis/batches/…        what was done, by batch

A record is a line of JSON with its sum. One that is cut short was never acted upon: whoever wrote it died in the
midst, and it is written anew.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import xxhash

from tamis.errors import OptionError, SegmentError
from tamis.spark.versions.holding import Watch, hold, release
from tamis.spark.versions.manifest import Manifest, read_manifest
from tamis.spark.versions.storage import Storage, join, storage

__all__ = ["Records", "VersionPins"]

_KEPT = {"versions": 1_000, "batches": 10_000}
"""Batches of which a record is kept. Spark itself can go back to the last 100 at most."""


class Records:
    """Small records in a folder, each written once."""

    def __init__(self, checkpoint: str) -> None:
        self._place: Storage = storage(join(checkpoint, "tamis"))
        self.stream: str = self._stream()

    def _stream(self) -> str:
        """The id of the stream, made when it first starts."""
        found = self.read("stream")
        if found is None:
            found = {"stream": uuid4().hex}
            self.write("stream", found)
        return str(found["stream"])

    def read(self, name: str) -> dict[str, Any] | None:
        folder, _, file = name.rpartition("/")
        if file not in self._place.list(folder or "."):
            return None
        line, _, checksum = self._place.read(name).decode(errors="replace").rstrip("\n").rpartition(" ")
        if checksum != _sum(line):
            return None
        found: dict[str, Any] = json.loads(line)
        return found

    def write(self, name: str, record: dict[str, Any]) -> None:
        """On disk when this returns, in the place of what was there."""
        line = json.dumps(record)
        content = f"{line} {_sum(line)}\n".encode()
        if not self._place.create(name, content):
            self._place.delete(name)
            self._place.create(name, content)

    def numbers(self, folder: str) -> list[int]:
        """The batches that have a record in a folder, ascending."""
        return sorted(int(name) for name in self._place.list(folder) if name.isdigit())

    def forget(self, folder: str, number: int) -> None:
        """Drop the record that is too old, now that there is one of this number."""
        old = number - _KEPT[folder]
        if old >= 0:
            self._place.delete(f"{folder}/{old}")


def _sum(line: str) -> str:
    return xxhash.xxh3_64_hexdigest(line.encode())


class VersionPins:
    """Batch → the version of the index that it is matched against, once and for all."""

    def __init__(self, records: Records, checkpoint: str, index: str) -> None:
        self._records = records
        self._index = index
        self._place = storage(index)
        self._watch = Watch(index)
        self._reason = f"the stream with the checkpoint {checkpoint} needs this version"

    def version(self, batch: int) -> Manifest:
        """What is recorded; else the newest version that is whole, recorded now. Spark begins a batch when the one
        before is done for good, so that no other version needs to be held any more."""
        recorded = self._records.read(f"versions/{batch}")
        manifest = self._record(batch) if recorded is None else self._recorded(batch, recorded)
        release(self._place, self._records.stream, below=manifest.version)
        return manifest

    def _recorded(self, batch: int, record: dict[str, Any]) -> Manifest:
        try:
            manifest = read_manifest(self._place, self._index, record["version"])
        except (OptionError, SegmentError) as error:
            raise SegmentError(
                f"batch {batch} began with version {record['version']}, which can no longer be read: {error}. "
                f"To match it against the newest version instead, delete tamis/versions/{batch} in the checkpoint",
                self._index,
            ) from None
        hold(self._place, self._records.stream, manifest, self._reason)
        return manifest

    def _record(self, batch: int) -> Manifest:
        while True:
            manifest = self._watch.newest()
            hold(self._place, self._records.stream, manifest, self._reason)
            if self._watch.still_there(manifest.version):  # no vacuum came between
                break
        self._records.write(f"versions/{batch}", {"version": manifest.version})
        self._records.forget("versions", batch)
        return manifest
