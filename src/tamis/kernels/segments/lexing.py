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
from tamis.kernels.numbering import MOST_PROBES, new_table
from tamis.kernels.spans import hash_span

__all__ = [
    "BOOLEAN",
    "INTEGER",
    "NONE",
    "OPERATORS",
    "REAL",
    "STRING",
    "WORD",
    "Names",
    "Tests",
    "first_tests",
    "new_names",
    "new_tests",
    "read_flat",
]

NONE, INTEGER, REAL, STRING, WORD, BOOLEAN = 0, 1, 2, 3, 4, 5
"""Classes of constants."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "contains", "in", "starts with", "is present", "is missing")
"""Codes of operators are positions in this tuple."""
EQ, NE, LT, LE, GT, GE, CONTAINS, IN, STARTS, PRESENT, MISSING, _BETWEEN_AND = range(12)

_MOST_DIGITS = 18  # always fits int64

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Tests(NamedTuple):
    """One record per test, in the order of the texts."""

    row: Ints
    attribute: Ints  # names are numbered in the order of their coming
    operator: npt.NDArray[np.int8]
    constant_class: npt.NDArray[np.int8]
    listed: npt.NDArray[np.bool_]  # a further member of the list that the record before belongs to
    value: Longs  # the number itself where the class is INTEGER, 0 or 1 where BOOLEAN, else where the text begins
    length: Ints  # of the constant's text


class Names(NamedTuple):
    """The distinct attribute names as spans of the column's bytes, and a hash table of them, at first all zeros."""

    start: Longs
    stop: Longs
    table: Ints


def new_tests(capacity: int) -> Tests:
    """Room for so many records; what is never written to costs nothing."""
    row, attribute, length = (np.empty(capacity, np.int32) for _ in range(3))
    operator, constant_class = (np.empty(capacity, np.int8) for _ in range(2))
    listed, value = np.empty(capacity, np.bool_), np.empty(capacity, np.int64)
    return Tests(row, attribute, operator, constant_class, listed, value, length)


def new_names(capacity: int) -> Names:
    """Room for so many names."""
    return Names(np.empty(capacity, np.int64), np.empty(capacity, np.int64), new_table(capacity))


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
def _constant(text: Bytes, at: int, stop: int) -> tuple[int, int, int, int]:
    """Where the constant ends (-1 if it is odd), its class, its value and the length of its text."""
    end, found, value, length = -1, NONE, 0, 0
    byte: Any = text[at] if at < stop else np.uint8(0)
    if byte == 39:
        i = at + 1
        while i < stop and text[i] != 39:
            i += 1
        if i < stop and (i + 1 >= stop or text[i + 1] != 39):
            end, found, value, length = i + 1, STRING, at + 1, i - at - 1
    elif _is_digit(byte) or byte == 43 or byte == 45 or byte == 46:
        after, found, whole = _number(text, at, stop)
        end = after if found != NONE else -1
        value, length = whole if found == INTEGER else at, after - at
    else:
        after = _word_end(text, at, stop)
        packed = _keyword(text, at, after)
        boolean = packed == _TRUE or packed == _FALSE
        if after > at and (boolean or not _is_keyword(packed)):
            end, found = after, BOOLEAN if boolean else WORD
            value, length = (1 if packed == _TRUE else 0) if boolean else at, after - at
    return end, found, value, length


@kernel
def _symbol(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The comparison at `at` and where it ends; -1 if there is none."""
    byte = text[at]
    after = text[at + 1] if at + 1 < stop else np.uint8(0)
    if byte == 61:
        return EQ, at + (2 if after == 61 else 1)
    if byte == 33 and after == 61:
        return NE, at + 2
    if byte == 60:
        if after == 62:
            return NE, at + 2
        return (LE, at + 2) if after == 61 else (LT, at + 1)
    if byte == 62:
        return (GE, at + 2) if after == 61 else (GT, at + 1)
    return -1, at


@kernel
def _worded(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The operator written as words at `at`, and where it ends; -1 if there is none."""
    end = _word_end(text, at, stop)
    packed = _keyword(text, at, end)
    at = _skip(text, end, stop)
    if packed == _W_CONTAINS:
        return CONTAINS, end
    if packed == _IS or packed == _W_STARTS:
        end = _word_end(text, at, stop)
        second = _keyword(text, at, end)
        if packed == _W_STARTS:
            return STARTS if second == _WITH else -1, end
        if second == _W_PRESENT or second == _W_MISSING:
            return PRESENT if second == _W_PRESENT else MISSING, end
    if packed == _BETWEEN:
        return _BETWEEN_AND, end
    if packed == _W_IN and at < stop and text[at] == 40:
        return IN, at + 1
    return -1, end


@kernel
def _name(text: Bytes, start: int, stop: int, names: Names, known: int) -> int:
    """The number of a name; `known` if it is new, and -1 if it cannot be one."""
    mask = np.uint64(len(names.table) - 1)
    place = hash_span(text, start, stop) & mask
    probes = 0
    while names.table[place] > 0 and probes < MOST_PROBES:
        number = names.table[place] - 1
        first, length = names.start[number], stop - start
        same = names.stop[number] - first == length
        i = 0
        while same and i < length:
            same = text[start + i] == text[first + i]
            i += 1
        if same:
            return number
        place = (place + np.uint64(1)) & mask
        probes += 1
    if probes == MOST_PROBES or _is_keyword(_keyword(text, start, stop)):
        return -1
    names.start[known], names.stop[known], names.table[place] = start, stop, known + 1
    return known


@kernel
def read_flat(text: Bytes, starts: Longs, tests: Tests, names: Names, odd: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Read every text; the values are the numbers of records and of names.

    `tests` and `names` need room for one record per two bytes.
    """
    out_row, out_attribute, out_operator, out_constant_class, out_listed, out_value, out_length = tests
    n, known = 0, 0
    for row in range(len(starts) - 1):
        first = n
        at, stop = _skip(text, starts[row], starts[row + 1]), starts[row + 1]
        odd[row] = True
        while True:
            end = _word_end(text, at, stop)
            attribute = _name(text, at, end, names, known) if end > at else -1
            known = max(known, attribute + 1)
            at = _skip(text, end, stop)
            if attribute < 0 or at >= stop:
                break
            operator, at = _symbol(text, at, stop)
            if operator < 0:
                operator, at = _worded(text, at, stop)
            if operator < 0:
                break
            member = 0
            while at >= 0:
                out_row[n], out_attribute[n], out_listed[n] = row, attribute, operator == IN and member > 0
                out_operator[n], out_constant_class[n] = operator, NONE
                if operator == PRESENT or operator == MISSING:
                    n += 1
                    break
                at, out_constant_class[n], out_value[n], out_length[n] = _constant(text, _skip(text, at, stop), stop)
                if operator == _BETWEEN_AND:
                    out_operator[n] = GE if member == 0 else LE
                n += 1
                member += 1
                if at < 0 or (operator != IN and (operator != _BETWEEN_AND or member == 2)):
                    break
                at = _skip(text, at, stop)
                if operator == _BETWEEN_AND:
                    end = _word_end(text, at, stop)
                    at = end if _keyword(text, at, end) == _AND else -1
                elif at < stop and text[at] == 41:
                    at += 1
                    break
                else:
                    at = at + 1 if at < stop and text[at] == 44 else -1
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
    return n, known
