"""JSON that arrives, read by msgspec: integers of any size stay exact, and what is wrong is told with its place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from tamis.errors import LimitError
from tamis.server.problems import BadBody

__all__ = ["decode", "decode_as", "decode_lines"]

_T = TypeVar("_T")


def decode(body: bytes) -> Any:
    """Any JSON value."""
    return decode_as(body, Any)


def decode_as(body: bytes, kind: type[_T], place: str = "") -> _T:
    """JSON that must have a shape; `place` stands before the sentence."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise BadBody(f"{place}{_worded(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadBody(f"{place}expected JSON: {_worded(str(error))}") from None
    except RecursionError:
        most = sys.getrecursionlimit()
        raise LimitError(f"{place}expected fewer brackets inside one another", most, most) from None


def decode_lines(body: bytes, kind: type[_T]) -> Iterator[_T]:
    """JSON lines; blank ones are skipped, and a mistake is told with its line."""
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            yield decode_as(line, kind, f"line {number}: ")


def _worded(sentence: str) -> str:
    """msgspec's sentence in our words."""
    return sentence.replace("Expected", "expected").replace(", got", ", found").replace("`", "'")
