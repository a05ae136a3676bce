"""Settings come from a file, the environment and flags, and are one object."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis import OptionError
from tamis.cli import main
from tamis.server.settings import Settings, read_settings, shown_settings


def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "tamis.toml"
    file.write_text('port = 1\nmost_body_bytes = 10\nmost_lag = 7\ndata = "here"\n')

    found = read_settings(str(file), {"TAMIS_SERVE_PORT": "2", "TAMIS_SERVE_MOST_BODY_BYTES": "20"}, {"port": "3"})

    assert (found.port, found.most_body_bytes, found.service.most_lag, found.data) == (3, 20, 7, "here")


def test_what_is_shown_can_be_read_again(tmp_path: Path) -> None:
    told = read_settings(None, {}, {"port": "99", "heartbeat_seconds": "0.5", "most_events": "3"})
    file = tmp_path / "tamis.toml"
    file.write_text(shown_settings(told))

    assert read_settings(str(file), {}, {}) == told


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"prot": "1"}, "flags: there is no setting 'prot'; did you mean 'port'?"),
        ({"port": "many"}, "flags, port: expected a whole number, found 'many'"),
        ({"port": "-1"}, "flags, port: expected at least 0, found -1"),
        ({"heartbeat_seconds": "nan"}, "flags, heartbeat_seconds: expected a number, found"),
        ({"log": "loud"}, "log: expected requests or errors, found 'loud'"),
        ({"host": "0.0.0.0"}, "host: expected an address of this machine alone, such as 127.0.0.1, found '0.0.0.0'"),
        ({"host": "example.org"}, "host: expected an address of this machine alone"),
        ({"host": "::"}, "host: expected an address of this machine alone"),
    ],
)
def test_a_setting_that_cannot_be_is_told_with_its_place(flags: dict[str, object], sentence: str) -> None:
    with pytest.raises(OptionError) as told:
        read_settings(None, {}, flags)

    assert sentence in str(told.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_addresses_of_this_machine_are_taken(host: str) -> None:
    assert read_settings(None, {}, {"host": host}).host == host


def test_the_command_shows_its_settings_and_refuses_what_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--show-settings", "--port", "7", "--set", "most_streams=5"]) == 0
    shown = capsys.readouterr().out
    assert "port = 7\n" in shown
    assert "most_streams = 5\n" in shown

    assert main(["serve", "--show-settings", "--set", "most_streams"]) == 2
    assert "--set: expected NAME=VALUE, found 'most_streams'" in capsys.readouterr().err
    assert main(["serve", "--host", "192.168.0.1"]) == 2
    assert "until there are keys" in capsys.readouterr().err


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tamis.toml"
    file.write_text("port is 3")

    with pytest.raises(OptionError, match="expected settings as TOML"):
        read_settings(str(file), {}, {})
    with pytest.raises(OptionError, match="No such file"):
        read_settings(str(tmp_path / "none"), {}, {})


def test_the_defaults_are_settings() -> None:
    assert read_settings(None, {}, {}) == Settings()
