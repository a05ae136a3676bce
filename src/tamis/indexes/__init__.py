"""WHICH predicates does a value satisfy? One file per structure of the papers, one line each in `INDEXES`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from tamis.indexes.base import SIX, IndexMaker, Ints, PredicateIndex

__all__ = ["INDEXES", "SIX", "IndexMaker", "Ints", "PredicateIndex"]


def _at(module: str, name: str) -> IndexMaker:
    """A constructor that imports its module, and with it Numba or LMDB, when it is called."""

    def make(*args: Any, **options: Any) -> PredicateIndex:
        index: PredicateIndex = getattr(import_module(f"tamis.indexes.{module}"), name)(*args, **options)
        return index

    return make


INDEXES: Mapping[str, IndexMaker] = MappingProxyType(
    {
        "table": _at("table", "Table"),
        "ordered-list": _at("ordered_list", "OrderedList"),
        "hash-and-sorted": _at("hash_and_sorted", "HashAndSorted"),
        "pb-tree": _at("pb_tree", "PbTree"),
        "grouped-filter": _at("grouped_filter", "GroupedFilter"),
        "red-black": _at("red_black", "RedBlack"),
        "ibs-tree": _at("ibs_tree", "IbsTree"),
        "time-index": _at("time_index", "TimeIndex"),
        "interval-b-tree": _at("interval_b_tree", "IntervalBTree"),
    }
)
"""Name → constructor, called with the domain. Matchers, tests, benchmarks and docs read this table."""
