"""The event log in a folder, without Spark: every line once, wherever a reader begins and however much it takes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tamis import OptionError
from tamis.spark.streaming.event_log import EventLog, Most, Position

SEED = 4711


def texts(log: EventLog, start: Position, most: Most, end: Position | None = None) -> tuple[list[str], Position]:
    found = log.stretches(start, end, most)
    read = [text for one in log.split(found) for text in log.read(one)["event"].to_pylist()]
    return read, Position(found[-1].file, found[-1].end) if found else start


@pytest.mark.parametrize("most", [Most(), Most(rows=1), Most(rows=7), Most(size=1), Most(size=90), Most(files=1)])
def test_every_line_is_read_once_while_the_log_grows(most: Most, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    log, at, seen, written = EventLog(str(tmp_path)), Position(), [], []
    for number in range(60):
        file = tmp_path / f"{number // 10:03}.jsonl"
        line = json.dumps({"n": number, "text": "é" * draw.randrange(9)})
        with file.open("a") as end:
            end.write(line + "\n" + "\n" * draw.randrange(2))
        written.append(line)
        if draw.random() < 0.5:
            more, at = texts(log, at, most)
            seen += more
    while (step := texts(log, at, most))[1] != at:
        seen, at = seen + step[0], step[1]

    assert seen == written


def test_an_unfinished_line_is_not_there_yet_and_the_last_of_a_finished_file_is(tmp_path: Path) -> None:
    log = EventLog(str(tmp_path))
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n{"a"')
    first, at = texts(log, Position(), Most())
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n{"a": 2}')
    (tmp_path / "2.jsonl").write_text('{"a": 3}\n')

    assert first == ['{"a": 1}']
    assert texts(log, at, Most())[0] == ['{"a": 2}', '{"a": 3}']


def test_an_event_has_its_own_id_or_the_place_where_it_stands(tmp_path: Path) -> None:
    lines = ['{"event_id": "x"}', '{"event_id": 7}', "{", '{"a": 1}', "[]", '{"event_id": null}']
    (tmp_path / "1.jsonl").write_text("\n".join(lines) + "\n")
    log = EventLog(str(tmp_path))
    (whole,) = log.stretches(Position())

    ids = log.read(whole)["event_id"].to_pylist()

    assert ids == ["x", "7", "1.jsonl:34", "1.jsonl:36", "1.jsonl:45", "1.jsonl:48"]


def test_a_log_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected a folder that is there"):
        EventLog(str(tmp_path / "none"))
    with pytest.raises(OptionError, match="and that all workers see"):
        EventLog("hdfs://host/log")
