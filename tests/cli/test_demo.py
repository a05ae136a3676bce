"""`tamis demo` tells the auction story, on Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tamis.cli import main

pytestmark = pytest.mark.spark

Capture = pytest.CaptureFixture[str]


def test_the_demo_tells_who_sends_what_and_who_hears_of_it(
    capsys: Capture, tmp_path: Path, spark_for_commands: None
) -> None:
    out = tmp_path / "story"

    code = main(["demo", "--subscriptions", "300", "--events", "200", "--out", str(out)])

    told = capsys.readouterr().out
    story = [
        "Three auction houses announce listings",
        "600 listings came in:",
        "attic         200   from example/feeds/attic.parquet",
        "were rejected (R1 ",
        "300 wishes were compiled",
        "10 people hear of",
        f"Everything lies in {out}",
        "docs/spark.md",
    ]
    places = [told.find(part) for part in story]
    assert code == 0
    assert -1 not in places, story[places.index(-1)]
    assert places == sorted(places)
    people = re.findall(r"^  (\w+), by (\w+), of \w+:\d+: price .*\n((?:      \S.* is .*\n)+)", told, re.MULTILINE)
    assert len(people) == 5
    matches = ds.dataset(out / "matches").count_rows()
    assert f"{matches:,} matches" in told
    assert ds.dataset(out / "notifications").count_rows() == matches


def test_an_output_that_exists_is_refused_in_one_line(capsys: Capture, tmp_path: Path) -> None:
    code = main(["demo", "--out", str(tmp_path)])

    err = capsys.readouterr().err
    assert code == 2
    assert err == f"tamis demo: {tmp_path}: exists already; name another output, or remove it\n"
