"""`tamis schema`: check, infer, extend."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tamis import Schema
from tamis.cli import main
from tamis.workloads import auctions

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return write(tmp_path / "auctions.toml", auctions.SCHEMA)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def write_events(path: Path, count: int) -> Path:
    return write(path, "\n".join(json.dumps(listing) for listing in auctions.listings(count)) + "\n\n")


# -- check ----------------------------------------------------------------------------------------------------------


def test_check_says_what_the_schema_has(schema: Path, capsys: Capture) -> None:
    code = main(["schema", "check", str(schema)])

    assert code == 0
    assert capsys.readouterr().out == f"{schema}: 6 attributes, 2 named domains, 2 event types\n"


def test_check_accepts_events_that_keep_the_rules(schema: Path, tmp_path: Path, capsys: Capture) -> None:
    events = write_events(tmp_path / "listings.jsonl", 17)

    code = main(["schema", "check", str(schema), "--events", str(events)])

    assert code == 0
    assert capsys.readouterr().out.splitlines()[1:] == [f"{events}: 17 events accepted, 0 refused"]


def test_check_names_refused_events_by_line_and_rule(schema: Path, tmp_path: Path, capsys: Capture) -> None:
    events = write_events(tmp_path / "listings.jsonl", 300)
    write(events, "\n" + events.read_text(encoding="utf-8"))

    code = main(["schema", "check", str(schema), "--events", str(events)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 2
    assert lines[1] == f"{events}: 294 events accepted, 6 refused"
    assert lines[2].startswith("  line 19: R3: the attribute 'colour'")
    assert lines[-1] == "  … and 3 more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price = ", "expected TOML"),
        ("[attributes]\nprice = 'nubmer'", "did you mean 'number'"),
        ("[atributes]\nprice = 'number'", "did you mean 'attributes'"),
        ("[event_types.a]\nprice = 'mandatory'", "event type 'a'"),
        ("[domains.d]\ntype = 'hierarchical'\nparents = { a = ['b'], b = ['a'] }", "goes in a circle"),
        ("[domains.d]\ntype = 'enumerated'\nvalues = ['a', 'a']", "twice"),
        ("x = " + "[" * 100_000, "nested too deep"),
    ],
)
def test_a_bad_schema_is_one_line_with_its_file(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "bad.toml", text)

    code = main(["schema", "check", str(path)])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"tamis schema: {path}: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_schema_that_is_not_utf8_is_refused_with_the_place(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"# caf\xe9")

    code = main(["schema", "check", str(path)])

    assert code == 2
    assert capsys.readouterr().err == f"tamis schema: {path}: expected UTF-8, found byte 0xe9 at offset 5\n"


def test_a_line_that_is_no_json_is_named(schema: Path, tmp_path: Path, capsys: Capture) -> None:
    events = write(tmp_path / "listings.jsonl", '{"a": 1}\n\n{oops}\n')

    code = main(["schema", "check", str(schema), "--events", str(events)])

    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith(f"tamis schema: {events}, line 3: expected an event as JSON: ")
    assert err.count("\n") == 1


# -- infer ----------------------------------------------------------------------------------------------------------


def test_what_is_inferred_accepts_its_samples(tmp_path: Path) -> None:
    events = write_events(tmp_path / "listings.jsonl", 17)

    inferred = main(["schema", "infer", str(events), "--out", str(tmp_path / "inferred.toml")])
    checked = main(["schema", "check", str(tmp_path / "inferred.toml"), "--events", str(events)])

    assert (inferred, checked) == (0, 0)


def test_infer_writes_to_standard_output_in_utf8(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO('{"Größe": 3}'.encode())))

    code = main(["schema", "infer", "-"])

    text = capsysbinary.readouterr().out.decode("utf-8")
    assert code == 0
    assert Schema.loads(text).event({"Größe": 4})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected at least one event, found none"),
        ("\n  \n", "expected at least one event, found none"),
        ('{"a": 1}\n{"a": NaN}', "line 2: attribute 'a': expected a finite number, found nan"),
        ('{"a": 1}\n[]', "line 2: expected an event as a JSON object, found a list"),
    ],
)
def test_samples_that_cannot_be_are_named_by_line(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    events = write(tmp_path / "listings.jsonl", text)

    code = main(["schema", "infer", str(events)])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"tamis schema: {events}")
    assert err.endswith(f"{message}\n")
    assert err.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    events = write_events(tmp_path / "listings.jsonl", 5)

    code = main(["schema", "infer", str(events), "--out", str(tmp_path / "nowhere" / "x.toml")])

    assert code == 2
    assert capsys.readouterr().err == f"tamis schema: {tmp_path}/nowhere/x.toml: No such file or directory\n"


# -- extend ---------------------------------------------------------------------------------------------------------


def test_extend_adds(schema: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.toml", "[attributes]\ncolour = 'string'\n[event_types.lamps]\ncolour = 'optional'\n")

    code = main(["schema", "extend", str(schema), "--by", str(more), "--out", str(tmp_path / "new.toml")])

    extended = Schema.load(tmp_path / "new.toml")
    assert code == 0
    assert list(extended.event_types) == ["antiques", "furniture", "lamps"]
    assert "colour" in extended.attributes


def test_extend_warns_of_a_twin_and_goes_on(schema: Path, tmp_path: Path, capsys: Capture) -> None:
    period = Schema.load(schema).domains["period"]
    more = tmp_path / "more.toml"
    Schema(domains={"age": period}).save(more)

    code = main(["schema", "extend", str(schema), "--by", str(more)])

    out, err = capsys.readouterr()
    assert code == 0
    assert err == "tamis schema: warning: domain 'age' is equal to the existing domain 'period'\n"
    assert set(Schema.loads(out).domains) == {"furniture", "period", "age"}


def test_extend_never_changes(schema: Path, tmp_path: Path, capsys: Capture) -> None:
    more = write(tmp_path / "more.toml", "[attributes]\nprice = 'string'\n")

    code = main(["schema", "extend", str(schema), "--by", str(more), "--out", str(schema)])

    assert code == 2
    assert "attribute 'price' exists with another domain; an extension may only add" in capsys.readouterr().err
    assert schema.read_text(encoding="utf-8") == auctions.SCHEMA
