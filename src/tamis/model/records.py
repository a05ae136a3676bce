"""Lists of records: `{"variants": [{"size": "M", "stock": 3}, {"size": "L", "stock": 0}]}`.

A record is judged as an event of its own, by the fields that its domain declares. To the event around it it is a value
that compares with nothing: `variants is present` if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tamis.errors import SchemaError
from tamis.model.domains import Domain
from tamis.model.names import MAX_DEPTH
from tamis.model.values import Kind, Value, ValueRefused, is_text, show_raw

__all__ = ["Field", "Records", "cuts"]


class Field(NamedTuple):
    """A name and its domain; `domain_name` where the domain is one that the schema declares."""

    name: str
    domain: Domain
    domain_name: str | None = None


@dataclass(frozen=True)
class Records(Domain):
    """Lists of records with these fields, each of which a record may lack, or have several values of."""

    fields: tuple[Field, ...]
    type = "records"
    kind = Kind.RECORD
    ordered = False

    @classmethod
    def of(cls, fields: Mapping[str, Domain]) -> Records:
        return cls(tuple(Field(name, domain) for name, domain in fields.items()))

    def __post_init__(self) -> None:
        for name, domain, _ in self.fields:
            if not isinstance(name, str) or not name or not isinstance(domain, Domain):
                raise SchemaError(f"expected fields as names and domains, found {show_raw(name or domain)}")
            try:
                is_text(name)
            except ValueRefused as error:
                raise SchemaError(f"field {show_raw(name)}: {error}") from None
        lists = {name for name, domain, _ in self.fields if isinstance(domain, Records)}
        seen: set[str] = set()
        for name, _, _ in self.fields:
            if name in seen:
                raise SchemaError(f"expected each field once, found {show_raw(name)} twice")
            seen.add(name)
            if any(outer in lists for outer, _ in cuts(name)):
                raise SchemaError(f"field {show_raw(name)} lies within other records: make it a field of theirs")
        if self.depth > MAX_DEPTH:
            raise SchemaError(f"expected at most {MAX_DEPTH} records inside one another, found {self.depth}")

    @property
    def depth(self) -> int:
        """Records inside one another."""
        inner = [domain.depth for _, domain, _ in self.fields if isinstance(domain, Records)]
        return 1 + max(inner, default=0)

    def describe(self) -> str:
        return "a list of records"

    def value(self, raw: object) -> Value:
        raise self.refuse(raw)

    def less(self, lower: Value, upper: Value) -> bool:
        return False


def cuts(name: str) -> Iterator[tuple[str, str]]:
    """What stands before and behind each dot of a name, the first dot first."""
    at = name.find(".")
    while at >= 0:
        yield name[:at], name[at + 1 :]
        at = name.find(".", at + 1)
