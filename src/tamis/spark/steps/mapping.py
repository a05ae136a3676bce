"""A publisher's mapping: which of its columns become which attributes, as TOML or as a Python value.

    publisher = "brocante"
    event_id = "ref"                                            # the column that names a row; made, if not given
    event_types = { column = "rayon", values = { Meubles = ["furniture"], "Antiquités" = ["antiques", "furniture"] } }
    # or: event_types = ["furniture"]

    [attributes]
    quantity = "nombre"                                         # rename
    price = { column = "prix", type = "double", factor = 1.08 } # cast; then a unit or a currency
    category = { column = "genre", values = { Commode = "chest" } }
    material = { column = "matières", split = ";" }             # text into several values
    sold_at = { column = "vendu", format = "dd/MM/yyyy HH:mm", zone = "Europe/Paris" }
    country = { constant = "fr" }

A value that the table `values` lacks stays as it is, for `validate` to judge by the schema.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.model.values import show_raw

__all__ = ["Mapping", "Source"]


@dataclass(frozen=True)
class Source:
    """Where an attribute comes from: a column and what is done to it, in the order of the fields; or a constant."""

    column: str | None = None
    split: str | None = None
    values: Table[str, object] = field(default_factory=dict)
    type: str | None = None
    format: str | None = None
    zone: str = "UTC"
    factor: Decimal | None = None
    constant: object = None

    def __post_init__(self) -> None:
        if (self.column is None) == (self.constant is None):
            raise OptionError("expected either a column or a constant")
        if self.type is not None and self.type.lower().startswith(("timestamp", "date")):
            raise OptionError(f"type {self.type!r}: expected no type but format and zone, or leave ISO 8601 as it is")


@dataclass(frozen=True)
class Mapping:
    """How a publisher's rows become events."""

    attributes: Table[str, Source]
    event_types: Source | None = None
    event_id: str | None = None
    publisher: str | None = None

    @classmethod
    def loads(cls, text: str) -> Mapping:
        """A mapping from TOML text; every mistake is an `OptionError` that says where."""
        if not isinstance(text, str):
            raise OptionError(f"expected a mapping as TOML text, found {show_raw(text)}")
        try:
            document = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            raise OptionError(f"expected TOML: {error}") from None
        _only(document, [one.name for one in fields(cls)], "the mapping")
        attributes = document.get("attributes")
        if not isinstance(attributes, dict) or not attributes:
            raise OptionError("expected a table [attributes] with at least one attribute")
        types = document.get("event_types")
        return cls(
            {name: _source(found, f"attribute {name!r}") for name, found in attributes.items()},
            None if types is None else _event_types(types),
            _text(document, "event_id"),
            _text(document, "publisher"),
        )

    @classmethod
    def load(cls, path: str | Path) -> Mapping:
        """A mapping from a TOML file."""
        if not isinstance(path, str | Path):
            raise OptionError(f"expected the path of a mapping in TOML, found {show_raw(path)}")
        try:
            return cls.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"{path}: expected a mapping in TOML: {error}") from None
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from None


def _event_types(found: object) -> Source:
    return _source({"constant": found} if isinstance(found, list) else found, "event_types")


def _source(found: object, place: str) -> Source:
    if isinstance(found, str):
        return Source(column=found)
    if not isinstance(found, dict):
        raise OptionError(f"{place}: expected a column's name or a table, found {show_raw(found)}")
    _only(found, [one.name for one in fields(Source)], place)
    for name in ("column", "split", "type", "format", "zone"):
        _text(found, name, place)
    if not isinstance(found.get("values", {}), dict):
        raise OptionError(f"{place}, values: expected a table, found {show_raw(found['values'])}")
    try:
        return Source(**(found | _factor(found.get("factor"))))
    except OptionError as error:
        raise OptionError(f"{place}: {error}") from None


def _factor(found: object) -> dict[str, Decimal]:
    if found is None:
        return {}
    if isinstance(found, bool) or not isinstance(found, int | Decimal):
        raise OptionError(f"factor: expected a number, found {show_raw(found)}")
    return {"factor": Decimal(found)}


def _text(table: Table[str, Any], name: str, place: str = "the mapping") -> str | None:
    found = table.get(name)
    if found is not None and not isinstance(found, str):
        raise OptionError(f"{place}, {name}: expected text, found {show_raw(found)}")
    return found


def _only(table: Table[str, object], known: list[str], place: str) -> None:
    for key in table:
        if key not in known:
            raise OptionError(f"{place}: expected {', '.join(known)}, found {key!r}{hint(key, known)}")
