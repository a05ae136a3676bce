"""All workloads by name: those of the papers, the skewed one, and classified ads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType

from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.light import Light
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS, Topss
from tamis.workloads.web import Web

__all__ = ["WORKLOADS", "find_workload"]


def _fixed(workload: Topss) -> Callable[[], Workload]:
    def same() -> Workload:
        return workload

    return same


WORKLOADS: Mapping[str, Callable[..., Workload]] = MappingProxyType(
    {name: _fixed(workload) for name, workload in TOPSS.items()}
    | {"lesub": LeSub, "light": Light, "web": Web, "ads": Ads}
)
"""Name → what makes it, from its parameters."""


def find_workload(name: str, **parameters: float) -> Workload:
    """`find_workload("lesub", p=0.98)`. `OptionError` for a name or a parameter that there is not."""
    if name not in WORKLOADS:
        raise OptionError(f"no workload is called {name!r}{hint(name, WORKLOADS)} (there are: {', '.join(WORKLOADS)})")
    known = signature(WORKLOADS[name]).parameters
    for parameter in parameters:
        if parameter not in known:
            takes = f"takes {', '.join(known)}" if known else "has no parameters"
            raise OptionError(f"workload {name!r} {takes}, found {parameter!r}")
    return WORKLOADS[name](**parameters)
