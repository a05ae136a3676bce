"""Notify: matches joined with who asked and how to reach them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError
from tamis.spark.columns import (
    CHANNEL,
    EVENT_ID,
    EXPRESSION,
    ID,
    MATCH_COUNT,
    SUBSCRIBER,
    SUBSCRIPTION_ID,
    SUBSCRIPTION_IDS,
)
from tamis.spark.steps.arguments import check_frame
from tamis.spark.steps.event_frames import quoted

__all__ = ["notify"]

_FIRST = (SUBSCRIBER, CHANNEL, SUBSCRIPTION_ID, EVENT_ID)


def notify(matches: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row per match: `subscriber`, `channel`, `subscription_id`, `event_id`; what a mailer or pusher reads. Other
    columns of the subscriptions, but for `expression`, and of the matches stand behind them.

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
    beside = [name for name in matches.columns if name not in (*_FIRST, SUBSCRIPTION_IDS, MATCH_COUNT)]
    own = [name for name in known if name not in (ID, EXPRESSION, *_FIRST)]
    if twice := set(own) & set(beside):
        raise OptionError(f"subscriptions: the matches have a column {min(twice)!r} too; rename one of them")
    reached = subscriptions.select(
        F.col(ID).alias(SUBSCRIPTION_ID),
        F.col(SUBSCRIBER if SUBSCRIBER in known else ID).alias(SUBSCRIBER),
        (F.col(CHANNEL) if CHANNEL in known else F.lit(None).cast("string")).alias(CHANNEL),
        *map(quoted, own),
    )
    return matches.join(reached, SUBSCRIPTION_ID).select(*_FIRST, *map(quoted, own), *map(quoted, beside))
