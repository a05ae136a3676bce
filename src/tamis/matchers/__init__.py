"""WHICH subscriptions does an event satisfy? One file per algorithm of the papers, one line each in `MATCHERS`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tamis.matchers.base import Entry, Matcher, MatcherMaker, MatcherStats, Rows, Work
from tamis.matchers.naive import Naive

__all__ = ["MATCHERS", "Entry", "Matcher", "MatcherMaker", "MatcherStats", "Rows", "Work"]

MATCHERS: Mapping[str, MatcherMaker] = MappingProxyType(
    {
        "naive": Naive,
    }
)
"""Name → constructor. Everything that lists algorithms reads this table: engine, CLI, tests, benchmarks, docs."""
