"""Lists that somebody altered and summed anew: `current.json` and logs of a folder, manifests and lists of the removed.

Of logs nothing is known but their bytes. Run as a script, see `trials`.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from tamis import Engine, SegmentError
from tamis.model import Kind
from tamis.segments.segment_registry import SegmentRegistry
from tests.faults.forged_segments import LISTINGS, PEOPLE, SCHEMA, alter_header
from tests.faults.forged_segments import Parsed as Document
from tests.faults.trials import Trial, main


def leave(engine: Engine) -> None:
    """Let go without a checkpoint, so that the log stays."""
    assert isinstance(engine._registry, SegmentRegistry)
    assert engine._registry._folder is not None
    engine._registry._folder.close()


def folder_with_log(path: Path) -> list[list[tuple[Any, str]]]:
    """A folder with a segment and a log; the contents it had, write by write."""
    with Engine.open(path, schema=SCHEMA, create=True) as engine:
        engine.subscribe_many(PEOPLE[:60])
        engine.observe(LISTINGS)
        for id, _ in PEOPLE[:5]:
            engine.unsubscribe(id)
    engine = Engine.open(path)
    states = [_content(engine)]
    for number, (id, text) in enumerate(PEOPLE[50:75]):
        engine.subscribe(id, text)
        states.append(_content(engine))
        if number % 5 == 0:
            engine.unsubscribe(id)
            states.append(_content(engine))
    leave(engine)
    return states


def _content(engine: Engine) -> list[tuple[Any, str]]:
    return [(id, engine.expression(id)) for id in engine.ids()]


def current() -> Trial:
    """Any field of `current.json`, with a sum that fits."""
    kept = Path(tempfile.mkdtemp()) / "engine"
    folder_with_log(kept)

    def trial(seed: int) -> str:
        draw = random.Random(f"forged lists {seed}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "engine"
            shutil.copytree(kept, path)
            found = json.loads((path / "current.json").read_bytes())
            found.pop("sum")
            alter_header(Document(found, bytearray()), draw)
            found["sum"] = xxhash.xxh3_64_hexdigest(json.dumps(found, sort_keys=True).encode())
            (path / "current.json").write_text(json.dumps(found))
            engine = Engine.open(path)
            list(engine.match_many(LISTINGS))
            engine.stats()
            engine.subscribe("somebody", "price < 3")
            engine.observe(LISTINGS[:5])
            engine.close()
        return ""

    return trial


def logs() -> Trial:
    """Bytes of a log turned, cut off, put in twice or moved: it opens with what was acknowledged at some time, or is
    refused. Never with anything else."""
    kept = Path(tempfile.mkdtemp()) / "engine"
    states = folder_with_log(kept)

    def trial(seed: int) -> str:
        draw = random.Random(f"damaged logs {seed}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "engine"
            shutil.copytree(kept, path)
            (log,) = path.glob("*.wal")
            log.write_bytes(_damaged(log.read_bytes(), draw))
            engine = Engine.open(path)
            content = _content(engine)
            leave(engine)
            if content not in states:
                raise AssertionError("the log gave what nobody wrote")
            return f"after {states.index(content)} of {len(states)}"

    return trial


def _damaged(log: bytes, draw: random.Random) -> bytes:
    first, last = sorted(draw.randrange(len(log) + 1) for _ in range(2))
    match draw.randrange(7):
        case 0:
            return log[:first]
        case 1:
            return log[:first] + log[last:]
        case 2:
            return log[:last] + log[first:]
        case 3:
            return log[:first] + bytes(min(512, last - first)) + log[first + min(512, last - first) :]
        case 4:
            noise = draw.randbytes(draw.randrange(1, 40))
            return log[:first] + noise + log[first + len(noise) :]
        case 5:
            return log + draw.choice((bytes(100), draw.randbytes(60), log[first:last], log))
    turned = bytearray(log)
    turned[draw.randrange(len(log))] ^= 1 << draw.randrange(8)
    return bytes(turned)


def manifests() -> Trial:
    """Any field of a manifest, with sums that fit."""
    from tamis.spark.versions.manifest import Entry, Manifest, _header, commit, read_manifest
    from tamis.spark.versions.routing import KEYS_BYTES, Router
    from tamis.spark.versions.storage import Storage

    kept = tempfile.mkdtemp()
    entries = [
        Entry("segments/a.seg", 10, 1000, "ab" * 16, bytes(KEYS_BYTES)),
        Entry("segments/b.seg", 10, 1000, "ab" * 16, bytes(KEYS_BYTES), "removed/b.npy", 1, "ab" * 8),
    ]
    known = {"events": 2, "attributes": {"price": [1.0, 2, [[int(Kind.NUMBER), 3, 0.5]]]}}
    Storage(kept).make("manifests")
    commit(Storage(kept), kept, Manifest(1, SCHEMA, "string", tuple(entries), ("rejected/c.parquet",), 3, known))
    (name,) = (Path(kept) / "manifests").iterdir()
    body = name.read_bytes().partition(b"\n")[2]

    def trial(seed: int) -> str:
        draw = random.Random(f"forged manifests {seed}")
        found = json.loads(body)
        alter_header(Document(found, bytearray()), draw)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "manifests").mkdir()
            altered = json.dumps(found).encode()
            (Path(folder) / "manifests" / name.name).write_bytes(_header(altered) + altered)
            manifest = read_manifest(Storage(folder), folder)
            Router([one.keys for one in manifest.segments])
            _ = manifest.known, manifest.files(), manifest.size, manifest.subscriptions
        return ""

    return trial


def removed() -> Trial:
    """Any bytes of a list of the removed, with a sum that fits."""
    from tamis.spark.workers.segment_store import Summed, sum_of

    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", np.arange(7, dtype=np.int64))
        whole = (Path(folder) / "rows.npy").read_bytes()

    def trial(seed: int) -> str:
        draw = random.Random(f"forged removals {seed}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npy"
            content = _damaged(whole, draw)
            if draw.random() < 0.3:
                content = whole.replace(b"(7,)", draw.choice((b"(9,)", b"(-1,)", b"(7, 1)", b"(99999999999,)", b"7")))
            if draw.random() < 0.2:
                content = whole.replace(b"<i8", draw.choice((b"|O8", b"<f8", b">i8", b"|O")))
            path.write_bytes(content)
            rows = Summed(path, sum_of(path)).rows()
            if rows.dtype != np.int64 or rows.ndim != 1:
                raise SegmentError("no rows", str(path)) if rows.ndim else AssertionError("no list")
        return ""

    return trial


if __name__ == "__main__":
    main({"current": current, "logs": logs, "manifests": manifests, "removed": removed})
