"""The names of all columns, in one place."""

from __future__ import annotations

EVENT_ID = "event_id"
"""The caller's name for an event, or one that was made."""

EVENT = "event"
"""The event itself: a struct, a JSON string or a VARIANT."""

VARIANT_JSON = "_variant_json"
VARIANT = "_variant"
"""A VARIANT on its way to a worker: a struct of its JSON and, where that may mislead, of itself."""

PUBLISHER = "publisher"
UNREAD = "unread"
"""What `integrate` could not read of a row: an array of structs (attribute, reason). `validate` rejects such rows."""

RULE = "rule"
ATTRIBUTE = "attribute"
REASON = "reason"

ID = "id"
EXPRESSION = "expression"
SUBSCRIBER = "subscriber"
CHANNEL = "channel"
COLUMN = "column"
"""Where in the expression of a rejected subscription the mistake stands, from 1."""

SUBSCRIPTION_ID = "subscription_id"
SUBSCRIPTION_IDS = "subscription_ids"
MATCH_COUNT = "match_count"
VERSION = "index_version"

ARRIVED = "_arrived"
"""When an event of a stream arrived, where that is known: the time of its file, or of its message."""
