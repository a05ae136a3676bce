"""The header of a segment file: which fields there are, and what they may say.

It is JSON that somebody may have written by hand: whatever is read from it later is looked at here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.model import Finite, Kind, Schema
from tamis.segments.keep.structure import Broken

__all__ = ["arrays_of", "check_attributes", "check_header"]

_COUNTS = {"conjunctions", "in_blocks", "in_clusters", "in_lists", "blocks", "accesses"}
_KINDS = {str(int(kind)) for kind in Kind if kind is not Kind.RECORD}
_TYPES = {
    np.dtype(of).str: np.dtype(of) for of in (np.bool_, np.uint8, np.uint16, np.int32, np.int64, np.uint64, float)
}
_MOST_ROWS = 2**31 - 1


def _count(found: object) -> bool:
    return type(found) is int and 0 <= found <= _MOST_ROWS


def _texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _home(found: object) -> bool:
    """Where, which attributes, how many conjunctions, why."""
    if not isinstance(found, list) or len(found) != 4:
        return False
    where, names, count, why = found
    return isinstance(where, str) and _texts(names) and _count(count) and isinstance(why, str)


def _attribute(found: object) -> bool:
    if not isinstance(found, dict) or found.keys() != {"name", "finite", "size", "kinds"}:
        return False
    name, finite, size, kinds = (found[key] for key in ("name", "finite", "size", "kinds"))
    plain = isinstance(name, str) and isinstance(finite, bool) and (size is None or type(size) is int)
    return plain and isinstance(kinds, dict) and kinds.keys() <= _KINDS and all(map(_ordered, kinds.values()))


def _ordered(found: object) -> bool:
    return isinstance(found, dict) and found.keys() == {"ordered"} and isinstance(found["ordered"], bool)


def _list_of(what: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda found: isinstance(found, list) and all(map(what, found))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "schema": lambda found: isinstance(found, str),
    "bytes": lambda found: type(found) is int,
    "arrays": lambda found: isinstance(found, list),
    "rows": _count,
    "dead": _count,
    "never": _count,
    "any_dead": lambda found: type(found) is int and found in (0, 1),
    "single_blocks": _count,
    "marked": lambda found: isinstance(found, bool),
    "counts": lambda found: isinstance(found, dict) and found.keys() == _COUNTS and all(map(_count, found.values())),
    "homes": _list_of(_home),
    "truths": _list_of(lambda found: _texts(found) and found != []),
    "attributes": _list_of(_attribute),
}


def check_header(header: object) -> None:
    """That all fields are there and of their types; `Broken` names the first that is not."""
    if not isinstance(header, dict) or header.keys() != _FIELDS.keys():
        raise Broken("the header has other fields than it must have")
    for name, good in _FIELDS.items():
        if not good(header[name]):
            raise Broken(f"the header's {name!r} is not what it must be")


def check_attributes(header: Mapping[str, Any], schema: Schema) -> None:
    """That they are attributes of the schema, each once, and finite where their domain is."""
    names = [one["name"] for one in header["attributes"]]
    if len(set(names)) < len(names):
        raise Broken("an attribute comes twice")
    for one in header["attributes"]:
        domain = schema.domain(one["name"])
        if domain is None or isinstance(domain, Finite) != one["finite"] or (one["finite"] and one["kinds"]):
            raise Broken(f"the attribute {one['name']!r} is another one in the schema")


def arrays_of(header: Mapping[str, Any], body: npt.NDArray[np.uint8], align: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays that the header lists. They lie one after another, without a gap and without sharing a byte."""
    found: dict[str, npt.NDArray[Any]] = {}
    place = 0
    for one in header["arrays"]:
        if not isinstance(one, list) or len(one) != 4:
            raise Broken("the list of arrays is not one")
        name, of, shape, at = one
        known = isinstance(name, str) and name not in found and isinstance(of, str) and of in _TYPES
        flat = isinstance(shape, list) and len(shape) == 1 and type(shape[0]) is int and shape[0] >= 0
        if not known or not flat or type(at) is not int or at != place:
            raise Broken(f"the array {name!r} has another name, type, shape or place than it must have")
        size = shape[0] * _TYPES[of].itemsize
        place += -(-size // align) * align
        if place > len(body):
            raise Broken(f"the array {name!r} ends past the end of the file")
        found[name] = np.asarray(body[at : at + size]).view(_TYPES[of])
    if place != len(body):
        raise Broken("the arrays end before the file does")
    return found
