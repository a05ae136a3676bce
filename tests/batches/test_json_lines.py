"""JSON lines: an event per line, mistakes by their line."""

from __future__ import annotations

from tamis.batches.asking import ask
from tamis.batches.json_lines import read_lines, read_text
from tamis.errors import EventError
from tamis.model import Schema

TEXT = '{"a": 1}\n\n  \t\r\n{"a": [2, 3]}\r\n{"a":\n[1]\n{"b": NaN}\n'


def test_lines_have_their_numbers_and_blank_ones_are_skipped() -> None:
    found = dict(read_lines(TEXT))

    assert list(found) == [1, 4, 5, 6, 7]
    assert (found[1], found[4]) == ({"a": 1}, {"a": [2, 3]})
    assert all(isinstance(found[line], EventError) for line in (5, 6))


def test_a_line_that_is_refused_is_told_by_its_number() -> None:
    refused: dict[int, str] = {}

    accepted = dict(ask(read_lines(TEXT), Schema(open=True), lambda line, error: refused.update({line: str(error)})))

    assert list(accepted) == [1, 4]
    assert list(refused) == [5, 6, 7]
    assert refused[5] == "expected an event as JSON: Expecting value at line 1, column 6"
    assert refused[6] == "expected an event as a JSON object, found a list"
    assert refused[7] == "attribute 'b': expected a finite number, found nan"


def test_no_text_is_no_event() -> None:
    assert str(read_text(None)) == "expected an event, found nothing"
