"""What docs/spark.md shows is what happens."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.test_readme import examples, fences

pytestmark = pytest.mark.spark

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")


def test_the_page_shows_what_its_comments_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.spark.running.sessions.session", lambda *_: spark)
    monkeypatch.setattr("tamis.spark.session", lambda *_: spark, raising=False)
    (tmp_path / "incoming").mkdir()
    rows = [{"ref": 8, "rayon": "Meubles", "nombre": 1, "prix": "20.00", "genre": "Commode"},
            {"ref": 9, "rayon": "Meubles", "nombre": 0, "prix": "20.00", "genre": "Commode"}]  # fmt: skip
    (tmp_path / "incoming" / "1.json").write_text("\n".join(map(json.dumps, rows)))
    blocks = fences(PAGE, "python")
    steps = [step for code in blocks for step in examples(code)]
    report: list[str] = []

    test = doctest.DocTest(steps, {"folder": str(tmp_path)}, "spark", "spark.md", 0, "\n".join(blocks))
    result = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)

    assert sum(bool(step.want.strip()) for step in steps) > 15
    assert result.failed == 0, "".join(report)
