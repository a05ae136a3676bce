"""The manifest: what a version of an index consists of, and how a version comes to be.

    <index>/manifests/00000003.json     one per version; its first line has the length and the sum of what follows
    <index>/segments/…                  immutable files under names that never come twice
    <index>/removed/…                   which rows of a segment are gone
    <index>/rejected/…                  subscriptions that could not be read

All other files are written first, the manifest last, under the next number and exclusively: whoever creates it has
committed. A reader takes the highest manifest that is finished, so it sees all of a version or none of it. One that is
shorter than its first line says is unfinished: its writer is at work, or died. One that does not fit its sums is
damaged, and nobody passes over it: the version before would bring back what was deleted.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import xxhash

from tamis.errors import OptionError, SchemaError, SegmentError, WriteConflict
from tamis.language.door import LANGUAGE_VERSION
from tamis.model import Schema
from tamis.model.caching import cached_property
from tamis.model.names import Used
from tamis.model.values import show_raw
from tamis.segments.compile.statistics import Statistics
from tamis.spark.versions.routing import KEYS_BYTES
from tamis.spark.versions.storage import Storage
from tamis.store.atomic import PRIVATE

__all__ = [
    "FOLDER",
    "Entry",
    "Manifest",
    "commit",
    "latest",
    "manifest_path",
    "read_manifest",
    "read_version",
    "versions",
]

FOLDER = "manifests"
_FORMAT = 3
_MAGIC = b"tamis manifest"


@dataclass(frozen=True)
class Entry:
    """A segment of a version, of `size` bytes. `keys` is the bitmap of what it can match at all (`routing`),
    `attributes` what its subscriptions name, unless that is not known."""

    path: str
    subscriptions: int
    size: int
    checksum: str
    keys: bytes
    removed: str | None = None
    removed_count: int = 0
    removed_checksum: str | None = None
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Manifest:
    """A version of an index. `id_type` is Spark's type of the subscription ids."""

    version: int
    schema: Schema
    id_type: str
    segments: tuple[Entry, ...]
    rejected: tuple[str, ...] = ()
    rejected_count: int = 0
    statistics: Mapping[str, Any] | None = None
    mode: int = PRIVATE
    """Of its folders, where it lies in a local one; of its files the same without the right to enter."""

    @cached_property
    def known(self) -> Statistics | None:
        """What is known of events."""
        return None if self.statistics is None else Statistics.from_json(self.statistics)

    @cached_property
    def used(self) -> Used | None:
        """The attributes that its subscriptions name; None if a segment does not say."""
        named = [one.attributes for one in self.segments]
        return None if None in named else Used.of(name for names in named for name in names or ())

    @property
    def subscriptions(self) -> int:
        return sum(one.subscriptions - one.removed_count for one in self.segments)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.segments)

    def files(self) -> set[str]:
        """All files that this version needs."""
        removed = {one.removed for one in self.segments if one.removed is not None}
        return {one.path for one in self.segments} | removed | set(self.rejected)


def versions(storage: Storage) -> list[int]:
    """The numbers of all manifests, whole or not, ascending."""
    stems = [name.removesuffix(".json") for name in storage.list(FOLDER) if name.endswith(".json")]
    return sorted(int(stem) for stem in stems if stem.isdigit())


def manifest_path(version: int) -> str:
    return f"{FOLDER}/{version:08d}.json"


def latest(storage: Storage, *, writing: bool = False) -> Manifest | None:
    """The highest version that is finished. A writer must not pass over one that is not: it may be about to be."""
    for version in reversed(versions(storage)):
        found = read_version(storage, version)
        if found is not None:
            return found
        if writing:
            message = f"version {version} is being written, or its writer died; vacuum removes it once it is old"
            raise WriteConflict(message, manifest_path(version), version)
    return None


def read_manifest(storage: Storage, path: str, version: int | None = None) -> Manifest:
    """A version, or the latest."""
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise OptionError(f"version: expected the number of a version, found {show_raw(version)}")
    known = versions(storage)
    found = latest(storage) if version is None else None
    if version is not None and version in known:
        found = read_version(storage, version)
        if found is None:
            raise SegmentError(f"the manifest of version {version} is cut short", path)
    if found is None:
        there = f"there are {', '.join(map(str, known))}" if known else "there is no index"
        wanted = "an index" if version is None else f"version {version}"
        raise OptionError(f"{path}: expected {wanted}; {there}")
    return found


def commit(storage: Storage, path: str, manifest: Manifest) -> None:
    """Make the version real, or `WriteConflict` if somebody else has made it."""
    body = _encode(manifest)
    if not storage.create(manifest_path(manifest.version), _header(body) + body, manifest.mode):
        message = f"somebody else committed version {manifest.version} meanwhile; look at it and try again"
        raise WriteConflict(message, path, manifest.version)


def read_version(storage: Storage, version: int) -> Manifest | None:
    """A version; None if it is unfinished."""
    content, path = storage.read(manifest_path(version)), storage.full(manifest_path(version))
    if content.startswith(b"{"):
        return _decode(_without_header(content, path), path)
    if len(content) < _HEADER_BYTES:
        return None
    header, body = content[:_HEADER_BYTES], content[_HEADER_BYTES:]
    length = _length(header)
    if length is not None and len(body) < length:
        return None
    if header != _header(body):
        raise _damaged(path)
    return _decode(body, path)


def _header(body: bytes) -> bytes:
    """A line of always the same length, with a sum of its own: a damaged length must not look like a lack of bytes."""
    line = b"%s %012d %s" % (_MAGIC, len(body), _checksum(body))
    return b"%s %s\n" % (line, _checksum(line))


def _length(header: bytes) -> int | None:
    """How many bytes follow; None if the header itself is damaged."""
    line, _, checksum = header.rstrip(b"\n").rpartition(b" ")
    return int(line[len(_MAGIC) :].split()[0]) if checksum == _checksum(line) else None


def _without_header(content: bytes, path: str) -> bytes:
    """As in the formats before 3, which ended with the sum; `_decode` says what to do about them."""
    body, _, checksum = content.removesuffix(b"\n").rpartition(b"\n")
    if checksum != _checksum(body):
        raise _damaged(path)
    return body


def _damaged(path: str) -> SegmentError:
    return SegmentError(
        "the checksum does not fit: the manifest is damaged. Restore it from a copy; only if its version may be lost, "
        "delete it, and the version before counts again",
        path,
    )


def _checksum(body: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(body).encode()


_HEADER_BYTES = len(_header(b""))


def _encode(manifest: Manifest) -> bytes:
    segments = [asdict(one) | {"keys": base64.b64encode(one.keys).decode()} for one in manifest.segments]
    document = {one.name: getattr(manifest, one.name) for one in fields(manifest)}
    document |= {
        "format": _FORMAT,
        "language": LANGUAGE_VERSION,
        "schema": manifest.schema.dumps(),
        "segments": segments,
    }
    return json.dumps(document, indent=1).encode()


def _decode(body: bytes, path: str) -> Manifest:
    """Sums that fit say nothing about who wrote it: all that is read from it later is looked at here."""
    try:
        document = json.loads(body)
        found = document.pop("format", None)
    except (AttributeError, RecursionError, ValueError, TypeError) as error:
        raise SegmentError(f"expected a manifest, found one that cannot be read: {error}", path) from None
    if found != _FORMAT:
        message = f"expected a manifest of format {_FORMAT}, found {found}: another Tamis wrote it; build it anew"
        raise SegmentError(message, path)
    language = document.pop("language", 1)
    if type(language) is not int:
        raise SegmentError(f"expected the version of a language, a number, found {show_raw(language)}", path)
    if language > LANGUAGE_VERSION:
        message = f"expected subscriptions in version {LANGUAGE_VERSION} of the language at most, found {language}"
        raise SegmentError(f"{message}: a newer Tamis wrote it", path)
    try:
        entries = [_entry(one) for one in document["segments"]]
        schema = Schema.loads(document["schema"])
        manifest = Manifest(**(document | {"schema": schema, "segments": tuple(entries)}))
        _check(manifest)
    except (ArithmeticError, AttributeError, KeyError, SchemaError, TypeError, ValueError) as error:
        raise SegmentError(f"expected a manifest, found one that cannot be read: {error}", path) from None
    return replace(manifest, rejected=tuple(manifest.rejected))


def _entry(document: dict[str, Any]) -> Entry:
    """Indexes of before do not say which attributes are named."""
    named = document.get("attributes")
    attributes = None if named is None else tuple(named)
    return Entry(**(document | {"keys": base64.b64decode(document["keys"]), "attributes": attributes}))


def _check(manifest: Manifest) -> None:
    """`ValueError` if a field holds what it must not."""
    counts = [manifest.version, manifest.rejected_count]
    names = list(manifest.rejected)
    texts = [manifest.id_type]
    for one in manifest.segments:
        counts += [one.subscriptions, one.size, one.removed_count]
        names += [one.path] if one.removed is None else [one.path, one.removed]
        texts += [one.checksum] if one.removed is None else [one.checksum, one.removed_checksum or ""]
        texts += one.attributes or ()
    if not all(type(count) is int and 0 <= count < 2**63 for count in counts):
        raise ValueError("expected counts")
    if not all(isinstance(text, str) for text in texts) or not all(map(_is_inside, names)):
        raise ValueError("expected names of files in the index, and their sums")
    if any(len(one.keys) != KEYS_BYTES for one in manifest.segments):
        raise ValueError(f"expected bitmaps of {KEYS_BYTES:,} bytes")
    if manifest.statistics is not None:
        Statistics.from_json(manifest.statistics)


def _is_inside(name: object) -> bool:
    """Whether a name leads nowhere out of the index."""
    parts = name.split("/") if isinstance(name, str) else [""]
    return len(parts) == 2 and not any(part in ("", ".", "..") or "\0" in part for part in parts)
