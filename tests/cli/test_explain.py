"""`tamis explain`: the answer, or where the mistake is."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tamis.cli import main
from tamis.workloads import auctions

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "auctions.toml"
    path.write_text(auctions.SCHEMA, encoding="utf-8")
    return str(path)


def explain(subscription: str, event: str, *more: str) -> int:
    return main(["explain", "--subscription", subscription, "--event", event, *more])


def test_each_predicate_is_a_line(capsys: Capture) -> None:
    code = explain("category = 'table' and price < 200", '{"category": "table", "price": 250}')

    assert code == 0
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()] == [
        "does not match",
        "✓ category = 'table' category is 'table'",
        "✗ price < 200 price is 250",
    ]


def test_a_schema_gives_words_their_meaning(schema: str, capsys: Capture) -> None:
    event = '{"event_type": "furniture", "price": 150, "quantity": 1, "category": "dining table"}'

    code = explain("category <= table", event, "--schema", schema)

    assert (code, capsys.readouterr().out.splitlines()[0]) == (0, "matches")


def test_the_event_may_be_a_file_or_standard_input(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "event.json").write_text('\ufeff{"price": 150}', encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"price": 150}')))

    codes = explain("price < 200", f"@{tmp_path / 'event.json'}"), explain("price < 200", "-")

    assert codes == (0, 0)
    assert capsys.readouterr().out.count("matches\n") == 2


def test_a_mistake_in_the_expression_is_pointed_at(capsys: Capture) -> None:
    code = explain("price < 200 and categorie ~ 'table'", "{}")

    message, *pointer = capsys.readouterr().err.splitlines()
    assert code == 2
    assert message.startswith("tamis explain: column 27: expected ")
    assert pointer == ["price < 200 and categorie ~ 'table'", "                          ^"]


def test_an_unknown_attribute_is_pointed_at_with_the_nearest(schema: str, capsys: Capture) -> None:
    code = explain("prise < 200", "{}", "--schema", schema)

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "tamis explain: column 1: no attribute is called 'prise'; did you mean 'price'?",
        "prise < 200",
        "^",
    ]


def test_the_pointer_finds_its_place_in_a_long_expression(capsys: Capture) -> None:
    text = "a = 1 and " * 500 + "b ! 2"

    code = explain(text, "{}")

    _, line, caret = capsys.readouterr().err.splitlines()
    assert (code, line[caret.index("^")]) == (2, "!")
    assert len(line) <= 100


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{", "expected an event as JSON: "),
        ("", "expected an event as JSON: "),
        ("[1, 2]", "expected an event as a JSON object, found a list"),
        ("null", "expected an event as a JSON object"),
        ('{"price": NaN}', "attribute 'price': expected a finite number"),
        ('{"price": 1e999}', "attribute 'price': expected a finite number"),
        ('{"price": ' + "9" * 5000 + "}", "attribute 'price': expected a number of at most 4,000 digits"),
        ('{"price": [[1]]}', "attribute 'price': expected "),
        ('{"price": "\\ud800"}', "attribute 'price': expected text"),
        ("[" * 100_000, "expected an event as JSON, found brackets nested too deep"),
        ("@nowhere.json", "nowhere.json: No such file or directory"),
        ("@", "a file without a name: Is a directory"),
    ],
)
def test_a_mistake_in_the_event_is_one_line(event: str, message: str, capsys: Capture) -> None:
    code = explain("price < 200", event)

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"tamis explain: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("event", "rule"),
    [
        ('{"event_type": "silver", "price": 1}', "R1"),
        ('{"event_type": "antiques", "price": 1, "quantity": 1}', "R2"),
        ('{"event_type": "antiques", "price": 1, "quantity": 1, "period": "XVI", "category": "bed"}', "R3"),
    ],
)
def test_a_broken_rule_is_named(event: str, rule: str, schema: str, capsys: Capture) -> None:
    code = explain("price < 200", event, "--schema", schema)

    assert code == 2
    assert capsys.readouterr().err.startswith(f"tamis explain: {rule}: ")


def test_a_file_that_is_not_utf8_is_refused_with_the_place(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes('{"name": "é"}'.encode("latin-1"))

    code = explain("price < 200", f"@{path}")

    assert code == 2
    assert capsys.readouterr().err == f"tamis explain: {path}: expected UTF-8, found byte 0xe9 at offset 10\n"
