"""The service's limits and times, in one place. The door has its own for bodies and connections."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT", "Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes are counts or bytes, times are seconds, as the names say."""

    most_lag: int = 200_000
    """Positions that the matcher may be behind before publishing is refused with `TooBusy`."""
    most_queued_bytes: int = 64 << 20
    """Bytes of writes that wait for the disk before more are refused with `TooBusy`. Deletes always pass."""
    most_events: int = 20_000
    """Events in one publishing."""
    most_subscriptions: int = 20_000
    """Subscriptions in one request; larger loads are staged in pieces of that size."""
    expression_characters: int = 100_000
    """Length of an expression."""
    batch_events: int = 10_000
    """Events that the matcher takes at once."""
    block_matches: int = 4_000_000
    """Matches in one block, unless a single event has more."""
    page_notifications: int = 1_000
    """Notifications in one page of a feed, whatever is asked for."""
    page_bytes: int = 16 << 20
    """Bytes of events and ids after which a page ends early; it has at least one notification if there is one."""
    cache_bytes: int = 64 << 20
    """Decoded blocks and records kept for readers, all in all."""
    memory_bytes: int = 64 << 20
    """Published columns kept for the matcher; past it they are read again from the log."""
    checkpoint_changes: int = 10_000
    checkpoint_seconds: float = 30.0
    key_seconds: float = 24 * 3600.0
    """How long an idempotency key is remembered."""
    staging_seconds: float = 24 * 3600.0
    """How long an upload that nobody commits is kept."""
    most_tails: int = 1_000
    """Live tails at a time."""
    tail_notifications: int = 1_000
    """Notifications that a live tail holds for a slow reader; the oldest are dropped, and counted."""
    try_events: int = 10_000
    """Stored events that an expression is tried on, at most."""


DEFAULT = Settings()
