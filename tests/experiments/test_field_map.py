"""The map: every algorithm is measured or has refused, and all that answer give the same answers."""

from __future__ import annotations

from tamis.experiments.field_map import EXPERIMENT
from tamis.experiments.frame.experiment import Cell
from tamis.matchers import MATCHERS
from tests.experiments.conftest import Ran


def test_all_sixteen_are_on_the_map(ran: Ran) -> None:
    rows, _, _ = ran("field-map")

    assert {row["algorithm"] for row in rows} == set(MATCHERS)
    assert all((row["match_ms"] is None) == (row["refused"] is not None) for row in rows)


def test_all_that_answer_give_the_same_answers(ran: Ran) -> None:
    answers: dict[tuple[Cell, ...], set[tuple[Cell, ...]]] = {}
    for row in ran("field-map")[0]:
        if row["refused"] is None:
            given = tuple(row[name] for name in ("subscriptions", "values", "equal", "skew", "dimensions", "events"))
            answers.setdefault(given, set()).add((row["matches"], row["checksum"]))

    assert {len(found) for found in answers.values()} == {1}


def test_larger_scales_have_every_handle_at_more_than_one_place() -> None:
    points = EXPERIMENT.points("paper")

    for handle in ("subscriptions", "values", "equal", "skew", "dimensions"):
        assert len({point[handle] for point in points}) > 1
