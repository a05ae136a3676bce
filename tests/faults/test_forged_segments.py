"""Whoever can write segment files can make them lie about what matches; nobody can crash, hang or bloat who reads them.

The trials are made by `forged_segments`: one thing in a file is altered, in an array or in the header, the sums are
made to fit, and the segment is opened and used in every way. Before there were rules for each array, 75 of the seeds
1,000 to 1,999 died of a signal, and 149 raised what is no error of ours.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tamis import Engine, OptionError, Schema, SegmentError
from tamis.segments.keep.segment_file import open_segment
from tamis.segments.keep.structure import RULES
from tests.faults.forged_segments import ALIGN, PREFIX_BYTES, put_together, stock, taken_apart
from tests.faults.trials import LONG, run, wrong


@pytest.mark.parametrize(("kind", "count"), [("forged", 200), ("damaged", 100)])
def test_an_altered_segment_is_refused_or_answers_within_bounds(kind: str, count: int) -> None:
    found = run("forged_segments", kind, 0, count)

    assert wrong(found) == []
    assert found["refused"] > 0.4 * count
    assert found["answered"] > 0.04 * count, "what is altered must not all be refused before it is read"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["forged", "damaged"])
def test_many_altered_segments_are_refused_or_answer_within_bounds(kind: str) -> None:
    found = run("forged_segments", kind, 10_000, LONG)

    print(kind, dict(found))
    assert wrong(found) == []


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Schema]:
    schema, content, _ = stock()[0]
    path = tmp_path_factory.mktemp("written") / "one.seg"
    path.write_bytes(content)
    return path, schema


def test_every_array_of_a_segment_has_a_rule(written: tuple[Path, Schema]) -> None:
    names = {name for name, *_ in taken_apart(written[0].read_bytes()).header["arrays"]}
    strings = {name for name in names if name.startswith(("texts.", "ids", "attribute."))}

    assert names - strings == RULES.keys()


def test_an_array_without_a_rule_is_refused(written: tuple[Path, Schema], tmp_path: Path) -> None:
    content = written[0].read_bytes()
    parsed = taken_apart(content)
    parsed.header["arrays"].append(["a new one", "|u1", [ALIGN], len(parsed.body)])
    parsed.header["bytes"] += ALIGN
    body = bytes(parsed.body) + bytes(ALIGN)
    (tmp_path / "new.seg").write_bytes(put_together(content, json.dumps(parsed.header).encode(), body))

    with pytest.raises(SegmentError, match="other arrays than there must be"):
        open_segment(tmp_path / "new.seg", written[1])


@pytest.mark.parametrize("name", sorted(set(RULES) - {"blocks.bits", "hashes"}))
def test_an_element_far_out_of_range_is_refused_by_name_or_leads_nowhere(
    name: str, written: tuple[Path, Schema], tmp_path: Path
) -> None:
    content = written[0].read_bytes()
    parsed = taken_apart(content)
    ((_, of, shape, at),) = (one for one in parsed.header["arrays"] if one[0] == name)
    array = np.frombuffer(parsed.body, of, shape[0], at)
    array.view(np.uint8)[:] = 0x7F
    path = tmp_path / "altered.seg"
    path.write_bytes(put_together(content, json.dumps(parsed.header).encode(), bytes(parsed.body)))

    if RULES[name].trusts.startswith("nothing"):
        open_segment(path, written[1])
    else:
        with pytest.raises(SegmentError, match=f"{path.name}: expected a segment"):
            open_segment(path, written[1])


@pytest.mark.parametrize("verify", [False, True, "fast", None, 1, ["full"]])
def test_another_word_for_verify_is_an_error_that_lists_those_there_are(verify: object, tmp_path: Path) -> None:
    Engine().save(tmp_path / "engine")

    with pytest.raises(OptionError, match="'full', 'structure', 'trusted'"):
        Engine.open(tmp_path / "engine", verify=verify)  # type: ignore[arg-type]


def test_what_was_verify_false_is_told_its_new_name(tmp_path: Path) -> None:
    Engine().save(tmp_path / "engine")

    with pytest.raises(OptionError, match="what was False is 'trusted' now"):
        Engine.open(tmp_path / "engine", verify=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("verify", ["full", "structure", "trusted"])
def test_a_sound_folder_answers_alike_however_much_is_looked_at(verify: str, tmp_path: Path) -> None:
    engine = Engine()
    engine.subscribe_many([(n, f"price < {n} or name = 'n{n % 7}'") for n in range(300)])
    engine.unsubscribe(7)
    events = [{"price": n, "name": f"n{n % 9}"} for n in range(50)]
    engine.save(tmp_path / "engine")

    with Engine.open(tmp_path / "engine", verify=verify) as opened:
        assert [sorted(map(int, ids)) for ids in opened.match_many(events)] == [
            sorted(map(int, ids)) for ids in engine.match_many(events)
        ]


def test_structure_finds_what_would_be_read_out_of_bounds_without_a_look_at_sums(
    written: tuple[Path, Schema], tmp_path: Path
) -> None:
    path = tmp_path / "damaged.seg"
    shutil.copy(written[0], path)
    content = bytearray(path.read_bytes())
    parsed = taken_apart(bytes(content))
    first = len(content) - len(parsed.body)
    (at,) = (one[3] for one in parsed.header["arrays"] if one[0] == "places.member_row")
    content[first + at : first + at + 4] = b"\xff\xff\xff\x7f"
    path.write_bytes(content)

    with pytest.raises(SegmentError, match=r"places\.member_row"):
        open_segment(path, written[1], verify="structure")
    with pytest.raises(SegmentError, match="the checksum does not fit the arrays"):
        open_segment(path, written[1])


def test_a_header_that_nests_deeply_is_refused(written: tuple[Path, Schema], tmp_path: Path) -> None:
    content = written[0].read_bytes()
    path = tmp_path / "deep.seg"
    path.write_bytes(put_together(content, b"[" * 200_000, content[PREFIX_BYTES:]))

    with pytest.raises(SegmentError, match="the header is no JSON"):
        open_segment(path, written[1])
