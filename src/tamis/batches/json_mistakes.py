"""What is not JSON, told by line and column."""

from __future__ import annotations

from tamis.errors import EventError
from tamis.kernels.batches import json_events as mistakes

__all__ = ["Mistakes"]

_EXPECTED = {
    mistakes.WRONG_VALUE: "a value",
    mistakes.WRONG_NAME: "a name in double quotes",
    mistakes.WRONG_COLON: "':' after a name",
    mistakes.WRONG_MEMBER: "',' or '}'",
    mistakes.WRONG_ITEM: "',' or ']'",
    mistakes.WRONG_STRING: "a character of a string, or its closing quote",
    mistakes.WRONG_NUMBER: "a digit of a number",
    mistakes.WRONG_DEPTH: f"at most {mistakes.MOST_BRACKETS} brackets inside one another",
    mistakes.WRONG_END: "the end of the line",
}


class Mistakes:
    """Sentences about one text; asked about it from front to back, each line is counted once."""

    def __init__(self, data: memoryview, *, is_array: bool) -> None:
        self._data = data
        self._is_array = is_array
        self._counted, self._lines, self._begin = 0, 1, 0

    def said(self, state: int, at: int) -> EventError:
        expected = _EXPECTED[state]
        if self._is_array and state == mistakes.WRONG_END:
            expected = "',' or ']' after an event, and nothing after the last ']'"
        line, column = self._place(at)
        return EventError(f"expected JSON at line {line}, column {column}: {expected}, found {self._sign(at)}")

    def _place(self, at: int) -> tuple[int, int]:
        if at < self._counted:
            self._counted, self._lines, self._begin = 0, 1, 0
        passed = bytes(self._data[self._counted : at])
        if ends := passed.count(b"\n"):
            self._lines += ends
            self._begin = self._counted + passed.rfind(b"\n") + 1
        self._counted = at
        return self._lines, len(bytes(self._data[self._begin : at]).decode("utf-8", "replace")) + 1

    def _sign(self, at: int) -> str:
        """The character there, as one can read it."""
        if at >= len(self._data):
            return "the end of the text"
        sign = self._data[at]
        if sign == 10:
            return "the end of the line"
        if sign < 32 or sign >= 127:
            found = bytes(self._data[at : at + 4]).decode("utf-8", "ignore")[:1] if sign >= 128 else ""
            return repr(found) if found and ord(found) > 127 else f"byte 0x{sign:02x}"
        return repr(chr(sign))
