"""Read flat expressions by the million: `test and test and …`, each test an attribute, an operator and constants.

Texts come as an Arrow string column: bytes, and where each text starts. What is read is columns, one record per
test; an `in (…)` gives one record per member and a `between` two. Nothing is looked up here: names and constants stay
spans of bytes. Whatever is not flat and plain (parentheses, `or`, `not`, `@`, quoted names, doubled quotes, bytes past
ASCII outside quotes, a mistake) marks the text as odd, and odd texts take the slow road through the real parser, which
alone decides what is right. So this reader may refuse much, but must never read anything differently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = [
    "BOOLEAN",
    "INTEGER",
    "NONE",
    "OPERATORS",
    "REAL",
    "STRING",
    "WORD",
    "Tests",
    "copy_spans",
    "first_tests",
    "hash_spans",
    "new_tests",
    "read_flat",
    "same_spans",
]

NONE, INTEGER, REAL, STRING, WORD, BOOLEAN = 0, 1, 2, 3, 4, 5
"""Classes of constants."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "contains", "in", "starts with", "is present", "is missing")
"""Codes of operators are positions in this tuple."""
_EQ, _NE, _LT, _LE, _GT, _GE, _CONTAINS, _IN, _STARTS, _PRESENT, _MISSING = range(11)

_MOST_DIGITS = 18  # always fits int64

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Tests(NamedTuple):
    """One record per test, in the order of the texts. Spans are positions in the column's bytes."""

    row: Ints
    name_start: Longs
    name_stop: Longs
    operator: npt.NDArray[np.int8]
    constant_class: npt.NDArray[np.int8]
    constant_start: Longs
    constant_stop: Longs
    integer: Longs  # the value where the class is INTEGER, 0 or 1 where BOOLEAN


def new_tests(capacity: int) -> Tests:
    longs = [np.empty(capacity, np.int64) for _ in range(5)]
    bytes_ = [np.empty(capacity, np.int8) for _ in range(2)]
    return Tests(np.empty(capacity, np.int32), longs[0], longs[1], bytes_[0], bytes_[1], longs[2], longs[3], longs[4])


def first_tests(tests: Tests, count: int) -> Tests:
    """The first records."""
    return Tests._make(column[:count] for column in tests)


def _packed(word: str) -> int:
    """Letters as five bits each: equal for equal words of up to twelve letters, whatever their case."""
    packed = 0
    for letter in word:
        packed = packed << 5 | (ord(letter) - 96)
    return packed


_AND, _W_CONTAINS, _W_IN, _BETWEEN, _IS, _W_MISSING, _W_PRESENT, _W_STARTS, _WITH, _TRUE, _FALSE = (
    _packed(word)
    for word in ["and", "contains", "in", "between", "is", "missing", "present", "starts", "with", "true", "false"]
)
_OR, _NOT, _TIMESTAMP = _packed("or"), _packed("not"), _packed("timestamp")


@kernel
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95


@kernel
def _skip(text: Bytes, at: int, stop: int) -> int:
    while at < stop and (text[at] == 32 or 9 <= text[at] <= 13):
        at += 1
    return at


@kernel
def _word_end(text: Bytes, at: int, stop: int) -> int:
    """Where the word ends; `at` itself if there is none. A word may have dots inside."""
    if at >= stop or not _is_letter(text[at]):
        return at
    i = at + 1
    while i < stop:
        if _is_letter(text[i]) or _is_digit(text[i]):
            i += 1
        elif text[i] == 46 and i + 1 < stop and _is_letter(text[i + 1]):
            i += 2
        else:
            break
    return i


@kernel
def _keyword(text: Bytes, start: int, stop: int) -> int:
    if stop - start > 12:
        return 0
    packed: Any = 0
    for i in range(start, stop):
        byte = np.int64(text[i]) | 32
        if byte < 97 or byte > 122:
            return 0
        packed = packed << 5 | (byte - 96)
    return packed


@kernel
def _is_keyword(packed: int) -> bool:
    return (
        packed == _AND or packed == _OR or packed == _NOT or packed == _W_IN or packed == _BETWEEN or packed == _IS
        or packed == _W_MISSING or packed == _W_PRESENT or packed == _W_STARTS or packed == _WITH
        or packed == _W_CONTAINS or packed == _TRUE or packed == _FALSE or packed == _TIMESTAMP
    )  # fmt: skip


@kernel
def _number(text: Bytes, at: int, stop: int) -> tuple[int, int, int]:
    """The end, the class and the integer value of the number at `at`; class NONE if it is odd."""
    i = at
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    first = i
    value: Any = 0
    while i < stop and _is_digit(text[i]):
        if i - first < _MOST_DIGITS:
            value = value * 10 + (np.int64(text[i]) - 48)
        i += 1
    digits = i - first
    found = INTEGER
    if i < stop and text[i] == 46:
        found = REAL
        i += 1
        after = i
        while i < stop and _is_digit(text[i]):
            i += 1
        digits += i - after
    if digits == 0 or (found == INTEGER and digits > _MOST_DIGITS):
        return i, NONE, 0
    if i < stop and (text[i] | 32) == 101:
        found = REAL
        i += 1
        if i < stop and (text[i] == 43 or text[i] == 45):
            i += 1
        if i >= stop or not _is_digit(text[i]):
            return i, NONE, 0
        while i < stop and _is_digit(text[i]):
            i += 1
    if i < stop and (_is_letter(text[i]) or text[i] == 46 or text[i] >= 128):
        return i, NONE, 0
    return i, found, -value if negative else value


@kernel
def _constant(text: Bytes, at: int, stop: int, tests: Tests, n: int) -> int:
    """Read a constant into record `n`; the value is where it ends, or -1."""
    if at >= stop:
        return -1
    byte = text[at]
    if byte == 39:
        i = at + 1
        while i < stop and text[i] != 39:
            i += 1
        if i >= stop or (i + 1 < stop and text[i + 1] == 39):
            return -1
        tests.constant_class[n], tests.constant_start[n], tests.constant_stop[n] = STRING, at + 1, i
        tests.integer[n] = 0
        return i + 1
    if _is_digit(byte) or byte == 43 or byte == 45 or byte == 46:
        end, found, value = _number(text, at, stop)
        tests.constant_class[n], tests.constant_start[n], tests.constant_stop[n] = found, at, end
        tests.integer[n] = value
        return end if found != NONE else -1
    end = _word_end(text, at, stop)
    if end == at:
        return -1
    packed = _keyword(text, at, end)
    boolean = packed == _TRUE or packed == _FALSE
    if _is_keyword(packed) and not boolean:
        return -1
    tests.constant_class[n] = BOOLEAN if boolean else WORD
    tests.constant_start[n], tests.constant_stop[n] = at, end
    tests.integer[n] = 1 if packed == _TRUE else 0
    return end


@kernel
def _open(tests: Tests, n: int, row: int, start: int, stop: int, operator: int) -> None:
    tests.row[n], tests.name_start[n], tests.name_stop[n], tests.operator[n] = row, start, stop, operator
    tests.constant_class[n], tests.constant_start[n], tests.constant_stop[n], tests.integer[n] = NONE, 0, 0, 0


@kernel
def _symbol(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The comparison at `at` and where it ends; -1 if there is none."""
    byte = text[at]
    after = text[at + 1] if at + 1 < stop else np.uint8(0)
    if byte == 61:
        return _EQ, at + (2 if after == 61 else 1)
    if byte == 33 and after == 61:
        return _NE, at + 2
    if byte == 60:
        if after == 62:
            return _NE, at + 2
        return (_LE, at + 2) if after == 61 else (_LT, at + 1)
    if byte == 62:
        return (_GE, at + 2) if after == 61 else (_GT, at + 1)
    return -1, at


@kernel
def _worded(text: Bytes, at: int, stop: int, tests: Tests, n: int) -> tuple[int, int]:
    """The rest of a test whose operator is a word. The values are where it ends (-1 if odd) and the next record."""
    row, start, name_stop = tests.row[n], tests.name_start[n], tests.name_stop[n]
    end = _word_end(text, at, stop)
    packed = _keyword(text, at, end)
    at = _skip(text, end, stop)
    if packed == _W_CONTAINS:
        tests.operator[n] = _CONTAINS
        return _constant(text, at, stop, tests, n), n + 1
    if packed == _IS or packed == _W_STARTS:
        end = _word_end(text, at, stop)
        second = _keyword(text, at, end)
        if packed == _W_STARTS:
            tests.operator[n] = _STARTS
            at = _skip(text, end, stop)
            return _constant(text, at, stop, tests, n) if second == _WITH else -1, n + 1
        tests.operator[n] = _PRESENT if second == _W_PRESENT else _MISSING
        return end if second == _W_PRESENT or second == _W_MISSING else -1, n + 1
    if packed == _BETWEEN:
        tests.operator[n] = _GE
        at = _constant(text, at, stop, tests, n)
        if at < 0:
            return -1, n
        at = _skip(text, at, stop)
        end = _word_end(text, at, stop)
        if _keyword(text, at, end) != _AND:
            return -1, n
        _open(tests, n + 1, row, start, name_stop, _LE)
        return _constant(text, _skip(text, end, stop), stop, tests, n + 1), n + 2
    if packed == _W_IN and at < stop and text[at] == 40:
        while True:
            _open(tests, n, row, start, name_stop, _IN)
            at = _constant(text, _skip(text, at + 1, stop), stop, tests, n)
            n += 1
            if at < 0:
                return -1, n
            at = _skip(text, at, stop)
            if at < stop and text[at] == 41:
                return at + 1, n
            if at >= stop or text[at] != 44:
                return -1, n
    return -1, n


@kernel
def read_flat(text: Bytes, starts: Longs, tests: Tests, odd: npt.NDArray[np.bool_]) -> int:
    """Read every text; the value is the number of records. `tests` needs room for one record per two bytes."""
    n = 0
    for row in range(len(starts) - 1):
        first = n
        at, stop = _skip(text, starts[row], starts[row + 1]), starts[row + 1]
        odd[row] = True
        while True:
            end = _word_end(text, at, stop)
            if end == at or _is_keyword(_keyword(text, at, end)):
                break
            _open(tests, n, row, at, end, _EQ)
            at = _skip(text, end, stop)
            if at >= stop:
                break
            operator, after = _symbol(text, at, stop)
            if operator >= 0:
                tests.operator[n] = operator
                at = _constant(text, _skip(text, after, stop), stop, tests, n)
                n += 1
            else:
                at, n = _worded(text, at, stop, tests, n)
            if at < 0:
                break
            at = _skip(text, at, stop)
            if at >= stop:
                odd[row] = False
                break
            end = _word_end(text, at, stop)
            if _keyword(text, at, end) != _AND:
                break
            at = _skip(text, end, stop)
        if odd[row]:
            n = first
    return n


@kernel
def hash_spans(text: Bytes, starts: Longs, stops: Longs, hashes: npt.NDArray[np.uint64]) -> None:
    """A 64-bit hash of each span."""
    for at in range(len(starts)):
        state = np.uint64(0xCBF29CE484222325) ^ np.uint64(stops[at] - starts[at])
        for i in range(starts[at], stops[at]):
            state = (state ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
            state ^= state >> np.uint64(31)
        hashes[at] = state * np.uint64(0x9E3779B97F4A7C15)


@kernel
def same_spans(text: Bytes, starts: Longs, stops: Longs, model: Longs, same: npt.NDArray[np.bool_]) -> None:
    """Whether each span equals the span of its model: equal hashes are not yet equal names."""
    for at in range(len(starts)):
        other = model[at]
        length = stops[at] - starts[at]
        equal = length == stops[other] - starts[other]
        i = 0
        while equal and i < length:
            equal = text[starts[at] + i] == text[starts[other] + i]
            i += 1
        same[at] = equal


@kernel
def copy_spans(text: Bytes, starts: Longs, stops: Longs, offsets: Ints, out: Bytes) -> None:
    """The spans one after another, as the bytes of an Arrow string column with these offsets."""
    for at in range(len(starts)):
        to = offsets[at]
        for i in range(starts[at], stops[at]):
            out[to] = text[i]
            to += 1
