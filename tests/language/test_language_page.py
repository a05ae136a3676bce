"""Runs every example of docs/language.md.

A table is known by its header: *expression* tables have events or errors, *event* tables a verdict, and so on. What
the header says of the schema ("open schema", "with event types") chooses the one to read with.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import tamis
from tamis.engine import Engine
from tamis.errors import EventError, LanguageError, TamisError
from tamis.language import parse, parse_raw, print_subscription
from tamis.matchers.naive import conjunction_holds
from tamis.model import Operator, Schema, parse_json

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
_CODE = re.compile(r"(`+) ?(.*?) ?\1")
_TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Row(NamedTuple):
    """One line of a table, under the header of its table and the title of its section."""

    line: int
    section: str
    header: tuple[str, ...]
    cells: tuple[str, ...]


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def _rows(text: str) -> list[Row]:
    rows, section, header = [], "", ()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("|"):
            header = ()
        elif not header:
            header = _cells(line)
        elif not line.startswith("|---"):
            rows.append(Row(number, section, header, _cells(line)))
    return rows


def _code(cell: str) -> str:
    found = _CODE.fullmatch(cell)
    assert found, f"expected code, found {cell}"
    return found[2]


TEXT = PAGE.read_text(encoding="utf-8")
ROWS = _rows(TEXT)
BLOCKS = _TOML.findall(TEXT)
SCHEMAS = {
    "expression": Schema.loads(BLOCKS[0]),
    "expression, open schema": Schema(open=True),
    "expression, with event types": Schema.loads("\n".join(BLOCKS)),
    "event": Schema.loads("\n".join(BLOCKS)),
}


def _of(second: str, *firsts: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    chosen = [row for row in ROWS if row.header[1] == second and (not firsts or row.header[0] in firsts)]
    return pytest.mark.parametrize("row", chosen, ids=lambda row: f"line-{row.line}")


def _matches(row: Row) -> bool:
    schema = SCHEMAS[row.header[0]]
    event = schema.event(parse_json(_code(row.cells[1])))
    raw = any(conjunction_holds(schema, one, event) for one in parse_raw(_code(row.cells[0]), schema))
    simplified = any(conjunction_holds(schema, one, event) for one in parse(_code(row.cells[0]), schema))
    assert raw == simplified, "the normal form says something else"
    return raw


@_of("event")
def test_an_example_matches_as_the_page_says(row: Row) -> None:
    assert row.cells[2] in ("matches", "does not match")
    assert _matches(row) == (row.cells[2] == "matches")


@_of("column")
def test_an_error_has_the_column_and_the_message_of_the_page(row: Row) -> None:
    with pytest.raises(LanguageError) as caught:
        Engine(SCHEMAS[row.header[0]]).subscribe("it", _code(row.cells[0]))

    assert caught.value.column == int(row.cells[1])
    assert str(caught.value) == f"column {row.cells[1]}: {_code(row.cells[2])}"


@_of("normal form")
def test_an_expression_has_the_normal_form_of_the_page(row: Row) -> None:
    assert print_subscription(parse(_code(row.cells[0]), SCHEMAS["expression"])) == _code(row.cells[1])


@_of("its opposite")
def test_a_test_has_the_opposite_of_the_page(row: Row) -> None:
    schema = SCHEMAS["expression"]

    assert parse(f"not {_code(row.cells[0])}", schema) == parse(_code(row.cells[1]), schema)
    assert parse_raw(f"not not {_code(row.cells[0])}", schema) == parse_raw(_code(row.cells[0]), schema)


@_of("", "event")
def test_an_event_is_accepted_or_refused_as_the_page_says(row: Row) -> None:
    raw = parse_json(_code(row.cells[0]))
    if row.cells[1] == "accepted":
        assert SCHEMAS["event"].event(raw).values
    else:
        with pytest.raises(EventError) as caught:
            SCHEMAS["event"].event(raw)

        assert str(caught.value) == _code(row.cells[1])


@_of("at most")
def test_a_limit_is_the_one_of_the_page(row: Row) -> None:
    module, _, name = _code(row.cells[2]).rpartition(".")

    assert getattr(importlib.import_module(module), name) == int(row.cells[1].replace(",", ""))
    assert row.cells[3].startswith("none: ") or issubclass(getattr(tamis, _code(row.cells[3])), TamisError)


def test_every_limit_is_on_the_page() -> None:
    named = {_code(row.cells[2]) for row in ROWS if row.header[0] == "limit"}
    found = {
        f"{module.name}.{name}"
        for module in pkgutil.walk_packages(tamis.__path__, "tamis.")
        if not module.name.startswith(("tamis.spark", "tamis.kernels", "tamis.cli"))
        for name in re.findall(r"^(MAX_\w+) = ", _source(module.name), re.MULTILINE)
    }

    assert found - {"tamis.model.values.MAX_BITS"} <= named  # which is MAX_DIGITS in bits
    assert len(found) > 10


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def test_every_table_is_one_that_a_test_runs() -> None:
    seconds = {"event", "column", "normal form", "its opposite", "", "at most"}

    assert {row.header[1] for row in ROWS} == seconds
    assert {row.header[0] for row in ROWS} == {*SCHEMAS, "test", "limit"}


def test_every_section_has_an_example() -> None:
    sections = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)

    assert {row.section for row in ROWS} == set(sections) - {"Grammar"}


@pytest.mark.parametrize("operator", Operator)
def test_every_operator_has_an_example_that_matches_and_one_that_does_not(operator: Operator) -> None:
    verdicts = set()
    for row in ROWS:
        if row.header[1] == "event":
            raw = parse_raw(_code(row.cells[0]), SCHEMAS[row.header[0]])
            if any(predicate.operator is operator for one in raw for predicate in one):
                verdicts.add(row.cells[2])

    assert verdicts == {"matches", "does not match"}
