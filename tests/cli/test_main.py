"""The command line as a whole: exit codes, help, and one line for every mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis import __version__
from tamis.cli import main


def tamis(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real command in a process of its own."""
    command = [sys.executable, "-m", "tamis.cli", *arguments]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=os.environ | environment)


def test_a_command_that_did_its_work_exits_with_0() -> None:
    done = tamis("explain", "--subscription", "price < 200", "--event", '{"price": 150}')

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[0] == "matches"


def test_a_mistake_exits_with_2_and_one_line() -> None:
    done = tamis("schema", "check", "nothing.toml")

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"tamis schema: nothing.toml: No such file or directory\n"


def test_the_installed_command_is_the_same() -> None:
    command = Path(sys.executable).with_name("tamis")

    done = subprocess.run([command, "--version"], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, f"tamis {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "tamis: the following arguments are required: COMMAND; see tamis --help"),
        (["expain"], "tamis: argument COMMAND: invalid choice: 'expain'"),
        (["explain"], "tamis explain: the following arguments are required: --subscription, --event"),
        (["explain", "--colour"], "tamis explain: the following arguments are required"),
        (["schema", "chek"], "tamis schema: argument VERB: invalid choice: 'chek'"),
        (["demo", "--events", "many"], "tamis demo: argument --events: expected a whole number"),
        (["demo", "--events", "-3"], "tamis demo: argument --events: expected"),
        (["demo", "--seed", "²"], "tamis demo: argument --seed: expected a whole number"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["demo", "explain", "schema", "COMMAND --help", "Exit codes"]),
        (["demo"], ["--subscriptions N", "--events M", "--seed", "default 1000"]),
        (["explain"], ["--schema TOML", "--subscription EXPR", "--event JSON", "@FILE", "docs/language.md"]),
        (["schema"], ["check", "infer", "extend", "tamis schema infer listings.jsonl --out auctions.toml"]),
        (["schema", "check"], ["the schema's file", "JSON lines", "Exit code 2"]),
        (["schema", "infer"], ["JSON lines", "standard output"]),
        (["schema", "extend"], ["--by TOML", "never change any"]),
    ],
)
def test_help_says_what_can_be_given(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--help"])

    out = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert [word for word in words if word not in out] == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_a_tick_gets_its_number(encoding: str) -> None:
    done = tamis("explain", "--subscription", "price < 200", "--event", '{"price": 150}', PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u2713 price < 200" in done.stdout


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = [sys.executable, "-m", "tamis.cli", "demo", "--subscriptions", "20", "--events", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")
