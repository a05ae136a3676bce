"""The parts of JSON's grammar: strings in UTF-8, numbers, words. Zeros must follow the text, which end everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.batches.tokens import REAL, REAL_TEXT, WHOLE
from tamis.kernels.batches.words import odd_letters, word_at
from tamis.kernels.bits import trailing_zeros
from tamis.kernels.jit import inlined, kernel

__all__ = ["escape_size", "hex_at", "number_end", "string_end", "utf8_size", "word_size"]

Bytes = npt.NDArray[np.uint8]

_NONE, _THREE = np.uint64(0), np.uint64(3)
_EXACT = 1 << 53
_MOST_DIGITS = 18
"""So many fit 64 bits whatever they are."""
_MOST_POWER = 22
_POWERS = 10.0 ** np.arange(_MOST_POWER + 1)
"""These powers of ten are doubles, so that one multiplication or division with one of them rounds once."""


@kernel
def utf8_size(text: Bytes, at: Any) -> Any:
    """The bytes of the character that begins there, which is not ASCII; 0 if none does."""
    first, second, third = np.int64(text[at]), np.int64(text[at + 1]), np.int64(text[at + 2])
    if first < 0xC2 or first > 0xF4 or second & 0xC0 != 0x80:
        return 0
    if first < 0xE0:
        return 2
    if third & 0xC0 != 0x80:
        return 0
    if first < 0xF0:
        too_long, surrogate = first == 0xE0 and second < 0xA0, first == 0xED and second >= 0xA0
        return 0 if too_long or surrogate else 3
    if np.int64(text[at + 3]) & 0xC0 != 0x80:
        return 0
    return 0 if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second >= 0x90) else 4


@kernel
def hex_at(text: Bytes, at: Any) -> Any:
    """The number that four hexadecimal digits stand for, or -1."""
    found = np.int64(0)
    for place in range(at, at + 4):
        sign = np.int64(text[place])
        if 48 <= sign <= 57:
            found = found * 16 + sign - 48
        elif 97 <= sign | 32 <= 102:
            found = found * 16 + (sign | 32) - 87
        else:
            return -1
    return found


@kernel
def escape_size(text: Bytes, at: Any) -> Any:
    """The bytes of the escape whose backslash stands there; 0 if it is none."""
    sign = np.int64(text[at + 1])
    if sign == 117:  # u
        return 6 if hex_at(text, at + 2) >= 0 else 0
    plain = sign == 34 or sign == 92 or sign == 47 or sign == 98 or sign == 102 or sign == 110 or sign == 114
    return 2 if plain or sign == 116 else 0


@inlined
def string_end(text: Bytes, at: Any) -> Any:
    """Where the closing quote stands, for a string whose first byte is at `at`, and whether there are escapes in it.

    If it is no string, minus one minus the place where it goes wrong.
    """
    escaped = False
    going, wrong = True, False
    while going:
        odd = odd_letters(word_at(text, at))
        if odd == _NONE:
            at += 8
            continue
        at += np.int64(trailing_zeros(odd) >> _THREE)
        sign = text[at]
        if sign == 34:
            going = False
        elif sign == 92 or sign >= 128:
            size = escape_size(text, at) if sign == 92 else utf8_size(text, at)
            escaped |= sign == 92
            going, wrong = size > 0, size == 0
            at += size
        else:
            going, wrong = False, True
    return (-1 - at if wrong else at), escaped


@kernel
def word_size(text: Bytes, at: Any) -> Any:
    """The bytes of `true`, `false` or `null` if one stands there, else 0."""
    found = word_at(text, at)
    if found & np.uint64(0xFFFFFFFF) == np.uint64(0x65757274) or found & np.uint64(0xFFFFFFFF) == np.uint64(0x6C6C756E):
        return 4
    return 5 if found & np.uint64(0xFFFFFFFFFF) == np.uint64(0x65736C6166) else 0


@inlined
def number_end(text: Bytes, at: Any) -> Any:
    """Past the number that begins there, what it is (`WHOLE`, `REAL`, `REAL_TEXT`), and its data.

    If it is none, minus one minus the place where it goes wrong. A whole number of too many digits is `REAL_TEXT` with
    data 1: it is no double.
    """
    negative = text[at] == 45
    if negative:
        at += 1
    first = at
    digits, mantissa, power = np.int64(0), np.int64(0), np.int64(0)
    digit = np.int64(text[at]) - 48
    while 0 <= digit <= 9:
        mantissa = mantissa * 10 + digit
        at += 1
        digit = np.int64(text[at]) - 48
    digits = at - first
    wrong = digits == 0 or (digits > 1 and text[first] == 48)
    real = digit == -2
    if real and not wrong:
        at += 1
        after = at
        digit = np.int64(text[at]) - 48
        while 0 <= digit <= 9:
            mantissa = mantissa * 10 + digit
            at += 1
            digit = np.int64(text[at]) - 48
        power = after - at
        digits -= power
        wrong = power == 0
    if (digit == 53 or digit == 21) and not wrong:  # e, E
        real = True
        at += 1
        minus = text[at] == 45
        if minus or text[at] == 43:
            at += 1
        after, raised = at, np.int64(0)
        digit = np.int64(text[at]) - 48
        while 0 <= digit <= 9:
            raised = min(raised * 10 + digit, np.int64(100_000))
            at += 1
            digit = np.int64(text[at]) - 48
        power += -raised if minus else raised
        wrong = after == at
    kind, data = WHOLE, -mantissa if negative else mantissa
    if digits > _MOST_DIGITS:
        kind, data = REAL_TEXT, np.int64(0 if real else 1)
    elif real and (mantissa > _EXACT or power > _MOST_POWER or power < -_MOST_POWER):
        kind, data = REAL_TEXT, np.int64(0)
    elif real:
        size = np.float64(mantissa)
        size = size * _POWERS[power] if power > 0 else size / _POWERS[-power]
        kind, data = REAL, np.float64(-size if negative else size).view(np.int64)
    return (-1 - at if wrong else at), kind, data
