"""Statistics on Spark are those of the events, and they change where a segment looks first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tamis import spark as ts
from tamis.model import Schema
from tamis.segments.compile.statistics import observe
from tamis.spark.versions.manifest import read_manifest
from tamis.spark.versions.storage import root_of, storage
from tamis.spark.workers.building import open_entries
from tamis.workloads.catalogue import find_workload

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("as_json", [False, True])
def test_statistics_are_those_of_the_sample(spark: SparkSession, as_json: bool) -> None:
    workload = find_workload("lesub")
    events = ts.generate_events(spark, workload, 700)
    frame = events.selectExpr("event_id", "to_json(event) as event") if as_json else events

    found = ts.analyze(frame)

    schema = Schema(open=True)
    wanted = observe([schema.event(raw) for raw in workload.events(700).to_pylist()])
    assert found.events == 700
    assert set(found.attributes) == set(wanted.attributes)
    for name, one in wanted.attributes.items():
        mine = found.attributes[name]
        assert mine.present == pytest.approx(one.present)
        assert mine.distinct == one.distinct
        assert dict(mine.frequent) == pytest.approx(dict(one.frequent))


def test_statistics_change_the_order_on_light_and_not_the_answers(spark: SparkSession, tmp_path: Path) -> None:
    """`p7 = 1` is rare among light events and `p7 = 0` is not; only statistics can know."""
    workload = find_workload("light", a=2.0)
    subscriptions = ts.generate_subscriptions(spark, workload, 4000)
    events = ts.generate_events(spark, workload, 60)
    blind, knowing = str(tmp_path / "blind"), str(tmp_path / "knowing")

    ts.index(subscriptions, workload.schema(), blind)
    ts.index(subscriptions, workload.schema(), knowing, statistics=ts.analyze(events))
    answers = [set(map(tuple, ts.match(events, path).collect())) for path in (blind, knowing)]

    manifests = {path: read_manifest(storage(path), path) for path in (blind, knowing)}
    orders = []
    for path, manifest in manifests.items():
        [segment] = open_entries(root_of(path), manifest, manifest.segments)
        orders.append(segment.ids(np.sort(segment.subscriptions())).to_pylist())
    assert answers[0] == answers[1]
    assert answers[0]
    assert manifests[knowing].known is not None
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]
