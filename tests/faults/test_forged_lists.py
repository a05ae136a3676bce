"""Lists, logs and manifests that somebody altered are refused, or read within bounds; a log never invents anything.

The trials are made by `forged_lists`: any field of `current.json` or of a manifest is altered and the sums made to fit;
bytes of logs are turned, cut, doubled and moved, with no knowledge of their format.
"""

from __future__ import annotations

import pytest

from tests.faults.trials import LONG, run, wrong

KINDS = {"current": 80, "logs": 60, "removed": 60}


@pytest.mark.parametrize("kind", KINDS)
def test_an_altered_list_is_refused_or_read_within_bounds(kind: str) -> None:
    found = run("forged_lists", kind, 0, KINDS[kind])

    assert wrong(found) == []
    assert found["refused"] > 0.3 * KINDS[kind]
    assert found["answered"] > 0


@pytest.mark.spark  # its modules import pyspark; no JVM is started
def test_an_altered_manifest_is_refused_or_read_within_bounds() -> None:
    found = run("forged_lists", "manifests", 0, 200)

    assert wrong(found) == []
    assert found["refused"] > 60
    assert found["answered"] > 10


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS, "manifests"])
def test_many_altered_lists_are_refused_or_read_within_bounds(kind: str) -> None:
    found = run("forged_lists", kind, 10_000, LONG)

    print(kind, dict(found))
    assert wrong(found) == []
