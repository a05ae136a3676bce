"""Problem details → the exception that the library itself would have raised, with the same sentence and fields."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

import tamis.errors
from tamis.errors import LanguageError, ServiceError, TamisError

__all__ = ["error_of"]

_PREFIX = "urn:tamis:error:"
_OF_PROBLEMS = frozenset(("type", "title", "status", "detail", "instance", "expected"))


def error_of(status: int, body: bytes, text: str = "") -> TamisError:
    """The error that an answer tells of. `text` is the expression that was sent, if one was."""
    found = _members(body)
    detail = str(found.get("detail") or f"the service answered {status}")
    name = str(found.get("type", "")).removeprefix(_PREFIX)
    kind = getattr(tamis.errors, name, None)
    if not isinstance(kind, type) or not issubclass(kind, TamisError):
        return ServiceError(detail, status)
    error = kind.__new__(kind)
    error.args = (detail,)
    facts = {name: fact for name, fact in found.items() if name not in _OF_PROBLEMS}
    error.__dict__.update(dict.fromkeys(_fields(kind)) | facts)
    if isinstance(error, LanguageError):
        error.text = text
    return error


def _fields(kind: type[TamisError]) -> tuple[str, ...]:
    """The names that the class gives its facts: those that are None are not sent."""
    if not inspect.isfunction(kind.__init__):  # a message alone, as Python has it
        return ()
    return tuple(name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "message"))


def _members(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
