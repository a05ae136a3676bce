"""Query parameters, path parameters and headers, checked."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from tamis.errors import OptionError
from tamis.model.values import show_raw

__all__ = ["choice", "if_match_of", "name_in_path", "number", "position_header", "whole"]

_LONGEST_NAME = 1_000
_MOST_POSITION = 2**53


def name_in_path(request: Request, parameter: str) -> str:
    """A name as its owner writes it: a slash within it came as %2F."""
    try:
        found = unquote_to_bytes(request.path_params[parameter]).decode("utf-8")
    except UnicodeDecodeError:
        raise OptionError(f"{parameter}: expected UTF-8 in percent encoding") from None
    control = any(ord(letter) < 32 or ord(letter) == 127 for letter in found)
    if not 0 < len(found) <= _LONGEST_NAME or control or found in (".", ".."):  # those are directions in an address
        raise OptionError(f"{parameter}: expected 1 to {_LONGEST_NAME} characters, none for control, and not . or ..")
    return found


def whole(
    request: Request, name: str, default: int | None = None, *, least: int = 0, most: int = _MOST_POSITION
) -> int:
    """A whole number; past `most` it is an error, never something else in silence."""
    found = request.query_params.get(name)
    if found is None:
        if default is None:
            raise OptionError(f"{name}: expected a whole number, found none")
        return default
    if not (found.isascii() and found.isdigit() and len(found) < 17 and least <= int(found) <= most):
        raise OptionError(f"{name}: expected a whole number from {least:,} to {most:,}, found {show_raw(found)}")
    return int(found)


def number(request: Request, name: str, default: float, most: float) -> float:
    found = request.query_params.get(name)
    if found is None:
        return default
    try:
        seconds = float(found)
        if not seconds >= 0:
            raise ValueError
    except ValueError:
        raise OptionError(f"{name}: expected a number of seconds, found {show_raw(found)}") from None
    return min(seconds, most)


def choice(request: Request, name: str, choices: tuple[str, ...]) -> str | None:
    found = request.query_params.get(name)
    if found is not None and found not in choices:
        raise OptionError(f"{name}: expected {' or '.join(choices)}, found {show_raw(found)}")
    return found


def position_header(request: Request) -> int | None:
    """`Tamis-Position`: answer as of this position or a later one."""
    found = request.headers.get("tamis-position")
    if found is None:
        return None
    if not (found.isascii() and found.isdigit() and len(found) < 17):
        raise OptionError(f"Tamis-Position: expected a position, found {show_raw(found)}")
    return int(found)


def if_match_of(request: Request) -> str | None:
    """As the service has it: an etag, "*" for any, "" for none there yet, None for whatever."""
    match, none = request.headers.get("if-match"), request.headers.get("if-none-match")
    if none is not None and (none.strip() != "*" or match is not None):
        raise OptionError(f"If-None-Match: expected * alone, and no If-Match, found {show_raw(none)}")
    if none is not None:
        return ""
    if match is None or match.strip() == "*":
        return match and "*"
    tag = match.strip()
    if not (len(tag) > 2 and tag.startswith('"') and tag.endswith('"') and '"' not in tag[1:-1]):
        raise OptionError(f"If-Match: expected one etag in double quotes, found {show_raw(match)}")
    return tag[1:-1]
