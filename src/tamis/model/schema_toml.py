"""Schemas as TOML, both ways and without loss: `read_schema(write_schema(s)) == s`, order included."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from tamis.errors import SchemaError
from tamis.model.domains import Domain, Integer, hint
from tamis.model.finite import Enumerated, Hierarchical
from tamis.model.names import MAX_DEPTH
from tamis.model.records import Field, Records
from tamis.model.schema import BUILT_IN, Attribute, Schema, Use
from tamis.model.values import show_raw

__all__ = ["domain_table", "read_schema", "write_schema"]

_USES = {str(use): use for use in (Use(m, n) for m in (True, False) for n in (True, False))}
_USES |= {f"{text} unique": use for text, use in _USES.items() if not use.multiple}
_PARTS = {
    "enumerated": ("values", "order"),
    "hierarchical": ("parents",),
    "integer": ("min", "max"),
    "records": ("fields",),
}


def read_schema(text: str) -> Schema:
    """A schema from TOML text; every mistake is a `SchemaError` that names the table it stands in."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"expected TOML: {error}") from None
    except RecursionError:
        raise SchemaError("expected a schema in TOML, found tables nested too deep to read") from None
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise SchemaError("expected a schema in TOML, found a number too long to read") from None
    _only(document, ("open", "domains", "attributes", "event_types"), "the schema")
    is_open = document.get("open", False)
    if not isinstance(is_open, bool):
        raise SchemaError(f"open: expected true or false, found {show_raw(is_open)}")
    domains: dict[str, Domain] = {}
    for name, table in _table(document, "domains", "domains").items():
        domains[name] = _read_domain(table, f"domain {show_raw(name)}", domains)
    schema = Schema(domains=domains, open=is_open)
    attributes = {
        name: _read_attribute(schema, name, spec) for name, spec in _table(document, "attributes", "attributes").items()
    }
    event_types = {
        name: _read_uses(uses, f"event type {show_raw(name)}")
        for name, uses in _table(document, "event_types", "event_types").items()
    }
    return Schema(domains, attributes, event_types, is_open)


def _table(parent: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    found = parent.get(key, {})
    if not isinstance(found, dict):
        raise SchemaError(f"{place}: expected a table, found {show_raw(found)}")
    return found


def _only(table: Mapping[str, object], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise SchemaError(f"{place}: expected {', '.join(known)}, found {show_raw(key)}{hint(key, known)}")


def _read_attribute(schema: Schema, name: str, spec: object) -> Attribute:
    place = f"attribute {show_raw(name)}"
    if isinstance(spec, str):
        return Attribute(name, *schema.find_domain(spec, place))
    return Attribute(name, _read_domain(spec, place, schema.domains))


def _read_domain(table: object, place: str, declared: Mapping[str, Domain], depth: int = 1) -> Domain:
    """`declared` are the domains that the fields of records may have."""
    if not isinstance(table, dict):
        raise SchemaError(f"{place}: expected a type's name or a table with a type, found {show_raw(table)}")
    type_name = table.get("type")
    known = (*BUILT_IN, "enumerated", "hierarchical", "records")
    if type_name not in known:
        raise SchemaError(f"{place}: expected type to be one of {', '.join(known)}, found {show_raw(type_name)}")
    _only(table, ("type", *_PARTS.get(type_name, ())), place)
    if type_name == "records":
        return _read_records(table, place, declared, depth)
    try:
        return _build_domain(type_name, table)
    except SchemaError as error:
        raise SchemaError(f"{place}: {error}") from None


def _read_records(table: Mapping[str, Any], place: str, declared: Mapping[str, Domain], depth: int) -> Records:
    if not isinstance(table.get("fields"), dict):
        raise SchemaError(f"{place}: expected fields, a table, found {show_raw(table.get('fields'))}")
    if depth > MAX_DEPTH:
        raise SchemaError(f"{place}: expected at most {MAX_DEPTH} records inside one another, found more")
    fields = []
    for name, spec in table["fields"].items():
        within = f"{place}, field {show_raw(name)}"
        if isinstance(spec, str):
            fields.append(Field(name, *Schema(domains=declared).find_domain(spec, within)))
        else:
            fields.append(Field(name, _read_domain(spec, within, declared, depth + 1)))
    try:
        return Records(tuple(fields))
    except SchemaError as error:
        raise SchemaError(f"{place}: {error}") from None


def _build_domain(type_name: str, table: Mapping[str, Any]) -> Domain:
    if type_name == "integer":
        return Integer(_whole(table, "min"), _whole(table, "max"))
    if type_name == "enumerated":
        pairs = _strings_of(table.get("order", []), "order")
        if any(len(pair) != 2 for pair in pairs):
            raise SchemaError("order: expected pairs [lower, upper]")
        return Enumerated(_strings(table.get("values"), "values"), tuple((low, high) for low, high in pairs))
    if type_name == "hierarchical":
        parents = _table(table, "parents", "parents")
        return Hierarchical(
            tuple((name, _strings(above, f"parents of {show_raw(name)}")) for name, above in parents.items())
        )
    return BUILT_IN[type_name]


def _whole(table: Mapping[str, Any], key: str) -> int | None:
    found = table.get(key)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise SchemaError(f"{key}: expected an integer, found {show_raw(found)}")
    return found


def _strings(found: object, place: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise SchemaError(f"{place}: expected a list of strings, found {show_raw(found)}")
    return tuple(found)


def _strings_of(found: object, place: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(found, list):
        raise SchemaError(f"{place}: expected a list of pairs, found {show_raw(found)}")
    return tuple(_strings(one, place) for one in found)


def _read_uses(uses: object, place: str) -> dict[str, Use]:
    if not isinstance(uses, dict):
        raise SchemaError(f"{place}: expected a table of attributes, found {show_raw(uses)}")
    return {name: _read_use(text, f"{place}, attribute {show_raw(name)}") for name, text in uses.items()}


def _read_use(text: object, place: str) -> Use:
    use = _USES.get(" ".join(text.split())) if isinstance(text, str) else None
    if use is None:
        expected = "'mandatory' or 'optional', then perhaps 'unique' or 'multiple'"
        raise SchemaError(f"{place}: expected {expected}, found {show_raw(text)}")
    return use


def write_schema(schema: Schema) -> str:
    """The schema as TOML, everything in the order it was declared."""
    head: dict[str, Any] = {"open": True} if schema.open else {}
    if schema.domains:
        head["domains"] = {name: domain_table(domain) for name, domain in schema.domains.items()}
    tail = {name: {attribute: str(use) for attribute, use in uses.items()} for name, uses in schema.event_types.items()}
    parts = [tomli_w.dumps(head), _write_attributes(schema), tomli_w.dumps({"event_types": tail} if tail else {})]
    return "\n".join(part for part in parts if part)


def _write_attributes(schema: Schema) -> str:
    # By hand, because tomli_w would put the attributes with a table of their own behind the others.
    if not schema.attributes:
        return ""
    return "[attributes]\n" + "".join(
        f"{_pair(one.name, _write_attribute(one))}\n" for one in schema.attributes.values()
    )


def _write_attribute(attribute: Attribute | Field) -> str | dict[str, Any]:
    table = domain_table(attribute.domain)
    return attribute.domain_name or (table["type"] if len(table) == 1 else table)


def _pair(key: str, value: object) -> str:
    """`key = value`, tables inline."""
    if not isinstance(value, dict):
        return tomli_w.dumps({key: value}).rstrip("\n")
    start = tomli_w.dumps({key: 0}).removesuffix("0\n")
    return start + "{ " + ", ".join(_pair(one, part) for one, part in value.items()) + " }"


def domain_table(domain: Domain) -> dict[str, Any]:
    """A domain as its table in TOML."""
    table: dict[str, Any] = {"type": domain.type}
    match domain:
        case Integer(low, high):
            table |= {key: bound for key, bound in (("min", low), ("max", high)) if bound is not None}
        case Enumerated(names, pairs):
            table |= {"values": list(names)}
            table |= {"order": [list(pair) for pair in pairs]} if pairs else {}
        case Hierarchical():
            table["parents"] = {name: list(above) for name, above in domain.parents}
        case Records():
            table["fields"] = {one.name: _write_attribute(one) for one in domain.fields}
    return table
