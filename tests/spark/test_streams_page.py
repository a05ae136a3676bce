"""What docs/streams.md shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import fences, page, run_blocks

pytestmark = pytest.mark.spark


def test_the_page_shows_what_its_comments_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.spark.running.sessions.session", lambda *_: spark)
    monkeypatch.setattr("tamis.spark.session", lambda *_: spark, raising=False)

    shown = run_blocks("streams.md", fences(page("docs/streams.md"), "python"), {"folder": tmp_path})

    assert shown.report == ""
    assert shown.checked > 6
