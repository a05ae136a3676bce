"""Are conjunctions at home where they are? What an access was expected to cost an event, and what it did cost.

Expected is what the choice of homes reckoned with, the chance of each key under what was known then; measured is what
the kernels counted since (`Layout.met`). Where events are as they were thought to be, the two are alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.segments.compile.homes import chances_of
from tamis.segments.compile.layout import Layout
from tamis.segments.compile.statistics import Statistics, distance
from tamis.segments.compile.tuning import Tuning

__all__ = ["Met", "cost_ns", "expected", "met_since", "parted"]

Longs = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_FACTOR = 2.0
"""Measured work that exceeds what was expected by less is no reason for anything."""
_SLACK_NS = 200.0
_FAR = 0.5
"""Statistics so far apart are worth a second thought about what lives in blocks,"""
_DEAR_NS = 1_000.0
"""where blocks cost an event so much."""


class Met(NamedTuple):
    """Per event: the candidates of each access, and the blocks that were looked into; over so many `events`."""

    events: int
    candidates: Reals
    blocks: float


def met_since(layout: Layout, before: Longs) -> Met:
    """What events met since the counters were as they were `before`."""
    *candidates, told, events, blocks = (layout.met - before).tolist()
    return Met(events, np.array(candidates, np.float64) / max(told, 1), blocks / max(events, 1))


def expected(layout: Layout, statistics: Statistics | None) -> Reals:
    """Candidates per event of each access, the dead among them. O(members)."""
    clusters, tables = layout.clusters, chances_of(layout.columns, statistics)
    found = np.zeros(len(clusters.hashed))
    for access in range(len(found)):
        base = int(clusters.bucket_start[access])
        members = slice(clusters.bucket[base], clusters.bucket[base + (1 << int(clusters.bucket_bits[access]))])
        keys = clusters.key[members]
        chance = np.ones(len(keys))
        if clusters.hashed[access]:
            for i in range(clusters.column_start[access], clusters.column_start[access + 1]):
                shift, bits = int(clusters.shift[i]) & 255, int(clusters.shift[i]) >> 8
                code = (keys >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
                chance *= tables[clusters.column[i]][code.astype(np.int64)]
        found[access] = chance.sum()
    return found


def cost_ns(layout: Layout, candidates: float, blocks: float, tuning: Tuning) -> float:
    """Of an event that meets so many candidates and looks into so many blocks."""
    slots = len(layout.blocks.column) / max(len(layout.block_sizes), 1)
    probes = len(layout.clusters.hashed) * tuning.probe_ns
    return probes + _verified(candidates, tuning) + _in_blocks(layout, tuning) + blocks * slots * tuning.and_ns


def _verified(candidates: float, tuning: Tuning) -> float:
    return candidates * tuning.verify_ns * 1.5


def _in_blocks(layout: Layout, tuning: Tuning) -> float:
    return len(layout.block_sizes) * tuning.block_ns


def parted(layout: Layout, met: Met, now: Statistics, tuning: Tuning) -> str | None:
    """Why the homes are worth choosing anew, if they are."""
    thought = float(expected(layout, layout.known).sum())
    found = float(met.candidates.sum())
    if _verified(found, tuning) > _FACTOR * _verified(thought, tuning) + _SLACK_NS:
        return f"{found:,.1f} candidates an event, where {thought:,.1f} were expected"
    blocks_ns = cost_ns(layout, 0.0, met.blocks, tuning)
    if len(layout.block_sizes) > 1 and blocks_ns > _DEAR_NS and distance(layout.known, now) > _FAR:
        return f"events are not what they were thought to be, and blocks take about {blocks_ns:,.0f} ns of each"
    return None
