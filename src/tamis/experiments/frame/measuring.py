"""Clocks and growth."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

__all__ = ["REPEATS", "Growth", "Timing", "growth", "misfit", "timed"]

REPEATS = 5

Clock = Callable[[], float]


class Timing(NamedTuple):
    """Milliseconds of a repeat: the middle one, the least, the most."""

    ms: float
    low_ms: float
    high_ms: float

    @staticmethod
    def of(seconds: Sequence[float], each: int = 1) -> Timing:
        """Of repeats that did `each` things."""
        ms = [1000 * one / each for one in seconds]
        return Timing(*(float(f"{value:.5g}") for value in (median(ms), min(ms), max(ms))))


def timed(
    action: Callable[[], object], each: int = 1, repeats: int = REPEATS, clock: Clock = time.thread_time
) -> Timing:
    """Thread time unless told otherwise, so that a busy machine does not decide. Once before, to warm up."""
    action()
    seconds = []
    gc.collect()
    for _ in range(repeats):
        started = clock()
        action()
        seconds.append(clock() - started)
    return Timing.of(seconds, each)


class Growth(NamedTuple):
    """y grows as x to the `exponent`, which lies within `margin` of it with 95 % confidence."""

    exponent: float
    margin: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ± {self.margin:.2f}" if math.isfinite(self.margin) else f"{self.exponent:.2f}"


_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""The 97.5 % quantiles of Student's distribution for 1, 2, … degrees of freedom."""


def growth(xs: Sequence[float], ys: Sequence[float]) -> Growth:
    """The line through the logarithms, by least squares."""
    x, y = np.log(np.asarray(xs, float)), np.log(np.maximum(np.asarray(ys, float), 1e-12))
    if len(x) < 2:
        return Growth(math.nan, math.inf)
    centred = x - x.mean()
    spread = float((centred**2).sum())
    exponent = float((centred * y).sum() / spread)
    free = len(x) - 2
    if not free:
        return Growth(exponent, math.inf)
    rest = y - y.mean() - exponent * centred
    error = math.sqrt(float((rest**2).sum()) / free / spread)
    return Growth(exponent, _STUDENT[min(free, len(_STUDENT)) - 1] * error)


def misfit(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The share of the variance of y that the best straight line over x leaves unexplained."""
    x, y = np.asarray(xs, float), np.asarray(ys, float)
    slope, start = np.polyfit(x, y, 1)
    return float(((y - start - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())
