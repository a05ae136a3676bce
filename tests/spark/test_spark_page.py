"""What docs/spark.md shows is what happens."""

from __future__ import annotations

import json
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
    (tmp_path / "incoming").mkdir()
    rows = [{"ref": 8, "rayon": "Meubles", "nombre": 1, "prix": "20.00", "genre": "Commode"},
            {"ref": 9, "rayon": "Meubles", "nombre": 0, "prix": "20.00", "genre": "Commode"}]  # fmt: skip
    (tmp_path / "incoming" / "1.json").write_text("\n".join(map(json.dumps, rows)))

    shown = run_blocks("spark.md", fences(page("docs/spark.md"), "python"), {"folder": str(tmp_path)})

    assert shown.report == ""
    assert shown.checked > 15
