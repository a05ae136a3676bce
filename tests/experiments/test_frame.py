"""Results are resumed point by point; what is broken or comes from elsewhere is told, and not mixed in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tamis import OptionError
from tamis.cli import main
from tamis.experiments.frame import provenance, running
from tamis.experiments.frame.experiment import Cell, Experiment, Point, Rows, Scale, column
from tamis.experiments.frame.measuring import growth
from tamis.experiments.frame.results import Results, read_results
from tamis.experiments.frame.tables import Table, pivot, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Squares(Experiment):
    """An experiment of four points that remembers what it measured."""

    name = "squares"
    title, shows, claims, choices = "Squares", "n times n", "it grows", "none"
    columns = ("square", "process")

    def __init__(self) -> None:
        self.measured: list[Cell] = []

    def points(self, scale: Scale) -> list[dict[str, Cell]]:
        return [{"n": n} for n in range(1, 5)]

    def measure(self, point: Point) -> dict[str, Cell]:
        self.measured.append(point["n"])
        if len(self.measured) > 2 and os.environ.get("TAMIS_STOP_HERE"):
            raise KeyboardInterrupt
        n = point["n"]
        assert isinstance(n, int)
        return {"square": n * n, "process": None}

    def tables(self, rows: Rows) -> list[Table]:
        return [pivot("squares", rows, down="n", across="process", cell="square")]

    def draw(self, rows: Rows, figure: Figure) -> None:
        figure.subplots().plot(column(rows, "n"), column(rows, "square"))

    def verdict(self, rows: Rows) -> str:
        return f"{len(rows)} squares."


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Squares(), Squares()
    monkeypatch.setenv("TAMIS_STOP_HERE", "1")
    with pytest.raises(KeyboardInterrupt):
        running.run(first, "test", tmp_path)
    monkeypatch.delenv("TAMIS_STOP_HERE")

    running.run(second, "test", tmp_path)

    assert (first.measured, second.measured) == ([1, 2, 3], [3, 4])
    assert column(read_results(tmp_path / "squares.csv")[1], "square") == [1, 4, 9, 16]


def test_a_torn_last_line_is_told_and_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running.run(Squares(), "test", tmp_path)
    path = tmp_path / "squares.csv"
    path.write_text(path.read_text()[:-4])
    again = Squares()

    running.run(again, "test", tmp_path)

    assert again.measured == [4]
    assert "the last line is torn" in capsys.readouterr().err
    assert column(read_results(path)[1], "square") == [1, 4, 9, 16]


def test_a_broken_line_is_refused_by_its_number(tmp_path: Path) -> None:
    running.run(Squares(), "test", tmp_path)
    path = tmp_path / "squares.csv"
    lines = path.read_text().splitlines()
    lines[3] = lines[3].partition(",")[0]
    path.write_text("\n".join(lines) + "\n")

    with pytest.raises(OptionError, match="line 4 is broken, with 1 cells in place of 4"):
        running.run(Squares(), "test", tmp_path)
    assert path.read_text().splitlines() == lines


@pytest.mark.parametrize("what", ["commit", "machine", "scale", "seed"])
def test_what_comes_from_elsewhere_is_not_mixed_in(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running.run(Squares(), "test", tmp_path)
    before = (tmp_path / "squares.csv").read_bytes()
    again = Squares()
    if what == "seed":
        monkeypatch.setattr(provenance, "SEED", 2)
    elif what != "scale":
        monkeypatch.setattr(provenance, f"_{what}", lambda: "another")

    with pytest.raises(OptionError, match=f"results of another {what}"):
        running.run(again, "small" if what == "scale" else "test", tmp_path)

    assert again.measured == []
    assert (tmp_path / "squares.csv").read_bytes() == before


def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "squares.csv").write_text("a,b\n1,2\n")

    with pytest.raises(OptionError, match="a first line that is not ours"):
        Results(Squares(), "test", tmp_path, print)
    assert (tmp_path / "squares.csv").read_text() == "a,b\n1,2\n"


def test_growth_finds_the_exponent_and_how_sure_it_is() -> None:
    xs = np.array([1e3, 1e4, 1e5, 1e6])
    noise = np.random.default_rng(1).lognormal(0, 0.1, 4)

    exact, noisy = growth(xs, 3 * xs**1.5), growth(xs, 3 * xs**1.5 * noise)

    assert exact.exponent == pytest.approx(1.5)
    assert exact.margin == pytest.approx(0, abs=1e-6)
    assert abs(noisy.exponent - 1.5) < noisy.margin < 0.5


def test_numbers_are_shown_with_three_digits_that_count() -> None:
    assert [shown(value) for value in (1234567, 1234.5, 0.012345, 0, None, "rapid")] == [
        *("1,234,567", "1,234", "0.0123", "0", "–", "rapid")
    ]


def test_an_experiment_that_does_not_exist_is_a_mistake_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiments", "run", "lesub-fig8"]) == 2
    assert capsys.readouterr().err.startswith("tamis experiments: no experiment is called 'lesub-fig8'")


def test_the_list_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiments", "list"]) == 0
    assert "lesub-fig9 " in capsys.readouterr().out
