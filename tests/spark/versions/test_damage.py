"""A damaged file of an index is an error that names it, never another answer. No JVM is needed to see it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash

from tamis.errors import SegmentError, WriteConflict
from tamis.model import Schema
from tamis.spark import vacuum
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.versions.manifest import Entry, Manifest, commit, latest, manifest_path, read_manifest
from tamis.spark.versions.routing import EVERY, KEY, KEYS_BYTES
from tamis.spark.versions.storage import Root, storage
from tamis.spark.workers import segment_store
from tamis.spark.workers.building import COPIES, Build, Mark, WriteIds, open_entries

SEED = 20240531
OPEN = Schema(open=True)
ENTRY = Entry("segments/one.segment", 2, 10, "00", bytes(KEYS_BYTES), "removed/one.npy", 1, "11")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Two versions, of which the second has fewer subscriptions."""
    place = storage(str(tmp_path))
    commit(place, str(tmp_path), Manifest(1, OPEN, "bigint", (ENTRY, ENTRY)))
    commit(place, str(tmp_path), Manifest(2, OPEN, "bigint", (ENTRY,)))
    return tmp_path


def damages(whole: bytes) -> Iterator[bytes]:
    """A bit turned in every byte of the first line and in some of the others, bytes exchanged, added and lost."""
    draw = random.Random(SEED)
    first = whole.index(b"\n") + 1
    for at in [*range(first), *(draw.randrange(first, len(whole)) for _ in range(200)), len(whole) - 1]:
        for bit in range(8) if at < first else [draw.randrange(8)]:
            yield whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
    for _ in range(50):
        at = draw.randrange(len(whole))
        yield whole[:at] + bytes([whole[at] + draw.randrange(1, 256) & 255]) + whole[at + 1 :]
    yield whole + b"\n"
    yield bytes(len(whole))
    yield whole[:first] + bytes(len(whole) - first)


def test_a_damaged_manifest_is_named_and_nobody_passes_over_it(index: Path) -> None:
    file, place = index / manifest_path(2), storage(str(index))
    whole = file.read_bytes()
    files = sorted(index.rglob("*"))

    for content in damages(whole):
        file.write_bytes(content)
        for version in (None, 2):
            with pytest.raises(SegmentError, match="the manifest is damaged") as caught:
                read_manifest(place, str(index), version)
            assert caught.value.path == str(file)
        with pytest.raises(SegmentError, match="the manifest is damaged"):
            latest(place, writing=True)
        with pytest.raises(SegmentError, match="the manifest is damaged"):
            vacuum(str(index), min_age_hours=0)

    assert sorted(index.rglob("*")) == files
    assert read_manifest(place, str(index), 1).version == 1


def test_an_unfinished_manifest_is_no_version_however_short(index: Path) -> None:
    file, place = index / manifest_path(2), storage(str(index))
    whole = file.read_bytes()

    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert read_manifest(place, str(index)).version == 1
        with pytest.raises(WriteConflict, match="version 2 is being written, or its writer died"):
            latest(place, writing=True)
        with pytest.raises(SegmentError, match="the manifest of version 2 is cut short"):
            read_manifest(place, str(index), 2)

    vacuum(str(index), min_age_hours=0)
    assert not file.exists()


def test_a_manifest_of_the_format_before_says_what_to_do(index: Path) -> None:
    body = json.dumps({"format": 2, "version": 3}).encode()
    summed = body + b"\n" + xxhash.xxh3_64_hexdigest(body).encode() + b"\n"
    (index / manifest_path(3)).write_bytes(summed)

    with pytest.raises(SegmentError, match=r"expected a manifest of format 3, found 2: .* build it anew"):
        read_manifest(storage(str(index)), str(index))


# -- the dead -----------------------------------------------------------------------------------------------------


def updated(root: Root) -> tuple[Manifest, str]:
    """A version of four subscriptions, of which two are gone, and the file that says so."""
    columns = {ID: [1, 2, 3, 4], EXPRESSION: [f"price < {at}" for at in range(4)], KEY: [EVERY] * 4}
    batch = pa.RecordBatch.from_pydict(columns | {COPIES: pa.nulls(4, pa.int64())})
    [built] = Build(root, OPEN)(iter([batch]))
    row = built.to_pylist()[0]
    entry = Entry(row["path"], 4, row["size"], row["checksum"], row["keys"])
    manifest = Manifest(1, OPEN, "bigint", (entry,))
    [listed] = WriteIds(root)(iter([pa.RecordBatch.from_pydict({ID: [2, 4]})]))
    lists = tuple((one["path"], one["checksum"]) for one in listed.to_pylist())
    [marked] = Mark(root, manifest, (), lists)(iter([pa.RecordBatch.from_pydict({"number": [0]})]))
    mark = marked.to_pylist()[0]
    gone = Entry(*(entry.path, 4, entry.size, entry.checksum, entry.keys), mark["removed"], 2, mark["removed_checksum"])
    return Manifest(2, OPEN, "bigint", (gone,)), lists[0][0]


def living(root: Root, manifest: Manifest) -> list[int]:
    segment_store._OPEN.clear()
    [segment] = open_entries(root, manifest, manifest.segments)
    return sorted(segment.ids(segment.subscriptions()).to_pylist())


def test_no_bit_of_the_list_of_the_dead_revives_them(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    manifest, _ = updated(root)
    file = tmp_path / str(manifest.segments[0].removed)
    whole = file.read_bytes()
    assert living(root, manifest) == [1, 3]

    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(SegmentError, match="the checksum does not fit: the file is damaged") as caught:
            living(root, manifest)
        assert caught.value.path == str(file)
    for length in (0, 1, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(SegmentError, match="the checksum does not fit"):
            living(root, manifest)
    file.unlink()
    with pytest.raises(SegmentError, match="cannot be read: No such file"):
        living(root, manifest)


def test_no_bit_of_the_ids_to_be_deleted_deletes_another(tmp_path: Path) -> None:
    root, draw = Root(str(tmp_path)), random.Random(SEED)
    manifest, name = updated(root)
    file = tmp_path / name
    whole = file.read_bytes()
    lists = ((name, xxhash.xxh3_64_hexdigest(whole)),)

    for at in [draw.randrange(len(whole)) for _ in range(100)]:
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(SegmentError, match="the checksum does not fit"):
            list(Mark(root, manifest, (), lists)(iter([pa.RecordBatch.from_pydict({"number": [0]})])))
