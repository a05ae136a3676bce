"""The auction story: the same story each time, mostly by the rules."""

from __future__ import annotations

from itertools import islice

import pytest

from tamis import Engine, EventError, Schema
from tamis.workloads import auctions

SCHEMA = Schema.loads(auctions.SCHEMA)


def is_accepted(listing: dict[str, object]) -> bool:
    try:
        SCHEMA.event(listing)
    except EventError:
        return False
    return True


@pytest.mark.parametrize("make", [auctions.subscriptions, auctions.listings])
def test_a_seed_tells_one_story_and_a_longer_one_begins_the_same(make: object) -> None:
    first = list(make(100))  # type: ignore[operator]

    assert list(make(100)) == first  # type: ignore[operator]
    assert list(islice(make(1000), 100)) == first  # type: ignore[operator]
    assert list(make(100, seed=2)) != first  # type: ignore[operator]


def test_every_wish_can_be_subscribed_under_an_id_of_its_own() -> None:
    engine = Engine(SCHEMA)

    receipt = engine.subscribe_many(auctions.subscriptions(500))

    assert (receipt.subscribed, receipt.never_matching) == (500, ())


def test_one_listing_in_fifty_breaks_a_rule() -> None:
    listings = list(auctions.listings(1000))

    refused = [number for number, listing in enumerate(listings) if not is_accepted(listing)]

    assert refused == list(range(17, 1000, 50))


def test_every_rule_is_broken_somewhere() -> None:
    rules = set()
    for listing in islice(auctions.listings(1000), 17, None, 50):
        with pytest.raises(EventError) as caught:
            SCHEMA.event(listing)
        rules.add(caught.value.rule)

    assert rules == {"R1", "R2", "R3"}


def test_most_listings_interest_some_and_none_interests_all() -> None:
    engine = Engine(SCHEMA)
    engine.subscribe_many(auctions.subscriptions(200))

    counts = engine.match_many([listing for listing in auctions.listings(100) if is_accepted(listing)]).counts()

    assert (counts > 0).mean() > 0.5
    assert counts.max() < 200
