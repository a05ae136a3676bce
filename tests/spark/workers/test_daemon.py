"""The daemon that workers are forked from says what matters, and no more."""

from __future__ import annotations

import pytest
from pyspark import daemon

from tamis.spark.workers.daemon import quieten


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "print", print, raising=False)
    monkeypatch.setattr(daemon, "traceback", daemon.traceback)
    quieten()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("error", "told"), [(BrokenPipeError, False), (ConnectionResetError, False), (OSError, True)])
def test_a_reader_that_went_away_is_no_news(
    error: type[OSError], told: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        raise error
    except OSError:
        daemon.print("failed to flush:\n" + daemon.traceback.format_exc())
        daemon.traceback.print_exc()

    said = capfd.readouterr()
    assert ("Traceback" in said.err) == ("failed to flush" in said.out) == told


@pytest.mark.usefixtures("quiet")
def test_what_cannot_be_written_for_another_reason_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    for error in (BrokenPipeError("nobody"), ValueError("something else")):
        try:
            raise error
        except Exception as found:  # noqa: BLE001  # as the daemon itself does
            daemon.print(f"failed: {found}")

    assert capfd.readouterr().out == "failed: something else\n"
