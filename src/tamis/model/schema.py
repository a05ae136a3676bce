"""The integrated event schema of Le Subscribe §2: attributes, domains, event types, views, extension.

A schema is a frozen value. Extending one gives a new schema and leaves the old one as it was; the four rules
only ever add, so a subscription, and an event that names its types, was right before and stays right.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tamis import forks
from tamis.errors import EventError, SchemaError, TwinDomainWarning
from tamis.model.caching import cached_property
from tamis.model.domains import Boolean, Domain, Integer, Number, String, Timestamp, Untyped, hint
from tamis.model.finite import EventTypes
from tamis.model.records import Records, cuts
from tamis.model.values import ValueRefused, is_text, show_raw

if TYPE_CHECKING:
    from tamis.model.events import Event
    from tamis.model.names import Used

__all__ = ["BUILT_IN", "EVENT_TYPE", "Attribute", "RecordSchema", "Schema", "Use", "View"]

EVENT_TYPE = "event_type"
"""The distinguished attribute: the names of an event's types."""

BUILT_IN: Mapping[str, Domain] = MappingProxyType(
    {domain.type: domain for domain in (Integer(), Number(), String(), Boolean(), Timestamp(), Untyped())}
)
"""Domains that need no declaration."""


class Use(NamedTuple):
    """How an event type uses an attribute: the paper's two annotations."""

    mandatory: bool = False
    multiple: bool = False

    def __str__(self) -> str:
        return ("mandatory" if self.mandatory else "optional") + (" multiple" if self.multiple else "")

    def merge(self, other: Use) -> Use:
        """Mandatory has priority over optional, multiple over unique."""
        return Use(self.mandatory or other.mandatory, self.multiple or other.multiple)


@dataclass(frozen=True)
class Attribute:
    """A name and its domain; `domain_name` where the domain is one the schema declares."""

    name: str
    domain: Domain
    domain_name: str | None = None


@dataclass(frozen=True)
class View:
    """What an event of several types at once must and may carry."""

    event_types: tuple[str, ...]
    uses: Mapping[str, Use]

    @cached_property
    def mandatory(self) -> frozenset[str]:
        """The names that no event may lack."""
        return frozenset(name for name, use in self.uses.items() if use.mandatory)

    @cached_property
    def rank(self) -> dict[str, int]:
        """Name → its place among the uses: of several mistakes the first is told."""
        return {name: at for at, name in enumerate(self.uses)}


_VIEWS_ROOM = 100_000
"""Names in the views that a schema keeps, or four times its own where that is more."""


class _Views:
    """The views of one schema by their types; where there is no more room, all are forgotten.

    A hit takes no lock: reading a dict is one step.
    """

    def __init__(self, own_names: int) -> None:
        self._room = max(_VIEWS_ROOM, 4 * own_names)
        self._held = 0
        self._views: dict[tuple[str, ...], View] = {}
        self._lock = threading.RLock()
        forks.tell(self)

    def after_fork(self) -> None:
        self._lock = forks.renewed(self._lock)

    def get(self, event_types: tuple[str, ...]) -> View | None:
        return self._views.get(event_types)

    def keep(self, view: View) -> None:
        names = len(view.event_types) + len(view.uses)
        with self._lock:
            if self._held + names > self._room:
                self._views.clear()
                self._held = 0
            if view.event_types not in self._views and names <= self._room:
                self._views[view.event_types] = view
                self._held += names


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"expected a name, found {show_raw(name)}")
    try:
        is_text(name)
    except ValueRefused as error:
        raise SchemaError(f"name {show_raw(name)}: {error}") from None


@dataclass(frozen=True)
class Schema:
    """What may be published. Build it from TOML (`load`, `loads`), from samples (`infer`) or by the four rules.

    An *open* schema admits attributes and types it does not declare. With no event types declared, every
    attribute is optional and multiple, and R1 asks for nothing.
    """

    domains: Mapping[str, Domain] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    event_types: Mapping[str, Mapping[str, Use]] = field(default_factory=dict)
    open: bool = False

    typed: ClassVar[bool] = True
    """Whether there is an attribute `event_type`: a record has none."""

    def __post_init__(self) -> None:
        for name in (*self.domains, *self.attributes, *self.event_types):
            _check_name(name)
        for name in self.domains:
            if name in BUILT_IN or name in ("enumerated", "hierarchical"):
                raise SchemaError(f"domain {name!r}: this is the name of a built-in type; choose another")
        if EVENT_TYPE in self.attributes:
            raise SchemaError(f"attribute {EVENT_TYPE!r} is there by itself, with the event types as its domain")
        for name, attribute in self.attributes.items():
            if attribute.name != name:
                raise SchemaError(f"attribute {show_raw(name)} is called {show_raw(attribute.name)} by itself")
            if attribute.domain_name is not None and self.domains.get(attribute.domain_name) != attribute.domain:
                place = f"attribute {show_raw(name)}"
                raise SchemaError(f"{place}: the schema declares no such domain as {show_raw(attribute.domain_name)}")
        for name in self.attributes:
            outer = next((outer for outer, _ in cuts(name) if outer in self._lists), None)
            if outer is not None:
                within = f"lies within the records {show_raw(outer)}"
                raise SchemaError(f"attribute {show_raw(name)} {within}: make it a field of theirs")
        for event_type, uses in self.event_types.items():
            for name in uses:
                if name not in self.attributes:
                    place = f"event type {show_raw(event_type)}"
                    near = hint(name, self.attributes)
                    raise SchemaError(f"{place}: no attribute is declared as {show_raw(name)}{near}")

    # -- asking ---------------------------------------------------------------------------------------------

    @cached_property
    def _type_domain(self) -> Domain:
        if self.open or not self.event_types:
            return BUILT_IN["untyped"]
        return EventTypes(tuple(self.event_types))

    def domain(self, attribute: str) -> Domain | None:
        """The attribute's domain; None if a closed schema does not know the attribute."""
        found = self.attributes.get(attribute)
        if found is not None:
            return found.domain
        if attribute == EVENT_TYPE and self.typed:
            return self._type_domain
        for outer, inner in cuts(attribute) if self._lists else ():
            if outer in self._lists:
                return self._records[outer].domain(inner)
        return BUILT_IN["untyped"] if self.open else None

    def records(self, attribute: str) -> RecordSchema | None:
        """What judges the records of a list; None where the attribute may hold none."""
        known = self._records.get(attribute)
        if known is not None:
            return known
        for outer, inner in cuts(attribute):
            if outer in self._records:
                return self._records[outer].records(inner)
        free = self.open and attribute != EVENT_TYPE and isinstance(self.domain(attribute), Untyped)
        return _ANY_RECORD if free else None

    @cached_property
    def _lists(self) -> frozenset[str]:
        """The attributes that are declared to hold records."""
        return frozenset(name for name, one in self.attributes.items() if isinstance(one.domain, Records))

    @property
    def has_lists(self) -> bool:
        """Whether any attribute is declared to hold records."""
        return bool(self._lists)

    def is_field(self, attribute: str) -> bool:
        """Whether it lies within records that are declared."""
        return bool(self._lists) and any(outer in self._lists for outer, _ in cuts(attribute))

    @cached_property
    def _records(self) -> dict[str, RecordSchema]:
        """Of lists that are declared; of an open schema also of those whose dotted names are."""
        found = {}
        for name in self._lists:
            domain = self.attributes[name].domain
            assert isinstance(domain, Records)
            found[name] = RecordSchema(attributes={one.name: Attribute(*one) for one in domain.fields}, open=self.open)
        within: dict[str, dict[str, Attribute]] = {}
        for name, attribute in self.attributes.items() if self.open else ():
            for outer, inner in cuts(name):
                if outer not in self.attributes:
                    within.setdefault(outer, {})[inner] = replace(attribute, name=inner)
        return found | {outer: RecordSchema(attributes=fields, open=True) for outer, fields in within.items()}

    def names(self) -> tuple[str, ...]:
        """All attribute names, with the fields of records and `event_type` among them."""
        fields = (f"{outer}.{name}" for outer in self._lists for name in self._records[outer].names())
        return (*self.attributes, *fields, *((EVENT_TYPE,) if self.typed else ()))

    @cached_property
    def every(self) -> Used:
        """All attributes, as those that are used."""
        from tamis.model.names import Used

        return Used.of((*self.attributes, EVENT_TYPE))

    @cached_property
    def _views(self) -> _Views:
        return _Views(sum(map(len, self.event_types.values())))

    def __getstate__(self) -> dict[str, object]:
        """The schema itself, without what it keeps beside it: a copy finds that anew."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def view(self, event_types: Iterable[str]) -> View:
        """The view over these types: the union of their uses, by the paper's priorities. Made once and kept."""
        chosen = tuple(dict.fromkeys(event_types))
        found = self._views.get(chosen)
        if found is None:
            found = View(chosen, self._merged(chosen))
            self._views.keep(found)
        return found

    def _merged(self, event_types: tuple[str, ...]) -> dict[str, Use]:
        uses: dict[str, Use] = {}
        for event_type in event_types:
            if event_type not in self.event_types:
                raise EventError(
                    f"expected a declared event type, found {show_raw(event_type)}{hint(event_type, self.event_types)}",
                    rule="R1",
                    attribute=EVENT_TYPE,
                )
            for name, use in self.event_types[event_type].items():
                uses[name] = uses[name].merge(use) if name in uses else use
        return uses

    def event(self, raw: Mapping[str, object], used: Used | None = None) -> Event:
        """The event a mapping stands for, checked by R1, R2 and R3; of an open schema, what of it is `used`."""
        from tamis.model.events import read_event

        return read_event(self, raw, used)

    # -- extending: the four rules --------------------------------------------------------------------------

    def add_domain(self, name: str, domain: Domain) -> Schema:
        """Rule 1, domain creation. A domain equal to an existing one is accepted with a warning."""
        if name in self.domains:
            raise SchemaError(f"domain {show_raw(name)} exists; an extension may only add")
        for twin, existing in self.domains.items():
            if existing == domain:
                warnings.warn(TwinDomainWarning(name, twin), stacklevel=2)
        return replace(self, domains={**self.domains, name: domain})

    def add_attribute(self, name: str, domain: Domain | str) -> Schema:
        """Rule 2, attribute creation; `domain` is a value, a built-in type's name or a declared domain's name."""
        if name in self.attributes:
            raise SchemaError(f"attribute {show_raw(name)} exists; an extension may only add")
        attribute = Attribute(name, *self.find_domain(domain, f"attribute {show_raw(name)}"))
        return replace(self, attributes={**self.attributes, name: attribute})

    def extend_event_type(self, event_type: str, attribute: str, *, multiple: bool = False) -> Schema:
        """Rule 3, event schema extension: the new attribute is optional, or old events would break."""
        if event_type not in self.event_types:
            raise SchemaError(f"no event type {show_raw(event_type)} to extend{hint(event_type, self.event_types)}")
        uses = self.event_types[event_type]
        if attribute in uses:
            raise SchemaError(
                f"event type {show_raw(event_type)} has the attribute {show_raw(attribute)}; an extension may only add"
            )
        extended = {**uses, attribute: Use(mandatory=False, multiple=multiple)}
        return replace(self, event_types={**self.event_types, event_type: extended})

    def add_event_type(self, name: str, uses: Mapping[str, Use]) -> Schema:
        """Rule 4, event schema creation."""
        if name in self.event_types:
            raise SchemaError(f"event type {show_raw(name)} exists; an extension may only add")
        return replace(self, event_types={**self.event_types, name: dict(uses)})

    def extend(self, addition: Schema) -> Schema:
        """All four rules at once: what `addition` has and this schema lacks. Where both have it, they must agree."""
        if addition.open and not self.open:
            raise SchemaError("the addition is open and the schema is closed; an extension may only add")
        schema = self
        for name, domain in addition.domains.items():
            if self.domains.get(name, domain) != domain:
                raise SchemaError(f"domain {show_raw(name)} exists with another definition; an extension may only add")
            schema = schema if name in self.domains else schema.add_domain(name, domain)
        for name, attribute in addition.attributes.items():
            if name in self.attributes and self.attributes[name].domain != attribute.domain:
                raise SchemaError(f"attribute {show_raw(name)} exists with another domain; an extension may only add")
            if name not in self.attributes:
                schema = schema.add_attribute(name, attribute.domain_name or attribute.domain)
        for name, uses in addition.event_types.items():
            schema = (
                schema._grow_event_type(name, uses) if name in self.event_types else schema.add_event_type(name, uses)
            )
        return schema

    def _grow_event_type(self, name: str, uses: Mapping[str, Use]) -> Schema:
        schema, existing = self, self.event_types[name]
        for attribute, use in uses.items():
            if existing.get(attribute, use) != use:
                raise SchemaError(
                    f"event type {show_raw(name)} uses {show_raw(attribute)} as {existing[attribute]}, not as {use}"
                )
            if attribute not in existing:
                if use.mandatory:
                    place = f"event type {show_raw(name)} exists"
                    raise SchemaError(f"{place}: its new attribute {show_raw(attribute)} must be optional")
                schema = schema.extend_event_type(name, attribute, multiple=use.multiple)
        return schema

    def find_domain(self, domain: Domain | str, place: str) -> tuple[Domain, str | None]:
        """A domain by value or name, with its name where it is a declared one."""
        if isinstance(domain, Domain):
            return domain, None
        if domain in self.domains:
            return self.domains[domain], domain
        if domain in BUILT_IN:
            return BUILT_IN[domain], None
        known = (*self.domains, *BUILT_IN)
        raise SchemaError(f"{place}: no domain or type is called {show_raw(domain)}{hint(domain, known)}")

    # -- reading and writing --------------------------------------------------------------------------------

    @classmethod
    def loads(cls, text: str) -> Schema:
        from tamis.model.schema_toml import read_schema

        return read_schema(text)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        try:
            return cls.loads(Path(path).read_text(encoding="utf-8"))
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None
        except UnicodeDecodeError as error:
            raise SchemaError(f"{path}: expected a schema in UTF-8: {error.reason} at byte {error.start}") from None
        except (OSError, ValueError) as error:  # ValueError: a path with a null byte
            raise SchemaError(f"{path}: expected a schema: {getattr(error, 'strerror', None) or error}") from None

    def dumps(self) -> str:
        from tamis.model.schema_toml import write_schema

        return write_schema(self)

    def save(self, path: str | Path) -> None:
        try:
            Path(path).write_text(self.dumps(), encoding="utf-8")
        except (OSError, ValueError) as error:
            raise SchemaError(f"{path}: cannot write here: {getattr(error, 'strerror', None) or error}") from None

    @classmethod
    def infer(cls, events: Iterable[Mapping[str, object]]) -> Schema:
        from tamis.model.infer import infer_schema

        return infer_schema(events)


class RecordSchema(Schema):
    """What judges a record, by the fields that are declared: a schema without event types and `event_type`."""

    typed = False

    def __post_init__(self) -> None:
        """Names and domains were looked at where they were declared."""


_ANY_RECORD = RecordSchema(open=True)
"""Of an open schema that declares nothing."""
