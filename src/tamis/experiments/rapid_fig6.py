"""RAPIDMatch, figure 6: running time per match over the number of matches, exponential with p = 0.05."""

from __future__ import annotations

from tamis.experiments.rapid_fig5 import TimePerMatch
from tamis.workloads.light import Light

__all__ = ["EXPERIMENT"]


class _Figure6(TimePerMatch):
    name = "rapid-fig6"
    title = "RAPIDMatch, figure 6"
    shows = "matching performance measured as time/output, exponential with p = 0.05"
    source = Light(p=0.05)


EXPERIMENT = _Figure6()
