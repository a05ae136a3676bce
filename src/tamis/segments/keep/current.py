"""The list of a folder, `current.json`: what counts of all that lies there. It is replaced atomically."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from tamis.errors import OptionError, SchemaError, SegmentError
from tamis.language.door import LANGUAGE_VERSION
from tamis.model import Schema
from tamis.segments.compile.statistics import Statistics
from tamis.segments.keep.log import Generation
from tamis.store.atomic import PRIVATE, checked_mode, from_the_system, read_file, why, write_atomically

__all__ = ["NAME", "Current", "Listed", "listed_number", "read_current", "write_current"]

NAME = "current.json"
_FORMAT = 2


class Listed(NamedTuple):
    """A segment that counts, its sums, and the rows that died since it was written."""

    file: str
    sums: str
    dead: list[int]


@dataclass(frozen=True)
class Current:
    """What counts: a log, the schema, segments, what is known of events; and who may read the folder."""

    generation: Generation
    schema: Schema
    segments: list[Listed]
    statistics: Statistics | None = None
    mode: int = PRIVATE
    mark: int | None = None
    """A position in a log that is kept elsewhere: all up to it is here, and this folder's own log stays empty."""

    @property
    def number(self) -> int:
        """How many lists there were."""
        return self.generation.number

    @property
    def log(self) -> str:
        return f"log-{self.number}.wal"


def read_current(folder: Path) -> Current:
    """The list of a folder, or `SegmentError`."""
    path = folder / NAME
    try:
        found: dict[str, Any] = json.loads(read_file(path))
        if found["format"] != _FORMAT:
            raise _of_another(found["format"], path)
        if found.get("language", 1) > LANGUAGE_VERSION:
            reason = f"expected version {LANGUAGE_VERSION} of the language at most, found {found['language']}"
            raise SegmentError(f"{reason}; a newer Tamis may have written it", str(path))
        if found.pop("sum") != _sum_of(found):
            raise SegmentError("the checksum does not fit: the file is damaged", str(path))
        known = found.get("statistics")
        return Current(
            Generation(_long(found["number"]), _long(found["key"])),
            Schema.loads(found["schema"]),
            [Listed(*one) for one in found["segments"]],
            Statistics.from_json(known) if known is not None else None,
            _mode(found["mode"]),
            _long(found["mark"]) if "mark" in found else None,
        )
    except OSError as error:
        if not from_the_system(error):
            raise
        raise SegmentError(f"expected a saved engine, found one that cannot be read: {why(error)}", str(path)) from None
    except (ArithmeticError, AttributeError, KeyError, RecursionError, SchemaError, TypeError, ValueError) as error:
        raise SegmentError(f"expected a saved engine, found one that cannot be read: {error}", str(path)) from None


def _long(found: Any) -> int:
    """As a log writes it."""
    if not 0 <= int(found) < 1 << 63:
        raise ValueError("a number is too large, or below zero")
    return int(found)


def _mode(found: Any) -> int:
    """As a user may give it."""
    try:
        mode = checked_mode(found)
    except OptionError as error:
        raise ValueError(str(error)) from None
    if mode is None:
        raise ValueError("expected a folder's mode, found none")
    return mode


def _of_another(found: object, path: Path) -> SegmentError:
    if isinstance(found, int) and found < _FORMAT:
        advice = "an older Tamis wrote it, before any release: open it with that one and subscribe anew here"
    else:
        advice = "a newer Tamis may have written it"
    return SegmentError(f"expected format {_FORMAT}, found {found}; {advice}", str(path))


def write_current(folder: Path, current: Current) -> None:
    """Make this the list that counts: atomically, and on disk."""
    found = {
        "format": _FORMAT,
        "language": LANGUAGE_VERSION,
        "number": current.number,
        "key": current.generation.key,
        "mode": current.mode,
        "schema": current.schema.dumps(),
        "segments": current.segments,
    }
    found |= {"mark": current.mark} if current.mark is not None else {}
    found |= {"statistics": current.statistics.to_json()} if current.statistics is not None else {}
    text = json.dumps(found | {"sum": _sum_of(found)}, ensure_ascii=False)
    write_atomically(folder / NAME, [text.encode()], current.mode)


def listed_number(folder: Path) -> int | None:
    """The number of the list that counts; None if there is none yet."""
    try:
        found: int = json.loads(read_file(folder / NAME))["number"]
    except FileNotFoundError:
        return None
    return found


def _sum_of(found: dict[str, Any]) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(found, sort_keys=True).encode())
