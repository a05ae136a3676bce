"""Values as text that compares as the values do, in any database whose text compares by bytes.

A database's own numbers would round 2**53 + 1, its own strings may refuse U+0000 or sort by language. So a number is
written as sign, binary exponent and mantissa in hexadecimal, a string as its UTF-8 bytes; equal values have equal keys.

    1 → 'p00100001.8'      2.5 → 'p00100002.a'      -1 → '!ffeffffe.7g'      'ab' → '6162'
"""

from __future__ import annotations

from tamis.model import Kind, Value

__all__ = ["KINDS", "key"]

KINDS = {Kind.NUMBER: "n", Kind.STRING: "s", Kind.BOOLEAN: "b", Kind.TIMESTAMP: "t", Kind.RECORD: "r"}

_MIDDLE = 1 << 20
"""Added to exponents, which lie far within ±1,048,576: doubles stop at 1024, integers at 4,000 digits."""

_FLIPPED = str.maketrans("0123456789abcdef", "fedcba9876543210")


def key(value: Value) -> str:
    if value.kind is Kind.STRING:
        return str(value.data).encode("utf-8", "surrogatepass").hex()
    if value.kind is Kind.BOOLEAN:
        return "1" if value.data else "0"
    return _number_key(value.data)  # type: ignore[arg-type]  # the other two kinds are numbers


def _number_key(data: int | float) -> str:
    numerator, denominator = data.as_integer_ratio()
    if not numerator:
        return "0"  # '!' < '0' < 'p', as below zero < zero < above
    size = abs(numerator)
    exponent = size.bit_length() - denominator.bit_length() + 1  # a power of two has one bit
    mantissa = _digits(size)
    if numerator > 0:
        return f"p{_MIDDLE + exponent:08x}.{mantissa}"
    return f"!{_MIDDLE + exponent:08x}.{mantissa}".translate(_FLIPPED) + "g"


def _digits(size: int) -> str:
    """The bits from the leading one on, four to a digit, without zeros at the end."""
    padding = -size.bit_length() % 4
    return f"{size << padding:x}".rstrip("0")
