"""Every experiment at test scale: a table, a whole CSV, pictures that show something, and a verdict."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from tamis.experiments import EXPERIMENTS, find_experiment
from tamis.experiments.frame.report import page
from tests.experiments.conftest import Ran

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.timeout(900)  # some start a process for each point
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_makes_a_table_a_csv_pictures_and_a_verdict(name: str, ran: Ran) -> None:
    rows, said, folder = ran(name)
    experiment = find_experiment(name)

    assert len(rows) == len(experiment.points("test"))
    assert all(list(row) == [*experiment.points("test")[0], *experiment.columns, "load"] for row in rows)
    assert all(table.as_text() in said for table in experiment.tables(rows))
    assert experiment.verdict(rows) in said
    picture = matplotlib.image.imread(folder / f"{name}.png")[..., :3]
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50, "next to nothing is drawn"
    drawn = (folder / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn.count("<path") > 10
    assert "<text" in drawn


@pytest.mark.timeout(900)  # some start a process for each point
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_scales_grow(name: str) -> None:
    experiment = find_experiment(name)
    sizes = [len(experiment.points(scale)) for scale in ("test", "small", "paper", "max")]
    keys = {tuple(point) for scale in ("test", "small", "paper", "max") for point in experiment.points(scale)}

    assert sizes == sorted(sizes)
    assert len(keys) == 1, "all points of an experiment are told by the same words"


@pytest.mark.timeout(900)  # some start a process for each point
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_says_what_the_paper_claims_and_what_we_chose(name: str) -> None:
    experiment = find_experiment(name)

    assert experiment.name == name
    assert min(len(text) for text in (experiment.title, experiment.shows, experiment.claims, experiment.choices)) > 10


def test_the_page_says_what_its_rows_say() -> None:
    assert (DOCS / "experiments.md").read_text(encoding="utf-8") == page(DOCS / "experiments")
