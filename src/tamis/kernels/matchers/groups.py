"""Groups of members that grow and shrink in place: predicate → rows, cluster → rows.

Group g lies in `members[starts[g] : starts[g] + lengths[g]]`. Each membership has a *slot*, a number of the caller's;
`slots` runs parallel to `members` and `places[slot]` is the membership's position within its group, so that leaving
a group is a swap with its last member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel

__all__ = ["Groups", "attach", "detach", "find_tangled", "move_groups"]


class Groups(NamedTuple):
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]
    members: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]


@kernel
def attach(
    groups: Groups, of: npt.NDArray[np.int32], members: npt.NDArray[np.int32], slots: npt.NDArray[np.int64]
) -> None:
    """Append `members[i]` to group `of[i]` under `slots[i]`. There is room."""
    for i in range(len(of)):
        group = of[i]
        length = groups.lengths[group]
        position = groups.starts[group] + length
        groups.members[position] = members[i]
        groups.slots[position] = slots[i]
        groups.places[slots[i]] = length
        groups.lengths[group] = length + 1


@kernel
def detach(groups: Groups, of: npt.NDArray[np.int32], slots: npt.NDArray[np.int64]) -> None:
    """Take the membership `slots[i]` out of group `of[i]`; the group's last member takes its place."""
    for i in range(len(of)):
        group = of[i]
        place = groups.places[slots[i]]
        start = groups.starts[group]
        last = groups.lengths[group] - 1
        groups.members[start + place] = groups.members[start + last]
        moved = groups.slots[start + last]
        groups.slots[start + place] = moved
        groups.places[moved] = place
        groups.lengths[group] = last


@kernel
def move_groups(groups: Groups, moved: npt.NDArray[np.int64], targets: npt.NDArray[np.int64]) -> None:
    """Copy group `moved[i]` to `targets[i]`, where there is more room."""
    for i in range(len(moved)):
        group = moved[i]
        start = groups.starts[group]
        for k in range(groups.lengths[group]):
            groups.members[targets[i] + k] = groups.members[start + k]
            groups.slots[targets[i] + k] = groups.slots[start + k]
        groups.starts[group] = targets[i]


@allocating
def find_tangled(
    starts: npt.NDArray[np.int64], pids: npt.NDArray[np.int32], compared: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    """Which conjunctions have two comparisons that share an attribute; `compared[pid]` are its two, -1 for none."""
    tangled = np.zeros(len(starts) - 1, np.bool_)
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            a, b = compared[pids[i]]
            for j in range(starts[row], i):
                c, d = compared[pids[j]]
                if (a >= 0 and a in (c, d)) or (b >= 0 and b in (c, d)):
                    tangled[row] = True
    return tangled
