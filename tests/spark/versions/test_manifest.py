"""A manifest of another format is refused by name; no JVM is needed to read one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis.errors import SegmentError
from tamis.model import Schema
from tamis.spark.versions import manifest
from tamis.spark.versions.manifest import Manifest, commit, read_manifest
from tamis.spark.versions.storage import storage


@pytest.mark.parametrize("found", [1, 99], ids=["older", "newer"])
def test_a_manifest_of_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: int) -> None:
    path, place = str(tmp_path), storage(str(tmp_path))
    written = Manifest(1, Schema(open=True), "bigint", ())
    commit(place, path, written)
    assert read_manifest(place, path) == written

    with monkeypatch.context() as other:
        other.setattr(manifest, "_FORMAT", found)
        commit(place, path, Manifest(2, Schema(open=True), "bigint", ()))

    with pytest.raises(SegmentError, match=f"expected a manifest of format 3, found {found}: .* build it anew"):
        read_manifest(place, path)
    assert read_manifest(place, path, 1) == written


@pytest.mark.parametrize("language", ["2", None, {}, 1.5, True])
def test_a_manifest_whose_language_is_no_number_is_refused(tmp_path: Path, language: object) -> None:
    path, place = str(tmp_path), storage(str(tmp_path))
    commit(place, path, Manifest(1, Schema(open=True), "bigint", ()))
    (file,) = (tmp_path / "manifests").iterdir()
    found = json.loads(file.read_bytes().partition(b"\n")[2]) | {"language": language}
    body = json.dumps(found).encode()
    file.write_bytes(manifest._header(body) + body)

    with pytest.raises(SegmentError, match="expected the version of a language, a number, found"):
        read_manifest(place, path)
