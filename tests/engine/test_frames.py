"""Frames of pandas and polars, relations of DuckDB and whatever gives Arrow its columns, wherever Arrow is taken."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamis import Engine, EventError, OptionError, Schema

SUBSCRIPTIONS = [
    ("cheap", "price < 20"),
    ("gone", "price is missing"),
    ("oak", "tags contains oak"),
    ("late", "at > timestamp '2024-06-01'"),
    ("red", "colour = 'red' and count >= 2"),
]
ROWS: list[dict[str, Any]] = [
    {"price": 19.5, "tags": ["oak", "old"], "at": datetime(2024, 5, 1, tzinfo=UTC), "colour": "red", "count": 1},
    {"price": None, "tags": [], "at": datetime(2024, 7, 1, 12, 30, tzinfo=UTC), "colour": None, "count": 2},
    {"price": 20.0, "tags": None, "at": None, "colour": "red", "count": None},
    {"price": 3.25, "tags": ["elm"], "at": datetime(2025, 1, 1, tzinfo=UTC), "colour": "red", "count": 2},
]


class Stream:
    """An object that has the capsule and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Batch:
    def __init__(self, table: pa.Table) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def pandas_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, index=[f"row {at}" for at in range(len(rows))])


def duckdb_relation(rows: list[dict[str, Any]]) -> duckdb.DuckDBPyRelation:
    table = pa.Table.from_pylist(rows)
    return duckdb.connect().from_arrow(table)


FORMS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": pandas_frame,
    "pandas with a range": pd.DataFrame,
    "pandas' own types": lambda rows: pandas_frame(rows).convert_dtypes(),
    "pandas on Arrow": lambda rows: pandas_frame(rows).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "duckdb": duckdb_relation,
    "a stream": lambda rows: Stream(pa.Table.from_pylist(rows)),
    "an array": lambda rows: Batch(pa.Table.from_pylist(rows)),
    "a reader": lambda rows: pa.Table.from_pylist(rows).to_reader(2),
}


@pytest.fixture(params=["adaptive", "naive"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine = Engine(algorithm=request.param)
    engine.subscribe_many(SUBSCRIPTIONS)
    return engine


def sets(matches: Any) -> list[set[object]]:
    return [set(ids) for ids in matches]


EXPECTED = [{"cheap", "oak"}, {"gone", "late"}, set(), {"cheap", "late", "red"}]


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_matches_as_its_rows_do(engine: Engine, form: str) -> None:
    make = FORMS[form]

    assert sets(engine.match_many(ROWS)) == EXPECTED
    assert sets(engine.match_many(make(ROWS))) == EXPECTED
    assert engine.count_many(make(ROWS)).tolist() == [len(ids) for ids in EXPECTED]
    assert [ids for piece in engine.match_iter(make(ROWS), at_once=3) for ids in sets(piece)] == EXPECTED
    engine.observe(make(ROWS))
    assert sets(engine.match_many(make(ROWS))) == EXPECTED


@pytest.mark.parametrize("form", FORMS)
def test_subscriptions_come_in_frames(form: str) -> None:
    rows = [{"id": id, "expression": text} for id, text in SUBSCRIPTIONS]
    engine = Engine()

    receipt = engine.subscribe_many(FORMS[form](rows))

    assert receipt.subscribed == len(rows)
    assert sets(engine.match_many(ROWS)) == EXPECTED


@pytest.mark.parametrize("given", [dict(SUBSCRIPTIONS), [{"expression": text, "id": id} for id, text in SUBSCRIPTIONS]])
def test_subscriptions_come_as_a_dictionary_or_as_mappings(given: Any) -> None:
    engine = Engine()

    assert engine.subscribe_many(given).subscribed == len(SUBSCRIPTIONS)
    assert engine.ids() == [id for id, _ in SUBSCRIPTIONS]


def test_nan_is_missing_in_pandas_and_refused_elsewhere(engine: Engine) -> None:
    numbers = [1.0, float("nan")]
    arrow = pd.DataFrame({"price": pd.Series(pa.array(numbers), dtype=pd.ArrowDtype(pa.float64()))})

    for frame in (pd.DataFrame({"price": numbers}), pd.DataFrame({"price": [1.0, None]}), arrow):
        assert [ids & {"cheap", "gone"} for ids in sets(engine.match_many(frame))] == [{"cheap"}, {"gone"}]
    for other in (pl.DataFrame({"price": numbers}), pa.table({"price": numbers})):
        with pytest.raises(EventError, match="event 1: attribute 'price': expected a finite number, found nan"):
            engine.match_many(other)
    assert [ids & {"gone"} for ids in sets(engine.match_many(pl.DataFrame({"price": [1.0, None]})))] == [
        set(),
        {"gone"},
    ]


def test_integers_with_gaps_are_integers_again() -> None:
    schema = Schema.loads('[attributes]\ncount = "integer"\n')
    engine = Engine(schema)
    engine.subscribe_many({"two": "count = 2", "none": "count is missing"})

    assert sets(engine.match_many(pd.DataFrame({"count": [2, None, 3]}))) == [{"two"}, {"none"}, set()]
    with pytest.raises(EventError, match=r"R2: event 1: attribute 'count': expected an integer, found 2\.5"):
        engine.match_many(pd.DataFrame({"count": [2, 2.5, None]}))


def test_the_index_of_pandas_is_no_attribute() -> None:
    engine = Engine(Schema.loads('[attributes]\nprice = "number"\n'))
    engine.subscribe("cheap", "price < 2")
    frame = pd.DataFrame({"price": [1, 3]}, index=[7, 9])
    kept = pa.Table.from_pandas(frame)  # as pandas writes it to Parquet

    assert "__index_level_0__" in kept.column_names
    for events in (frame, kept, kept.to_batches()[0], frame.rename_axis("id")):
        assert sets(engine.match_many(events)) == [{"cheap"}, set()]


def test_a_column_of_mixed_objects_is_looked_at_row_by_row(engine: Engine) -> None:
    frame = pd.DataFrame({"price": [1, "dear", np.nan], "tags": [["oak"], None, ["oak", "elm"]]})

    assert sets(engine.match_many(frame)) == [{"cheap", "oak"}, set(), {"gone", "oak"}]


def test_what_is_no_column_of_ours_is_told_in_our_words(engine: Engine) -> None:
    with pytest.raises(OptionError, match="expected columns with names, found a Series"):
        engine.match_many(pl.Series(["a"]))
    with pytest.raises(OptionError, match="expected events as mappings, an Arrow table or a frame, found a LazyFrame"):
        engine.match_many(pl.LazyFrame({"price": [1]}))
    with pytest.raises(OptionError, match="expected events as mappings, an Arrow table or a frame, found 'events"):
        engine.match_many("events.parquet")  # type: ignore[arg-type]
    with pytest.raises(EventError, match="the frame has two columns called 'a'"):
        engine.match_many(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(OptionError, match="expected pairs"):
        engine.subscribe_many(3)  # type: ignore[arg-type]


def test_polars_has_types_of_its_own() -> None:
    schema = Schema.loads(
        '[attributes]\nday = "timestamp"\nprice = "number"\nkind = { type = "enumerated", values = ["a", "b"] }\n'
        'sizes = "integer"\n"seller.name" = "string"\n'
    )
    engine = Engine(schema)
    texts = ["day >= timestamp '2024-05-31'", "price = 19.99", "kind = a", "sizes = 3", "seller.name = 'ann'"]
    engine.subscribe_many(list(enumerate(texts)))
    frame = pl.DataFrame(
        {
            "day": [date(2024, 5, 31), date(2024, 5, 30), None],
            "price": [Decimal("19.99"), Decimal("19.98"), None],
            "kind": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "sizes": pl.Series([[1, 3], [1, 2], None], dtype=pl.Array(pl.Int16, 2)),
            "seller": [{"name": "ann"}, {"name": None}, None],
        }
    )

    assert sets(engine.match_many(frame)) == [{0, 1, 2, 3, 4}, set(), set()]
