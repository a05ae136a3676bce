"""Notify: matches joined with who asked and how to reach them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError
from tamis.spark.columns import (
    CHANNEL,
    EVENT_ID,
    ID,
    SUBSCRIBER,
    SUBSCRIPTION_ID,
    SUBSCRIPTION_IDS,
    VERSION,
)
from tamis.spark.steps.arguments import check_frame

__all__ = ["notify"]


def notify(matches: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row per match: `subscriber`, `channel`, `subscription_id`, `event_id`; what a mailer or pusher reads.

    `matches` come from `match`, exploded or not. `subscriptions` has `id` and, where they exist, `subscriber`
    (else the id itself is told) and `channel` (else null). A match whose subscription is gone notifies nobody.
    """
    check_frame(matches, "matches")
    check_frame(subscriptions, "subscriptions")
    if ID not in subscriptions.columns:
        raise OptionError(f"subscriptions: expected a column {ID!r}, found {', '.join(subscriptions.columns)}")
    if SUBSCRIPTION_IDS in matches.columns:
        matches = matches.withColumn(SUBSCRIPTION_ID, F.explode(SUBSCRIPTION_IDS))
    if SUBSCRIPTION_ID not in matches.columns or EVENT_ID not in matches.columns:
        raise OptionError(
            f"matches: expected columns {EVENT_ID!r} and {SUBSCRIPTION_ID!r}, found {', '.join(matches.columns)}"
        )
    known = subscriptions.columns
    reached = subscriptions.select(
        F.col(ID).alias(SUBSCRIPTION_ID),
        F.col(SUBSCRIBER if SUBSCRIBER in known else ID).alias(SUBSCRIBER),
        (F.col(CHANNEL) if CHANNEL in known else F.lit(None).cast("string")).alias(CHANNEL),
    )
    version = [VERSION] if VERSION in matches.columns else []
    return matches.join(reached, SUBSCRIPTION_ID).select(SUBSCRIBER, CHANNEL, SUBSCRIPTION_ID, EVENT_ID, *version)
