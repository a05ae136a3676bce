"""Answers of several segments become rows: all ids, each with its event, in batches of bounded size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.matchers import Rows
from tamis.spark.workers import shapes
from tamis.spark.workers.shapes import Asking, SegmentAnswer, counted, in_lists, in_pieces

EVENTS = 50


def draw(seed: int, most: int, kind: pa.DataType) -> tuple[list[SegmentAnswer], dict[str, list[object]]]:
    """Three segments, of which one was asked about all events; and what each event matched."""
    random = np.random.default_rng(seed)
    found, wanted, next_id = [], {f"e{row}": [] for row in range(EVENTS)}, 0
    for asked in (None, np.flatnonzero(random.random(EVENTS) < 0.4), np.arange(0, EVENTS, 7)):
        rows = np.arange(EVENTS) if asked is None else asked
        counts = random.integers(0, most, len(rows)) * (random.random(len(rows)) < 0.8)
        ids = pa.array(range(next_id, next_id + int(counts.sum()))).cast(kind)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        for at, row in enumerate(rows.tolist()):
            wanted[f"e{row}"] += ids[offsets[at] : offsets[at + 1]].to_pylist()
        found.append(SegmentAnswer(asked, Rows(offsets, ids)))
        next_id += len(ids)
    return found, {event: ids for event, ids in wanted.items() if ids}


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
@pytest.mark.parametrize("most", [1, 3, 200])
@pytest.mark.parametrize("seed", range(5))
def test_lists_have_every_id_once_and_an_event_one_row(kind: pa.DataType, most: int, seed: int) -> None:
    found, wanted = draw(seed, most, kind)
    event_ids = pa.array([f"e{row}" for row in range(EVENTS)])

    events = Asking(event_ids, False, kind)

    rows = [row for batch in in_lists(events, found) for row in batch.to_pylist()]
    counts = [row for batch in counted(events, [(one.rows, one.found.counts()) for one in found])
              for row in batch.to_pylist()]  # fmt: skip

    assert {row["event_id"]: row["subscription_ids"] for row in rows} == wanted
    assert len(rows) == len(wanted)
    assert all(row["match_count"] == len(row["subscription_ids"]) for row in rows)
    assert {row["event_id"]: row["match_count"] for row in counts} == {one: len(ids) for one, ids in wanted.items()}


@pytest.mark.parametrize("seed", range(3))
def test_no_row_and_no_batch_holds_more_than_the_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MOST_IDS", 30)
    found, wanted = draw(seed, 200, pa.int64())
    event_ids = pa.array([f"e{row}" for row in range(EVENTS)])

    together = list(in_lists(Asking(event_ids, False, pa.int64()), found))
    apart = [batch for one in found for batch in in_pieces(event_ids, one)]

    for batches in (together, apart):
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert max(len(row["subscription_ids"]) for row in rows) == 30
        assert max(sum(row["match_count"] for row in batch.to_pylist()) for batch in batches) < 60
        listed = sorted((row["event_id"], id) for row in rows for id in row["subscription_ids"])
        assert listed == sorted((event, id) for event, ids in wanted.items() for id in ids)


def test_nothing_found_is_no_row() -> None:
    events = Asking(pa.array([1, 2]), False, pa.int64())

    assert list(in_lists(events, [])) == []
    assert [len(batch) for batch in counted(events, [])] == [0]


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
@pytest.mark.parametrize("segments", [slice(0, 0), slice(0, 1), slice(1, 2), slice(None)])
def test_events_that_match_nothing_have_a_row_if_that_is_asked(kind: pa.DataType, segments: slice) -> None:
    found = draw(1, 3, kind)[0][segments]
    wanted = _wanted(found)
    events = Asking(pa.array([f"e{row}" for row in range(EVENTS)]), True, kind)

    rows = [row for batch in in_lists(events, found) for row in batch.to_pylist()]
    counts = [row for batch in counted(events, [(one.rows, one.found.counts()) for one in found])
              for row in batch.to_pylist()]  # fmt: skip

    assert [row["event_id"] for row in rows] == [row["event_id"] for row in counts] == events.ids.to_pylist()
    assert [row["match_count"] for row in rows] == [row["match_count"] for row in counts]
    assert {row["event_id"]: sorted(row["subscription_ids"]) for row in rows} == {
        event: sorted(wanted.get(event, [])) for event in events.ids.to_pylist()
    }


def _wanted(found: list[SegmentAnswer]) -> dict[str, list[object]]:
    wanted: dict[str, list[object]] = {}
    for one in found:
        for at in range(len(one.found)):
            row = at if one.rows is None else int(one.rows[at])
            wanted.setdefault(f"e{row}", []).extend(one.found.row(at).to_pylist())
    return wanted
