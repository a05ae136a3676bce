"""The C++ references answer as our matchers do, or their ratios would mean nothing."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.loads import Load, load
from benchmarks.reference import run
from tamis.matchers import MATCHERS
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS


@cache
def answered(workload: Workload) -> tuple[Load, list[list[int]]]:
    given = load(workload, 1500, 20)
    matcher = MATCHERS["naive"](given.schema)
    matcher.add(given.entries)
    return given, [sorted(matcher.match(event)) for event in given.events]


@pytest.mark.slow
@pytest.mark.parametrize("workload", [TOPSS["w4"], LeSub(0.5)], ids=lambda workload: str(workload.name))
@pytest.mark.parametrize("reference", ["list-counting", "bit-counting", "quarantining"])
def test_a_reference_has_our_answers(reference: str, workload: Workload) -> None:
    given, expected = answered(workload)

    found = run(reference, given.encoded)

    assert found.counts.tolist() == [len(keys) for keys in expected]
    assert found.checksums.tolist() == [int(np.sum(keys, dtype=np.int64)) for keys in expected]
