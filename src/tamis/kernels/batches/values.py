"""Tokens of text → the bytes of a column of strings, and instants."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.batches.json_text import hex_at
from tamis.kernels.batches.tokens import ESCAPED
from tamis.kernels.batches.words import put_word, word_at
from tamis.kernels.jit import inlined, kernel

__all__ = ["copy_texts", "read_instants"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_SECOND, _DAY = 1_000_000_000, 86_400


@inlined
def _plain_escape(sign: Any) -> Any:
    if sign == 98:
        return 8
    if sign == 102:
        return 12
    if sign == 110:
        return 10
    if sign == 114:
        return 13
    return 9 if sign == 116 else sign


@kernel
def _put(code: Any, out: Bytes, to: Any) -> Any:
    """A character as UTF-8; past it."""
    if code < 0x80:
        out[to] = code
        return to + 1
    if code < 0x800:
        out[to], out[to + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return to + 2
    if code < 0x10000:
        out[to], out[to + 1], out[to + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63
        return to + 3
    out[to], out[to + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 63
    out[to + 2], out[to + 3] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return to + 4


@kernel
def _unescape(text: Bytes, at: Any, end: Any, out: Bytes, to: Any) -> Any:
    """What a string with escapes stands for, as UTF-8; past it, or -1 if it holds half a character."""
    while at < end:
        sign = np.int64(text[at])
        if sign != 92:
            out[to] = sign
            at, to = at + 1, to + 1
            continue
        sign = np.int64(text[at + 1])
        if sign != 117:
            out[to] = _plain_escape(sign)
            at, to = at + 2, to + 1
            continue
        code = hex_at(text, at + 2)
        at += 6
        if 0xD800 <= code < 0xDC00 and at + 6 <= end and text[at] == 92 and text[at + 1] == 117:
            low = hex_at(text, at + 2)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
                at += 6
        if 0xD800 <= code < 0xE000:
            return -1
        to = _put(code, out, to)
    return to


@kernel
def copy_texts(text: Bytes, kind: Bytes, data: Longs, size: Ints, offsets: Ints, out: Bytes, sound: Truths) -> Any:
    """The texts of tokens one after another, with `offsets`, one more than texts; how many bytes they are.

    Where there are escapes, what they stand for. False in `sound` for a text that is none. `out` has room for eight
    bytes more than all of the tokens.
    """
    to = np.int64(0)
    for one in range(len(data)):
        offsets[one] = to
        at, end = data[one], data[one] + size[one]
        sound[one] = True
        if kind[one] == ESCAPED:
            past = _unescape(text, at, end, out, to)
            sound[one] = past >= 0
            to = max(to, past)
        else:
            for place in range(0, size[one], 8):
                put_word(out, to + place, word_at(text, at + place))
            to += size[one]
    offsets[len(data)] = to
    return to


@inlined
def _digits(text: Bytes, at: Any, count: Any) -> Any:
    """The number that so many digits stand for; negative if they are no digits."""
    found = np.int64(0)
    for place in range(at, at + count):
        digit = np.int64(text[place]) - 48
        found = found * 10 + digit if 0 <= digit <= 9 and found >= 0 else np.int64(-1)
    return found


@inlined
def _days(year: Any, month: Any, day: Any) -> Any:
    """Since 1970-01-01; years begin in March, so that a leap day is the last."""
    year -= month <= 2
    of_era = year % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year // 400 * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@inlined
def _month_days(year: Any, month: Any) -> Any:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@kernel
def read_instants(text: Bytes, offsets: Ints, instants: Longs, sound: Truths) -> None:
    """Dates (`2024-05-31`) and instants (`2024-05-31T12:00:00`, up to nine digits of a second, `Z` or nothing) as
    nanoseconds since 1970; false in `sound` for whatever else stands there or does not fit."""
    for one in range(len(instants)):
        at, end = np.int64(offsets[one]), np.int64(offsets[one + 1])
        sound[one] = False
        if end - at < 10 or text[at + 4] != 45 or text[at + 7] != 45:
            continue
        year, month, day = _digits(text, at, 4), _digits(text, at + 5, 2), _digits(text, at + 8, 2)
        if not (1700 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= _month_days(year, month)):
            continue
        seconds, fraction = _days(year, month, day) * _DAY, np.int64(0)
        at += 10
        if at < end:
            if end - at < 9 or text[at] != 84 or text[at + 3] != 58 or text[at + 6] != 58:
                continue
            hour, minute, second = _digits(text, at + 1, 2), _digits(text, at + 4, 2), _digits(text, at + 7, 2)
            if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
                continue
            seconds += hour * 3600 + minute * 60 + second
            at += 9
            end -= text[end - 1] == 90
            if at < end:
                size = end - at - 1
                if text[at] != 46 or size < 1 or size > 9:
                    continue
                fraction = _digits(text, at + 1, size)
                if fraction < 0:
                    continue
                for _ in range(9 - size):
                    fraction *= 10
        instants[one] = seconds * _SECOND + fraction
        sound[one] = True
