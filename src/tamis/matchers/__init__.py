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


def _lazy(module: str, name: str) -> MatcherMaker:
    """A constructor whose module is imported when it is first called: `import tamis` compiles and connects nothing."""

    def make(*arguments: Any, **options: Any) -> Matcher:
        found: Matcher = getattr(import_module(f"tamis.matchers.{module}"), name)(*arguments, **options)
        return found

    return make


def _adaptive(schema: Schema, **options: Any) -> Matcher:
    # One floor up, so that segments may use the oracle: named here, loaded when asked for.
    made: Matcher = import_module("tamis.segments.adaptive").Adaptive(schema, **options)
    return made


MATCHERS: Mapping[str, MatcherMaker] = MappingProxyType(
    {
        "adaptive": _adaptive,
        "naive": Naive,
        "counting-matrix": _lazy("counting_matrix", "CountingMatrix"),
        "counting-bits": _lazy("counting_bits", "CountingBits"),
        "counting-lists": _lazy("counting_lists", "CountingLists"),
        "fair-predicate": _lazy("fair_predicate", "FairPredicate"),
        "equality-preferred": _lazy("equality_preferred", "EqualityPreferred"),
        "quarantining": _lazy("quarantining", "Quarantining"),
        "hanson": _lazy("hanson", "Hanson"),
        "gough": _lazy("gough", "Gough"),
        "aguilera": _lazy("aguilera", "Aguilera"),
        "neon": _lazy("neon", "Neon"),
        "tree": _lazy("tree", "TreeMatch"),
        "rapid": _lazy("rapid", "RapidMatch"),
        "sql-sequential": _lazy("sql.sequential", "SqlSequential"),
        "sql-grouping": _lazy("sql.grouping", "SqlGrouping"),
    }
)
"""Name → constructor. Everything that lists algorithms reads this table: engine, CLI, tests, benchmarks, docs."""
