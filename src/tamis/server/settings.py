"""The settings of a server, in one object: defaults, then a file, then the environment, then flags; the last one wins.

Each has a default and a sentence here; `tamis serve --show-settings` prints all of them as the TOML that the file may
contain. In the environment a setting is `TAMIS_SERVE_` and its name in capitals.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

import tomli_w

from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.model.values import show_raw
from tamis.service import Settings as ServiceSettings

__all__ = ["PREFIX", "Settings", "read_settings", "shown_settings"]

PREFIX = "TAMIS_SERVE_"


def _setting(default: Any, says: str, least: float | None = None) -> Any:
    return field(default=default, metadata={"says": says, "least": least})


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes are bytes, times are seconds, `most_…` are bounds past which a request is answered 413 or 429."""

    data: str = _setting("tamis-data", "the folder with the log and all that is made of it")
    schema: str = _setting("", "a schema's file, for a new folder; without one any attribute goes")
    host: str = _setting("127.0.0.1", "the address to listen at; until there are keys, of this machine alone")
    port: int = _setting(8737, "the port to listen at; 0 takes a free one", 0)
    most_body_bytes: int = _setting(16 << 20, "one request's body", 1)
    most_requests: int = _setting(1_000, "requests that are being answered at once, streams not counted", 1)
    most_streams: int = _setting(10_000, "streams that are open at once", 1)
    most_wait_seconds: float = _setting(60.0, "the longest poll, and the longest wait for a position", 0)
    match_wait_seconds: float = _setting(30.0, "how long ?matches=counts waits for the matcher", 0)
    lease_seconds: float = _setting(30.0, "how long a pulled page is leased to who pulled it", 1)
    heartbeat_seconds: float = _setting(15.0, "a stream with nothing to tell says where it is so often", 0.05)
    write_seconds: float = _setting(30.0, "a stream whose reader takes nothing for so long is closed", 0.1)
    ready_lag: int = _setting(10_000, "positions that the matcher may be behind for /readyz to say yes", 0)
    grace_seconds: float = _setting(20.0, "after SIGTERM, how long requests have to end", 0)
    log: str = _setting("requests", "lines of JSON on standard error: requests, or errors alone")
    service: ServiceSettings = field(default_factory=ServiceSettings)
    """The service's own, which are set and shown by their names among these."""


def read_settings(file: str | None, environment: Mapping[str, str], flags: Mapping[str, object]) -> Settings:
    """The settings of all sources; a name that none of them has, or a value that cannot be, is an `OptionError`."""
    known = {one.name: one for one in (*_OWN, *fields(ServiceSettings))}
    found: dict[str, Any] = {}
    for place, source in _sources(file, environment, flags):
        for name, raw in source.items():
            if name not in known:
                raise OptionError(f"{place}: there is no setting {name!r}{hint(name, known)}")
            found[name] = _checked(known[name], raw, f"{place}, {name}")
    inner = {one.name: found.pop(one.name) for one in fields(ServiceSettings) if one.name in found}
    settings = Settings(**found, service=ServiceSettings(**inner))
    _check_host(settings.host)
    if settings.log not in ("requests", "errors"):
        raise OptionError(f"log: expected requests or errors, found {settings.log!r}")
    return settings


def _sources(
    file: str | None, environment: Mapping[str, str], flags: Mapping[str, object]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    if file is not None:
        yield file, _read_file(file)
    named = {name[len(PREFIX) :].lower(): text for name, text in environment.items() if name.startswith(PREFIX)}
    yield "environment", named
    yield "flags", {name: one for name, one in flags.items() if one is not None}


def _read_file(path: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{path}: expected settings as TOML: {error}") from None


def _checked(known: Field[Any], raw: object, place: str) -> Any:
    kind: Any = type(known.default)
    try:
        if isinstance(raw, str) and kind is not str:
            raw = kind(raw.replace("_", ""))
        found = kind(raw) if kind is float and isinstance(raw, int) and not isinstance(raw, bool) else raw
        if type(found) is not kind or found != found:
            raise ValueError
    except ValueError:
        expected = {int: "a whole number", float: "a number", str: "a text"}[kind]
        raise OptionError(f"{place}: expected {expected}, found {show_raw(raw)}") from None
    least = known.metadata.get("least", 0)
    if least is not None and found < least:
        raise OptionError(f"{place}: expected at least {least}, found {found}")
    return found


def _check_host(host: str) -> None:
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    if not here:
        raise OptionError(
            f"host: expected an address of this machine alone, such as 127.0.0.1, found {host!r}: until there are "
            "keys, whoever reaches the server may do anything; for others, put a proxy with a login before it"
        )


def shown_settings(settings: Settings) -> str:
    """All settings with what they mean, as TOML."""
    own = (f"# {one.metadata['says']}\n{tomli_w.dumps({one.name: getattr(settings, one.name)})}" for one in _OWN)
    inner = {one.name: getattr(settings.service, one.name) for one in fields(ServiceSettings)}
    return "\n".join((*own, f"# the service's own\n{tomli_w.dumps(inner)}"))


_OWN = tuple(one for one in fields(Settings) if one.name != "service")
