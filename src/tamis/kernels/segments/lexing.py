"""Cut expressions into units by the million, and find out which are written alike.

A *unit* is what stands between two `and` of the outermost level: a test, or something in parentheses or behind `not`.
A text with an `or` at the outermost level is one unit. The *shape* of a unit is its tokens with a mark in the place of
each constant: `price < 10` and `price  <  2.5` have one shape, and so have two lists of different length.

    (brand = 'a' or size in (1, 2)) and price < 10     units    (brand = § or size in (§))    price < §
                                                       constants   'a'   1, 2                 10

What a shape means is for the real parser to say, once for all that have it. So nothing is understood here: whatever is
not a constant is part of the shape as it stands. All that must be right is where a constant begins and ends, and that a
word in its place may be one. What is in doubt (a number too long, a stray character, quotes or parentheses that do not
close) makes the text odd, and odd texts are left to the parser one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.numbering import MOST_PROBES, new_table

__all__ = ["INSTANT", "INTEGER", "MARKS", "NONE", "REAL", "STRING", "Constants", "Filled", "Shapes", "Units"]
__all__ += ["first_constants", "new_constants", "new_filled", "new_shapes", "new_units", "split_texts"]

NONE, INTEGER, REAL, STRING, INSTANT = 0, 1, 2, 3, 4
"""Kinds of constants. A word in the place of a constant is a STRING."""

MARKS = ("number", "string", "word", "timestamp", "numbers", "strings", "timestamps")
"""What stands for a constant, or a list of them, in a shape: a byte, which is a position in this tuple plus one."""
_NUMBER, _STRING, _WORD, _TIMESTAMP, _NUMBERS, _STRINGS, _TIMESTAMPS = range(1, 8)
_END = 32

_MOST_DIGITS = 18  # always fits int64
_EXACT_DIGITS = 15  # always fits a double
_LONGEST_REAL = 64
_LONGEST_TEXT = 65_536
_LETTERS = 1 << 22
_SHAPES = 1 << 15
"""Room for shapes; texts for which there is none are odd, since nothing is gained where most differ."""

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class Constants(NamedTuple):
    """The constants of all texts in the order of their coming."""

    kind: npt.NDArray[np.int8]
    mark: npt.NDArray[np.int8]  # what stands for it, or for the list that it begins, in the shape
    escaped: Mask  # a quote is written twice in it
    start: Longs  # where its text begins, without quotes
    length: Ints  # of its text
    value: Longs  # the number itself where the kind is INTEGER
    members: Ints  # how many there are in the list that begins with it; one alone is a list of one


class Units(NamedTuple):
    """The units of all texts: text r has those from `start[r]` to `start[r + 1]`."""

    start: Longs
    shape: Ints
    constant: Longs  # its first one; there is one entry more
    begin: Longs  # where its text begins
    length: Ints  # of its text


class Shapes(NamedTuple):
    """Distinct shapes: their bytes, one after another, and a hash table of them, at first all zeros."""

    letters: Bytes
    start: Longs
    table: Ints


class Filled(NamedTuple):
    """How much has been written, in arrays of one, and the constant read last."""

    units: Longs
    constants: Longs
    shapes: Longs
    found: Longs  # kind, mark, start, length, value, escaped


def new_constants(capacity: int) -> Constants:
    """Room for so many; what is never written to costs nothing."""
    kind, mark, escaped = np.empty(capacity, np.int8), np.empty(capacity, np.int8), np.empty(capacity, np.bool_)
    start, value = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    length, members = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    return Constants(kind, mark, escaped, start, length, value, members)


def first_constants(constants: Constants, count: int) -> Constants:
    """The first of them."""
    return Constants._make(column[:count] for column in constants)


def new_units(texts: int, capacity: int) -> Units:
    """Room for so many units of so many texts."""
    shape, length = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    constant, begin = np.empty(capacity + 1, np.int64), np.empty(capacity, np.int64)
    return Units(np.zeros(texts + 1, np.int64), shape, constant, begin, length)


def new_shapes() -> Shapes:
    """Room for all the shapes that are told apart."""
    return Shapes(np.empty(_LETTERS, np.uint8), np.zeros(_SHAPES + 1, np.int64), new_table(_SHAPES))


def new_filled() -> Filled:
    """Nothing written yet."""
    return Filled(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(6, np.int64))


def _packed(word: str) -> int:
    """Letters as five bits each: equal for equal words of up to twelve letters, whatever their case."""
    packed = 0
    for letter in word:
        packed = packed << 5 | (ord(letter) - 96)
    return packed


_AND, _CONTAINS, _IN, _BETWEEN, _WITH, _OR, _STAMP = (
    _packed(word) for word in ("and", "contains", "in", "between", "with", "or", "timestamp")
)
_NOT, _IS, _MISSING, _PRESENT, _STARTS, _TRUE, _FALSE = (
    _packed(word) for word in ("not", "is", "missing", "present", "starts", "true", "false")
)


@kernel
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95 or byte >= 128


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
    """A short word of ASCII letters, packed; else 0."""
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
        packed == _AND or packed == _OR or packed == _NOT or packed == _IN or packed == _BETWEEN or packed == _IS
        or packed == _MISSING or packed == _PRESENT or packed == _STARTS or packed == _WITH
        or packed == _CONTAINS or packed == _TRUE or packed == _FALSE
    )  # fmt: skip


@kernel
def _is_plain(text: Bytes, start: int, stop: int) -> bool:
    for i in range(start, stop):
        if text[i] >= 128:
            return False
    return True


@kernel
def _number(text: Bytes, at: int, stop: int) -> tuple[int, int, int]:
    """The end, the kind and the integer value of the number at `at`; NONE if it is odd."""
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
    if (i < stop and (_is_letter(text[i]) or text[i] == 46)) or (found == REAL and i - at > _LONGEST_REAL):
        return i, NONE, 0
    return i, found, -value if negative else value


@kernel
def _closing(text: Bytes, at: int, stop: int) -> tuple[int, bool]:
    """Where the quoted text that begins at `at` has its last quote, -1 if nowhere; whether a quote is doubled in it."""
    quote = text[at]
    doubled = False
    i = at + 1
    while i < stop:
        if text[i] == quote:
            if i + 1 >= stop or text[i + 1] != quote:
                return i, doubled
            doubled = True
            i += 1
        i += 1
    return -1, doubled


@kernel
def _quoted(text: Bytes, at: int, stop: int, kind: int, mark: int, found: Longs) -> int:
    """Note the string whose quote is at `at` in `found`; where it ends, -1 if nowhere."""
    last, doubled = _closing(text, at, stop)
    found[0], found[1], found[2], found[3], found[4], found[5] = kind, mark, at + 1, last - at - 1, 0, doubled
    return last + 1 if last >= 0 else -1


@kernel
def _constant(text: Bytes, at: int, stop: int, found: Longs) -> int:
    """Note the string, the number or the word at `at`, or `timestamp '…'`; where it ends, -1 if it is odd."""
    if text[at] == 39:
        return _quoted(text, at, stop, STRING, _STRING, found)
    end = _word_end(text, at, stop)
    if end == at:
        end, kind, value = _number(text, at, stop)
        found[0], found[1], found[2], found[3], found[4], found[5] = kind, _NUMBER, at, end - at, value, False
        return end if kind != NONE else -1
    quote = _skip(text, end, stop)
    if quote < stop and text[quote] == 39 and _keyword(text, at, end) == _STAMP:
        return _quoted(text, quote, stop, INSTANT, _TIMESTAMP, found)
    found[0], found[1], found[2], found[3], found[4], found[5] = STRING, _WORD, at, end - at, 0, False
    return end


@inlined
def _write(constants: Constants, n: int, found: Longs) -> None:
    constants.kind[n], constants.mark[n], constants.start[n] = found[0], found[1], found[2]
    constants.length[n], constants.value[n], constants.escaped[n] = found[3], found[4], found[5] != 0
    constants.members[n] = 1


@inlined
def _begins_literal(byte: int) -> bool:
    return byte == 39 or _is_digit(byte) or byte == 43 or byte == 45 or byte == 46


@kernel
def _list(text: Bytes, at: int, stop: int, constants: Constants, first: int, found: Longs) -> tuple[int, int]:
    """Write the constants of the list that begins behind its parenthesis at `at`, all of one sort, as those from
    `first` on; where it ends, behind its other parenthesis, and its mark. The mark is 0 if it is no such list."""
    n, sort, reals, long = first, 0, False, False
    while True:
        at = _skip(text, at, stop)
        if at >= stop:
            return at, 0
        if not _begins_literal(text[at]):
            end = _word_end(text, at, stop)
            if end == at or _is_keyword(_keyword(text, at, end)) or not _is_plain(text, at, end):
                return at, 0
        at = _constant(text, at, stop, found)
        if at < 0:
            return at, 0
        _write(constants, n, found)
        mark = found[1]
        reals = reals or constants.kind[n] == REAL
        long = long or (mark == _NUMBER and constants.length[n] > _EXACT_DIGITS)
        mark = _STRING if mark == _WORD else mark
        if sort != 0 and mark != sort:
            return at, 0
        sort = mark
        n += 1
        at = _skip(text, at, stop)
        if at >= stop or (text[at] != 44 and text[at] != 41):
            return at, 0
        at += 1
        if text[at - 1] == 41:
            break
    if reals and long:
        return at, 0
    if reals:
        for i in range(first, n):  # one kind for all of them
            constants.kind[i] = REAL
    mark = _NUMBERS if sort == _NUMBER else _STRINGS if sort == _STRING else _TIMESTAMPS
    constants.members[first], constants.mark[first] = n - first, mark
    return at, mark


@kernel
def _hash(letters: Bytes, start: int, stop: int) -> Any:
    """A hash of the bytes from `start` to `stop`, eight at a time."""
    state = np.uint64(0x243F6A8885A308D3) ^ np.uint64(stop - start)
    at = start
    while at < stop:
        word = np.uint64(0)
        for i in range(at, min(at + 8, stop)):
            word = (word << np.uint64(8)) | np.uint64(letters[i])
        state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
        at += 8
    return state


@kernel
def _shape(letters: Bytes, starts: Longs, table: Ints, end: int, known: int) -> int:
    """The number of the shape whose bytes lie behind those known, up to `end`; `known` if it is new, -1 for no room."""
    start = starts[known]
    mask = np.uint64(len(table) - 1)
    place = _hash(letters, start, end) & mask
    for _ in range(MOST_PROBES):
        number = table[place] - 1
        if number < 0:
            if known >= len(starts) - 1:
                return -1
            table[place] = known + 1
            return known
        first, length = starts[number], end - start
        same = starts[number + 1] - first == length
        i = 0
        while same and i < length:
            same = letters[first + i] == letters[start + i]
            i += 1
        if same:
            return number
        place = (place + np.uint64(1)) & mask
    return -1


@inlined
def _close(begin: int, end: int, first: int, out: int, units: Units, shapes: Shapes, filled: Filled) -> bool:
    """A unit ends: it gets the number of its shape. False if it is empty, or if there is no room."""
    known, unit = filled.shapes[0], filled.units[0]
    number = _shape(shapes.letters, shapes.start, shapes.table, out, known) if end > begin else -1
    if number >= 0:
        if number == known:
            shapes.start[known + 1] = out
            filled.shapes[0] = known + 1
        units.shape[unit], units.constant[unit] = number, first
        units.begin[unit], units.length[unit] = begin, end - begin
        filled.units[0] = unit + 1
    return number >= 0


@kernel
def _split(
    text: Bytes, at: int, stop: int, whole: bool, units: Units, constants: Constants, shapes: Shapes, filled: Filled
) -> int:
    """Cut one text into units. 0 if it was, 1 if it is odd, 2 if there is an `or` outside and it must stay `whole`."""
    letters, found = shapes.letters, filled.found
    at = _skip(text, at, stop)
    begin, end, out, first = at, at, shapes.start[filled.shapes[0]], filled.constants[0]
    n, depth = first, 0
    between, operand, listed = False, False, False  # `and` belongs to a between; a word here is a constant; behind `in`
    if out + 2 * (stop - at) + 2 > len(letters):
        return 1
    while True:
        byte: Any = text[at] if at < stop else np.uint8(0)
        after, mark, packed = at, 0, 0
        if at >= stop or _is_letter(byte):
            after = _word_end(text, at, stop)
            packed = _keyword(text, at, after)
            outside = depth == 0 and not whole and not between
            if at >= stop or (packed == _AND and outside):
                if depth != 0 or not _close(begin, end, first, out, units, shapes, filled):
                    return 1
                if at >= stop:
                    filled.constants[0] = n
                    return 0
                at = begin = end = _skip(text, after, stop)
                out, first = shapes.start[filled.shapes[0]], n
                operand = listed = False
                continue
            if packed == _OR and depth == 0 and not whole:
                return 2
            if operand and not _is_keyword(packed) and _is_plain(text, at, after):
                mark = 1
        elif _begins_literal(byte):
            mark = 1
        if mark:
            after = _constant(text, at, stop, found)
            if after < 0:
                return 1
            _write(constants, n, found)
            mark = found[1]
            n += 1
            letters[out] = mark
            out += 1
            operand = listed = False
        elif after > at:
            lower = np.uint8(32) if _is_keyword(packed) else np.uint8(0)
            for i in range(at, after):
                letters[out] = text[i] | lower
                out += 1
            operand = packed == _CONTAINS or packed == _WITH or packed == _BETWEEN or (packed == _AND and between)
            between = packed == _BETWEEN or (between and packed != _AND)
            listed = packed == _IN
        else:
            after = at + 1
            operand = byte == 60 or byte == 61 or byte == 62
            if byte == 34 or byte == 96:
                last, _ = _closing(text, at, stop)
                if last < 0:
                    return 1
                after = last + 1
            elif operand or byte == 33:
                twin = text[after] if after < stop else np.uint8(0)
                if twin == 61 or (byte == 60 and twin == 62):
                    operand = True
                    after += 1
                elif byte == 33:
                    return 1
            elif byte == 40:
                depth += 1
            elif byte == 41:
                depth -= 1
                if depth < 0:
                    return 1
            elif byte != 44 and byte != 64:
                return 1
            for i in range(at, after):
                letters[out] = text[i]
                out += 1
            if byte == 40 and listed:
                behind, mark = _list(text, after, stop, constants, n, found)
                if mark:
                    n += constants.members[n]
                    letters[out], letters[out + 1], letters[out + 2] = _END, mark, 41
                    out += 3
                    depth -= 1
                    after = behind
            listed = False
        letters[out] = _END
        out += 1
        end = after
        at = _skip(text, after, stop)


@kernel
def split_texts(
    text: Bytes, starts: Longs, units: Units, constants: Constants, shapes: Shapes, filled: Filled, odd: Mask
) -> None:
    """Cut every text; `filled` comes in as zeros and will be the numbers of units, constants and shapes.

    `units` and `constants` need room for one per two bytes. An odd text has no units.
    """
    for row in range(len(starts) - 1):
        unit, stop = filled.units[0], starts[row + 1]
        units.start[row] = unit
        found = 1
        for attempt in range(2 if stop - starts[row] <= _LONGEST_TEXT else 0):
            filled.units[0] = unit
            found = _split(text, starts[row], stop, attempt == 1, units, constants, shapes, filled)
            if found != 2:
                break
        if found:
            filled.units[0] = unit
        odd[row] = found != 0
    units.start[len(starts) - 1] = filled.units[0]
    units.constant[filled.units[0]] = filled.constants[0]
