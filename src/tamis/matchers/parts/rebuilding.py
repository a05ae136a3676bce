"""Algorithms whose structure is built once: the one place for their additions, deletions and rebuilding.

Additions wait in a list that is verified row by row; when it outgrows a quarter of what was built, everything is built
anew. Deletions leave a tombstone; when half of what was built is dead, it is built anew without them. So n changes
cost O(log n) buildings in all, and a search pays for at most a quarter more than it should.

What was built speaks of its rows by their place in it, since a dead row's number may be given to another.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress

import numpy as np

from tamis.errors import TamisError
from tamis.kernels.matchers.verifying import Candidates
from tamis.matchers.parts.algorithm import Algorithm
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.changes import Change, Uses
from tamis.matchers.parts.verifier import Verifier
from tamis.model import Event, Schema

__all__ = ["Rebuilding"]

_NONE = np.empty(0, np.int32)


class Rebuilding(Algorithm):
    """Built rows, tombstones, and rows that wait. Subclasses build and search."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._verifier = Verifier(schema)
        self._verified = Uses(self._roster)
        self._built = _NONE
        self._alive = np.empty(0, np.bool_)
        self._living = 0
        self._places = np.empty(0, np.int32)
        self._heads = np.empty(0, np.int64)
        self._waiting = Associations()
        self._evaluated = 0

    @abstractmethod
    def _build(self, rows: Ints) -> None:
        """Build over these rows; on an error keep what there was."""

    @abstractmethod
    def _search(self, event: Event) -> Ints:
        """Living rows built over whose every predicate holds for some value, each once."""

    def _insert(self, change: Change) -> None:
        self._verifier.insert(self._verified.add(change.pids))
        self._verifier.reserve(self._roster.row_count)
        self._places = grown(self._places, self._roster.row_count)
        self._places[change.rows] = -1
        self._heads = grown(self._heads, self._roster.row_count)
        self._heads[change.rows] = self._roster.heads(change)
        self._waiting.add(np.zeros(len(change.rows), np.int32), change.rows, change.rows.astype(np.int64))
        if 4 * self._waiting.length(0) > self._living:
            try:
                self._build_over(np.concatenate([self._built[self._alive], self._waiting.members(0)]))
            except TamisError:
                self._delete(change)
                raise
            self._waiting = Associations()

    def _delete(self, change: Change) -> None:
        places = self._places[change.rows]
        waiting = change.rows[places < 0]
        self._waiting.remove(np.zeros(len(waiting), np.int32), waiting.astype(np.int64))
        self._alive[places[places >= 0]] = False
        self._places[change.rows] = -1
        self._living -= int((places >= 0).sum())
        if 2 * self._living < len(self._built):
            with suppress(TamisError):  # tombstones cost time, not answers
                self._build_over(self._built[self._alive])
        self._verifier.delete(self._verified.remove(change.pids))

    def _build_over(self, rows: Ints) -> None:
        self._build(rows)
        self._built = rows.copy()
        self._alive = np.ones(len(rows), np.bool_)
        self._living = len(rows)
        self._places[rows] = np.arange(len(rows))

    def _find(self, event: Event) -> Ints:
        rows = self._search(event) if self._living else _NONE
        if not self._waiting.length(0):
            return rows
        return np.concatenate([rows, self._passing(self._waiting.members(0), event)])

    def _at(self, places: Ints) -> Ints:
        """The rows at these places, without the dead."""
        return self._built[places[self._alive[places]]]

    def _candidates(self) -> Candidates:
        return Candidates(self._heads, self._roster.slot_pids)

    def _passing(self, rows: Ints, event: Event) -> Ints:
        """Those of the rows all of whose predicates hold."""
        passed = self._verifier.verify_rows(rows, self._candidates(), event)
        self._work.candidates_verified += passed.verified
        self._work.predicates_evaluated += passed.evaluated
        return passed.rows

    def _bytes(self) -> int:
        return self._verifier.bytes_used() + self._waiting.bytes_used() + 9 * len(self._built)

    def _check(self) -> None:
        self._verifier.check()
        self._waiting.check()
        live = {row for rows in self._roster.subscriptions.values() for row in rows}
        built = set(self._built[self._alive].tolist())
        waiting = set(self._waiting.members(0).tolist()) if self._waiting.length(0) else set()
        assert len(built) == self._living, "the living are miscounted"
        assert built | waiting == live, "rows are lost, or dead ones kept"
        assert not built & waiting, "a row is built over and waits"
        assert (self._places[self._built[self._alive]] == np.flatnonzero(self._alive)).all(), "a place is wrong"
