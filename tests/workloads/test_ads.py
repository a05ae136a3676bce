"""Classified ads: nested events and wishes of every kind, the same by the column and as JSON."""

from __future__ import annotations

import json

import pytest

from tamis import Engine
from tamis.language import parse
from tamis.workloads.ads import Ads

BOTH = pytest.mark.parametrize("workload", [Ads(), Ads(open=1)], ids=lambda workload: workload.name)


@BOTH
def test_columns_and_json_are_the_same_events(workload: Ads) -> None:
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(2000))

    columns = engine.match_many(workload.events(200))
    mappings = engine.match_many([json.loads(json.dumps(ad)) for ad in workload.mappings(200)])

    assert [set(ids) for ids in columns] == [set(ids) for ids in mappings]
    assert columns.total > 0


@BOTH
def test_a_slice_of_the_mappings_is_part_of_the_whole(workload: Ads) -> None:
    assert list(workload.mappings(60, start=50)) == list(workload.mappings(60))[50:]


def test_an_ad_is_nested_and_says_nothing_of_what_is_missing() -> None:
    ads = list(Ads().mappings(500))

    assert all({"title", "category", "seller", "location", "posted", "tags"} <= ad.keys() for ad in ads)
    assert all(ad["location"].keys() == {"town", "lat", "lon"} for ad in ads)
    assert {"brand" in ad for ad in ads} == {"rating" in ad["seller"] for ad in ads} == {True, False}
    assert 250 < sum(len(json.dumps(ad)) for ad in ads) / len(ads) < 450


@BOTH
def test_wishes_have_every_construct_and_can_come_true(workload: Ads) -> None:
    texts = workload.subscriptions(1000)["expression"].to_pylist()
    schema = workload.schema()

    for word in (
        " or ",
        "not (",
        "not in",
        "not between",
        "not contains",
        "is missing",
        "timestamp '",
        "''",
        "between",
    ):
        assert any(word in text for text in texts), word
    assert all(parse(text, schema) for text in texts)


@BOTH
def test_most_ads_interest_somebody_and_none_interests_all(workload: Ads) -> None:
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(2000))

    counts = engine.match_many(workload.events(500)).counts()

    assert (counts > 0).mean() > 0.5
    assert counts.max() < 400
