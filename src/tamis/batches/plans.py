"""The attributes that are to be read → a plan for the kernels that read them."""

from __future__ import annotations

import secrets
from weakref import WeakKeyDictionary

import numpy as np

from tamis.kernels.batches.plans import Plan, fill_slots
from tamis.kernels.batches.words import PADDING
from tamis.model import Schema
from tamis.model.names import MAX_NAME, Used

__all__ = ["PlanOf", "plan_for"]

_MOST_PARTS = 40
"""Of a name that a plan is made for; the ways to write it are about as many as the square of that."""


class PlanOf:
    """A plan, and the names of its attributes by their numbers."""

    def __init__(self, used: Used, *, strict: bool) -> None:
        self.names = tuple(sorted(used.names))
        self.whole = all(name.count(".") < _MOST_PARTS and len(name) <= MAX_NAME for name in self.names)
        """Whether it has all names: if not, no event is read by it."""
        self.plan = _plan(self.names if self.whole else (), strict)


def _plan(names: tuple[str, ...], strict: bool) -> Plan:
    nodes = {"": 0}
    branches: dict[tuple[int, bytes], int] = {}
    for name in names:
        cuts = [-1, *(at for at, sign in enumerate(name) if sign == "."), len(name)]
        ends = [nodes.setdefault(name[:cut], len(nodes)) if cut > 0 else 0 for cut in cuts]
        for first, cut in enumerate(cuts):
            if first == 0 or cut > 0:
                for last in range(first + 1, len(cuts)):
                    key = name[cut + 1 : cuts[last]]
                    if key:
                        branches[ends[first], key.encode()] = ends[last]
    size = 8
    while size < 4 * len(branches):
        size *= 2
    attribute = np.full(len(nodes), -1, np.int32)
    attribute[[nodes[name] for name in names]] = np.arange(len(names))
    inside = np.zeros(len(nodes), np.uint8)
    inside[[parent for parent, _ in branches]] = 1
    keys = [key for _, key in branches]
    plan = Plan(
        slots=np.zeros(size, np.int32),
        parent=np.array([parent for parent, _ in branches], np.int32),
        child=np.array(list(branches.values()), np.int32),
        start=np.concatenate([[0], np.cumsum([len(key) for key in keys], dtype=np.int64)]).astype(np.int64),
        letters=np.frombuffer(b"".join(keys) + bytes(PADDING), np.uint8),
        attribute=attribute,
        inside=inside,
        strict=int(strict),
        seed=secrets.randbits(62),
    )
    fill_slots(plan)
    return plan


_PLANS: WeakKeyDictionary[Used, PlanOf] = WeakKeyDictionary()


def plan_for(schema: Schema, used: Used) -> PlanOf:
    """Of an open schema what is used is read; of a closed one everything, and what it does not know is looked at."""
    wanted = used if schema.open else schema.every
    found = _PLANS.get(wanted)
    if found is None:
        found = _PLANS[wanted] = PlanOf(wanted, strict=not schema.open)
    return found
