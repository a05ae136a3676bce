"""The log: a last write that did not reach the disk is dropped, damage to what was acknowledged is an error."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tamis import SegmentError
from tamis.segments.keep.log import HEADER_BYTES, SEAL_BYTES, Found, Generation, Log, new_generation, read_log, salvage

SEED = 20261118
THIS = Generation(7, 123456789)


def text(length: int, seed: int) -> bytes:
    """JSON has no zero byte, and nor has this."""
    return bytes(random.Random(seed).choices(range(32, 127), k=length))


def written(path: Path, contents: list[bytes], generation: Generation = THIS) -> bytes:
    log = Log.create(path, generation, 0o700)
    for content in contents:
        log.append(content)
    log.file.close()
    return path.read_bytes()


def contents(whole: bytes, found: Found) -> list[bytes]:
    return [whole[one.start : one.end] for one in found.records]


def test_what_was_appended_is_read_in_order(tmp_path: Path) -> None:
    texts = [text(length, length) for length in (0, 1, 36, 511, 512, 513, 5000)]

    whole = written(tmp_path / "log", texts)

    found = read_log(whole, THIS, tmp_path / "log")
    assert contents(whole, found) == texts
    assert [one.sequence for one in found.records] == list(range(1, 8))
    assert (found.sealed, found.torn, found.end) == (True, 0, len(whole) - SEAL_BYTES)


def torn(before: bytes, after: bytes, block: int, old: bytes) -> Iterator[tuple[bytes, bool]]:
    """What losing the power may leave of the step from one file to the next, and whether all of it is there.

    Every subset of the blocks that the step wrote; the others have the bytes from before or, past them, `old`.
    """
    first, last = len(before) // block, -(-len(after) // block)
    base = before + old[len(before) : len(after)].ljust(len(after) - len(before), b"\0")
    for chosen in product((False, True), repeat=last - first):
        content = bytearray(base)
        for number, there in zip(range(first, last), chosen, strict=True):
            place = slice(number * block, min((number + 1) * block, len(after)))
            if there:
                content[place] = after[place]
        yield bytes(content), bytes(content) == after
        if not chosen[-1]:  # the file need not have become longer
            end = max((number for number, there in zip(range(first, last), chosen, strict=True) if there), default=-1)
            yield bytes(content[: max((end + 1) * block, len(before))]), False


@pytest.mark.parametrize(("block", "length"), [(512, 4000), (512, 100), (512, 0), (4096, 30_000), (4096, 4096)])
def test_a_torn_last_write_is_dropped_whatever_is_missing(tmp_path: Path, block: int, length: int) -> None:
    kept = [text(300, 1), text(700, 2), text(450, 3)]
    before = written(tmp_path / "before", kept)
    after = written(tmp_path / "after", [*kept, text(length, 4)])[:-SEAL_BYTES]
    others = {
        "zeros": b"",
        "ones": b"\xff" * len(after),
        "noise": random.Random(SEED).randbytes(len(after)),
        "a log of the number before": written(tmp_path / "old", [*kept, text(length, 4)], Generation(6, 123456789)),
        "a log of another folder": written(tmp_path / "other", [*kept, text(length, 5)], new_generation(7)),
        "an earlier place of this log": after[HEADER_BYTES:] + after,
    }
    tried = 0

    for name, old in others.items():
        for content, whole in torn(before, after, block, old):
            found = read_log(content, THIS, tmp_path / "log")
            expected = [*kept, text(length, 4)] if whole or content == after else kept
            assert contents(content, found) == expected, f"blocks of {block}, {name}"
            assert bool(found.torn) == (content not in (before, after)), "what is dropped is told"
            tried += 1
    assert tried >= 6 * 2


def test_damage_to_an_acknowledged_record_is_an_error_that_names_byte_and_record(tmp_path: Path) -> None:
    kept = [text(300, 1), text(700, 2), text(450, 3)]
    whole = written(tmp_path / "log", kept)
    places = [one.at for one in read_log(whole, THIS, tmp_path / "log").records]
    end = len(whole) - SEAL_BYTES

    for at in range(len(whole)):
        turned = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        if at >= end:  # a seal that cannot be read says nothing
            assert contents(turned, read_log(turned, THIS, tmp_path / "log")) == kept
            continue
        with pytest.raises(SegmentError) as caught:
            read_log(turned, THIS, tmp_path / "log")
        if at >= HEADER_BYTES:
            record = sum(place <= at for place in places)
            assert f"at byte {places[record - 1]:,}, in record {record}:" in str(caught.value)


@pytest.mark.parametrize("block", [512, 4096])
def test_a_lost_block_before_an_acknowledged_record_is_an_error(tmp_path: Path, block: int) -> None:
    kept = [text(length, length) for length in (300, 5000, 9000, 200)]
    whole = written(tmp_path / "log", kept)
    end = len(whole) - SEAL_BYTES

    for number in range(-(-end // block)):
        for old in (bytes(block), random.Random(SEED).randbytes(block)):
            content = bytearray(whole)
            content[number * block : (number + 1) * block] = old[: len(content[number * block : (number + 1) * block])]
            if content[end:] != whole[end:]:
                continue  # the seal is in the same block: this is how a last write looks that never returned
            with pytest.raises(SegmentError):
                read_log(bytes(content), THIS, tmp_path / "log")


def test_noise_behind_the_end_that_a_head_names_is_no_torn_write(tmp_path: Path) -> None:
    whole = written(tmp_path / "log", [text(300, 1)])
    damaged = bytearray(whole)
    damaged[100] ^= 1
    damaged[-SEAL_BYTES:] = b"x" * SEAL_BYTES

    with pytest.raises(SegmentError, match="it ends at byte 368, and something stands behind it"):
        read_log(bytes(damaged), THIS, tmp_path / "log")


@pytest.mark.parametrize(
    ("generation", "message"),
    [
        (Generation(8, 123456789), "expected the log of checkpoint 8, found that of checkpoint 7 of another folder"),
        (Generation(7, 1), "expected the log of checkpoint 7, found that of checkpoint 7 of another folder"),
    ],
)
def test_the_log_of_another_checkpoint_or_folder_is_refused(
    tmp_path: Path, generation: Generation, message: str
) -> None:
    whole = written(tmp_path / "log", [text(10, 1)])

    with pytest.raises(SegmentError, match=message):
        read_log(whole, generation, tmp_path / "log")


def test_salvage_finds_every_whole_record_around_the_damage(tmp_path: Path) -> None:
    kept = [text(300, 1), text(700, 2), text(450, 3)]
    whole = written(tmp_path / "log", kept)
    places = [one.at for one in read_log(whole, THIS, tmp_path / "log").records]

    for number, place in enumerate(places):
        for damage in (place + 3, place + 15, place + 30, place + 100):
            content = bytearray(whole)
            content[damage] ^= 64
            found = [one.sequence for one in salvage(bytes(content), THIS)]
            assert found == [one for one in (1, 2, 3) if one != number + 1]
