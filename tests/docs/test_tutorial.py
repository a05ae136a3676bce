"""What docs/tutorial.md shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import fences, page, run_blocks


def test_the_tutorial_shows_what_its_comments_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    shown = run_blocks("tutorial.md", fences(page("docs/tutorial.md"), "python"), {})

    assert shown.report == ""
    assert shown.checked > 25
