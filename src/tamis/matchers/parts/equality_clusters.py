"""Clusters by equality (Le Subscribe §3.1, `eqsubmatch`): rows with equality predicates over the same attributes.

A cluster's *schema* is that set of attributes; inside, rows lie in groups by their values. An event looks up its own
values in each cluster whose schema it has. Per attribute the first `=`, else the first `contains`, is the row's
equality; any other counts among the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from tamis.matchers.base import Work
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.changes import Change
from tamis.model import Conjunction, Event, Operator, Value

__all__ = ["EqualityClusters"]

_Schema = tuple[str, ...]
_Values = tuple[Value, ...]


class EqualityClusters:
    """Schema → values → group of rows. Add and remove O(1); search O(clusters looked into)."""

    def __init__(self) -> None:
        self.lists = Associations()
        self._clusters: dict[_Schema, dict[_Values, int]] = {}
        self._by_first: dict[str, dict[_Schema, frozenset[str]]] = {}
        self._places: dict[int, tuple[_Schema, _Values]] = {}
        self._free: list[int] = []
        self._made = 0
        self._group_of: dict[int, int] = {}

    def add(self, change: Change, conjunctions: list[Conjunction | None]) -> npt.NDArray[np.bool_]:
        """Put each row with an equality in its group; which of the change's predicates were used for that."""
        used = np.zeros(len(change.pids), np.bool_)
        rows, groups = [], []
        for row, start in zip(change.rows.tolist(), change.starts.tolist(), strict=False):
            conjunction = conjunctions[row]
            assert conjunction is not None
            chosen = _equalities(conjunction)
            if chosen:
                for place in chosen.values():
                    used[start + place] = True
                rows.append(row)
                groups.append(self._group(conjunction, chosen))
        self._group_of.update(zip(rows, groups, strict=True))
        self.lists.add(np.array(groups, np.int32), np.array(rows, np.int32), np.array(rows, np.int64))
        return used

    def _group(self, conjunction: Conjunction, chosen: dict[str, int]) -> int:
        schema = tuple(sorted(chosen))
        values: _Values = tuple(conjunction[chosen[name]].operand for name in schema)  # type: ignore[misc]
        cluster = self._clusters.get(schema)
        if cluster is None:
            cluster = self._clusters[schema] = {}
            self._by_first.setdefault(schema[0], {})[schema] = frozenset(schema)
        group = cluster.get(values)
        if group is None:
            group = self._free.pop() if self._free else self._made
            self._made += group == self._made
            cluster[values] = group
            self._places[group] = (schema, values)
        return group

    def remove(self, change: Change) -> npt.NDArray[np.bool_]:
        """Take the rows out; which of them had a group."""
        clustered = np.array([row in self._group_of for row in change.rows.tolist()], np.bool_)
        rows = change.rows[clustered]
        groups = np.array([self._group_of.pop(row) for row in rows.tolist()], np.int32)
        self.lists.remove(groups, rows.astype(np.int64))
        for group in set(groups.tolist()):
            if not self.lists.length(group):
                self._forget(group)
        return clustered

    def _forget(self, group: int) -> None:
        schema, values = self._places.pop(group)
        self._free.append(group)
        del self._clusters[schema][values]
        if not self._clusters[schema]:
            del self._clusters[schema]
            del self._by_first[schema[0]][schema]

    def search(self, event: Event, work: Work) -> Ints:
        """Groups whose equalities the event satisfies."""
        found: list[int] = []
        looked = 0
        values = event.values
        names = values.keys()
        single = {name: one[0] for name, one in values.items() if len(one) == 1}
        for name in values:
            for schema, wanted in self._by_first.get(name, {}).items():
                if wanted <= single.keys():
                    looked += 1
                    group = self._clusters[schema].get(tuple([single[other] for other in schema]))
                    if group is not None:
                        found.append(group)
                elif wanted <= names:
                    choices = [values[other] for other in schema]
                    looked += min(prod(map(len, choices)), len(self._clusters[schema]))
                    found.extend(self._look_up(schema, choices))
        work.clusters_looked_up += looked
        groups = np.array(found, np.int32)
        work.members_found += int(self.lists.groups.lengths[groups].sum())
        return groups

    def _look_up(self, schema: _Schema, choices: list[_Values]) -> Iterator[int]:
        """Where an attribute has several values: each choice, or each group if those are fewer."""
        cluster = self._clusters[schema]
        if prod(map(len, choices)) <= len(cluster):
            yield from (cluster[values] for values in product(*choices) if values in cluster)
        else:
            for values, group in cluster.items():
                if all(value in choice for value, choice in zip(values, choices, strict=True)):
                    yield group

    def __len__(self) -> int:
        return len(self._clusters)

    def bytes_used(self) -> int:
        return self.lists.bytes_used() + 300 * len(self._places)

    def check(self) -> None:
        self.lists.check()
        for row, group in self._group_of.items():
            assert row in self.lists.members(group), f"row {row} is not in its group"
        for group, (schema, values) in self._places.items():
            assert self._clusters[schema][values] == group, f"group {group} is not where it says"
            assert self.lists.length(group), f"group {group} is empty"


def _equalities(conjunction: Conjunction) -> dict[str, int]:
    """Attribute → place in the conjunction of the predicate that stands for equality on it."""
    chosen: dict[str, int] = {}
    for place, predicate in enumerate(conjunction):
        equal = predicate.operator is Operator.EQ
        if (equal or predicate.operator is Operator.CONTAINS) and isinstance(predicate.operand, Value):
            if equal:
                chosen[predicate.attribute] = place
            else:
                chosen.setdefault(predicate.attribute, place)
    return chosen
