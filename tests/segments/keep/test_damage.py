"""A damaged folder is an error that names the file, or gives the right answers: never wrong ones."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from tamis import Engine, Schema, SegmentError
from tamis.segments.keep.log import HEADER_BYTES
from tamis.segments.segment_registry import SegmentRegistry
from tamis.workloads import auctions

SEED = 20240531
EVENTS = [event for number, event in enumerate(auctions.listings(30)) if number != 17]
KINDS = ("*.seg", "current.json", "*.wal")


def leave(engine: Engine) -> None:
    """Let go without a checkpoint, so that the log stays."""
    assert isinstance(engine._registry, SegmentRegistry)
    assert engine._registry._folder is not None
    engine._registry._folder.close()


def state(engine: Engine) -> tuple[object, ...]:
    answers = [sorted(map(str, ids)) for ids in engine.match_many(EVENTS)]
    return answers, [(id, engine.expression(id)) for id in engine.ids()]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[object, ...]]]:
    """A folder with a segment, dead in it, and a log; and the states it went through since its last checkpoint."""
    path = tmp_path_factory.mktemp("damage") / "engine"
    with Engine.open(path, schema=Schema.loads(auctions.SCHEMA), create=True) as engine:
        engine.subscribe_many(auctions.subscriptions(60))
        engine.subscribe_many([(7, "price < 100"), (-(2**63), "price < 50 or quantity > 3"), (8, "price > @reserve")])
    engine = Engine.open(path)
    states = [state(engine)]
    for number, (id, text) in enumerate(auctions.subscriptions(75)):
        if number % 9 == 0 and id in engine:
            engine.unsubscribe(id)
            states.append(state(engine))
        elif number >= 60:
            engine.subscribe(id, text)
            states.append(state(engine))
    leave(engine)
    return path, states


@pytest.fixture
def copy(saved: tuple[Path, list[tuple[object, ...]]], tmp_path: Path) -> Path:
    shutil.copytree(saved[0], tmp_path / "engine")
    return tmp_path / "engine"


def outcome(path: Path) -> tuple[object, ...] | None:
    """The state of what opens; None for a refusal that names a file of the folder."""
    try:
        engine = Engine.open(path)
    except SegmentError as error:
        return None if str(error.path).startswith(str(path)) else (error,)
    found = state(engine)
    engine.check()
    leave(engine)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_bit_turned_anywhere_is_noticed_or_does_not_matter(
    kind: str, copy: Path, saved: tuple[Path, list[tuple[object, ...]]]
) -> None:
    draw = random.Random(SEED)
    file = min(copy.glob(kind))
    whole = file.read_bytes()
    places = {*range(min(40, len(whole))), len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(120))}
    refused = 0

    for place in sorted(places):
        turned = bytearray(whole)
        turned[place] ^= 1 << draw.randrange(8)
        file.write_bytes(turned)
        found = outcome(copy)
        assert found in (None, saved[1][-1]), f"byte {place} of {file.name}, seed {SEED}"
        refused += found is None
    assert refused > len(places) * 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_refused_and_a_log_holds_what_came_before(
    kind: str, copy: Path, saved: tuple[Path, list[tuple[object, ...]]]
) -> None:
    draw = random.Random(SEED)
    file = min(copy.glob(kind))
    whole = file.read_bytes()

    for length in sorted({0, 1, 31, 32, 33, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(60))}):
        file.write_bytes(whole[:length])
        allowed = saved[1] if kind == "*.wal" and length >= HEADER_BYTES else [None]
        assert outcome(copy) in allowed, f"cut at {length} of {file.name}, seed {SEED}"


@pytest.mark.parametrize("kind", KINDS)
def test_noise_in_any_place_is_noticed(kind: str, copy: Path, saved: tuple[Path, list[tuple[object, ...]]]) -> None:
    draw = random.Random(SEED)
    file = min(copy.glob(kind))
    whole = file.read_bytes()

    for _ in range(60):
        place, length = draw.randrange(len(whole)), draw.randrange(1, 40)
        file.write_bytes(whole[:place] + draw.randbytes(length) + whole[place + length :])
        assert outcome(copy) in (None, *saved[1]), f"{length} bytes at {place} of {file.name}, seed {SEED}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_an_error(kind: str, copy: Path) -> None:
    file = min(copy.glob(kind))
    file.unlink()

    with pytest.raises(SegmentError):
        Engine.open(copy)


@pytest.mark.parametrize("content", [b"TAMSEG\0\1" * 4, b"PAR1" * 10, b"\xff" * 40, b"PK\3\4 a zip file, perhaps"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_file_is_an_error(kind: str, content: bytes, copy: Path) -> None:
    file = min(copy.glob(kind))
    file.write_bytes(content)

    with pytest.raises(SegmentError):
        Engine.open(copy)


def test_a_newer_segment_says_that_a_newer_tamis_may_have_written_it(copy: Path) -> None:
    file = min(copy.glob("*.seg"))
    newer = bytearray(file.read_bytes())
    newer[7] += 1
    file.write_bytes(newer)

    with pytest.raises(SegmentError, match="a newer Tamis may have written it"):
        Engine.open(copy)


def test_a_newer_folder_says_that_a_newer_tamis_may_have_written_it(copy: Path) -> None:
    found = json.loads((copy / "current.json").read_bytes())
    (copy / "current.json").write_text(json.dumps(found | {"format": found["format"] + 1}))

    with pytest.raises(SegmentError, match="a newer Tamis may have written it"):
        Engine.open(copy)


def test_the_segment_of_another_engine_is_an_error(copy: Path, tmp_path: Path) -> None:
    other = Engine(Schema.loads(auctions.SCHEMA))
    other.subscribe("ann", "price < 1")
    other.save(tmp_path / "other")
    mine, theirs = min(copy.glob("*.seg")), min((tmp_path / "other").glob("*.seg"))
    shutil.copy(theirs, mine)

    with pytest.raises(SegmentError, match="another segment"):
        Engine.open(copy)


@pytest.mark.parametrize("content", ["[]", "{}", "7", "null", '{"format": 1}', "[" * 100_000, '{"format": []}'])
def test_json_of_another_shape_is_an_error(content: str, copy: Path) -> None:
    (copy / "current.json").write_text(content)

    with pytest.raises(SegmentError):
        Engine.open(copy)
