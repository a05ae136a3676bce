"""WHICH subscriptions does an event satisfy? One file per algorithm of the papers, one line each in `MATCHERS`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from tamis.matchers.base import Entry, Matcher, MatcherMaker, MatcherStats, Rows, Work
from tamis.matchers.naive import Naive
from tamis.model import Schema

__all__ = ["MATCHERS", "Entry", "Matcher", "MatcherMaker", "MatcherStats", "Rows", "Work"]


def _adaptive(schema: Schema, **options: Any) -> Matcher:
    # One floor up, so that segments may use the oracle: named here, loaded when asked for.
    made: Matcher = import_module("tamis.segments.adaptive").Adaptive(schema, **options)
    return made


MATCHERS: Mapping[str, MatcherMaker] = MappingProxyType(
    {
        "adaptive": _adaptive,
        "naive": Naive,
    }
)
"""Name → constructor. Everything that lists algorithms reads this table: engine, CLI, tests, benchmarks, docs."""
