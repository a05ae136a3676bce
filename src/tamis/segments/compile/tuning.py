"""The numbers behind the choice of homes. Answers never depend on them: the tests run with absurd ones."""

from __future__ import annotations

from dataclasses import dataclass

from tamis.kernels.segments.blocks import MEMBERS

__all__ = ["DEFAULT", "Tuning"]


@dataclass(frozen=True)
class Tuning:
    """Costs are rough; what matters is their ratios."""

    probe_ns: float = 30.0
    """Looking up one key in an access cluster."""
    verify_ns: float = 8.0
    """Verifying one candidate."""
    block_ns: float = 60.0
    """A block, besides its slots."""
    and_ns: float = 15.0
    """A slot of a block that has a base at each code,"""
    flip_ns: float = 90.0
    """and one where bits must be flipped first."""
    rare: float = 0.08
    """An equality this rare leads the order in blocks, so that whole blocks drop out."""
    members: int = MEMBERS
    """Conjunctions per block; at most `MEMBERS`."""
    most_slots: int = 170
    """Slots per block: with three bases each, 64 bytes per member of a full one."""
    sparse: int = 1024
    """A block that ran out of slots with fewer members than this is given up."""
    few: int = 256
    """A slot of a block with at most so many distinct toggle codes may have a base at each,"""
    share: int = 16
    """if there are this many toggles for every base: a base takes as much memory as 85 toggles."""
    spacing: int = 32
    """The others have a base after every so many toggles."""


DEFAULT = Tuning()
