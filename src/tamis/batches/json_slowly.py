"""Events in JSON as mappings, read by Python: for whoever wants them one by one, and while no kernel is compiled yet.

The verdicts are those of the kernel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tamis.batches.asking import Raw
from tamis.batches.json_lines import read_text
from tamis.errors import EventError

__all__ = ["MOST_BRACKETS", "read_slowly"]

MOST_BRACKETS = 512
"""Inside one another."""
_MARK = b"\xef\xbb\xbf"
_OTHER = re.compile(r"[^ \t\n\r]|\Z")


def read_slowly(data: memoryview) -> Iterator[tuple[int, Raw]]:
    """The events of lines, or of one array, with their numbers."""
    text = bytes(data).removeprefix(_MARK)
    if text.lstrip(b" \t\r\n")[:1] == b"[":
        yield from enumerate(_items(text))
        return
    row = 0
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip(b" \t\r"):
            yield row, _event(line, number)
            row += 1


def _event(line: bytes, number: int) -> Raw:
    try:
        found = _DECODER.decode(_checked(line))
    except (_NotJson, UnicodeDecodeError, RecursionError) as error:
        return EventError(f"expected JSON at line {number}: {error}")
    except json.JSONDecodeError as error:
        return EventError(f"expected JSON at line {number}, column {error.colno}: {error.msg}")
    except ValueError:  # a number of too many digits, which whoever uses it will refuse
        return read_text(line.decode())
    return found if isinstance(found, dict) else read_text(line.decode())


def _items(data: bytes) -> Iterator[Raw]:
    """The items of an array, up to the first mistake."""
    try:
        text = data.decode("utf-8", "surrogateescape")
        at = _after_space(text, text.index("[") + 1)
        more = text[at : at + 1] != "]"
        while more:
            begin = at
            try:
                found, at = _DECODER.raw_decode(text, at)
            except json.JSONDecodeError:
                raise
            except ValueError:
                found, at = _ANY_SIZE.raw_decode(text, begin)
            _checked(text[begin:at].encode("utf-8", "surrogateescape"))
            at = _after_space(text, at)
            if text[at : at + 1] not in (",", "]"):
                raise json.JSONDecodeError("expected ',' or ']' after an event", text, at)
            yield found if isinstance(found, dict) else read_text(text[begin:at])
            more = text[at] == ","
            at = _after_space(text, at + more)
        if _after_space(text, at + 1) < len(text):
            raise json.JSONDecodeError("expected nothing after the last ']'", text, at + 1)
    except (_NotJson, UnicodeDecodeError, RecursionError) as error:
        yield EventError(f"expected JSON: {error}")
    except json.JSONDecodeError as error:
        yield EventError(f"expected JSON at line {error.lineno}, column {error.colno}: {error.msg}")


def _after_space(text: str, at: int) -> int:
    found = _OTHER.search(text, at)
    return found.start() if found is not None else len(text)


class _NotJson(Exception):
    """What Python's `json` reads, although it is none."""


def _no_number(name: str) -> object:
    raise _NotJson(f"a value, found {name}")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
_ANY_SIZE = json.JSONDecoder(parse_constant=_no_number, parse_int=lambda digits: int(digits[:4_200]))


def _checked(data: bytes) -> str:
    """The text, if it is UTF-8 and not too deep."""
    if data.count(b"[") + data.count(b"{") > MOST_BRACKETS and _depth(data) > MOST_BRACKETS:
        raise _NotJson(f"at most {MOST_BRACKETS} brackets inside one another, found more")
    return data.decode()


def _depth(data: bytes) -> int:
    deepest = depth = 0
    quoted = escaped = False
    for sign in data:
        if quoted:
            quoted = escaped or sign != 34
            escaped = not escaped and sign == 92
        elif sign == 34:
            quoted = True
        elif sign in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in b"]}":
            depth -= 1
    return deepest
