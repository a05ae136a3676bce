"""Kernels are plain functions: without compilation they say the same. Those whose tests stand elsewhere run here again,
few examples of them, in one process: text automaton and patterns, shapes of texts, thresholds, covering.

The papers' algorithms, the adaptive engine, the indexes and JSON do so beside their own tests.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {
    "tests/kernels/test_automaton.py": ("a_needle_with_a_mark", "what_has_no_room", "what_is_too_long"),
    "tests/matchers/test_text_tests.py": ("whatever_came_and_went", "found_by_the_rarest"),
    "tests/segments/ask/test_counting.py": ("reach_the_same",),
    "tests/lint/test_covers.py": ("said_is_so", "so_is_said", "asks_for_more"),
    __file__: ("counted_and_read_by_shapes",),
}
KERNELS = {
    "automaton.py": {"search", "_grow", "_link", "_step"},
    "patterns.py": {"fit_pairs", "_fits"},
    "segments/thresholds.py": {"count_thresholds", "_count", "count_dense", "_add"},
    "segments/lexing.py": {"split_texts", "_split", "_shape", "_list", "_quoted"},
    "segments/expanding.py": {"count_tests", "expand"},
    "segments/pairing.py": {"pair_up", "group_tests", "_add_bound", "_add_link"},
    "covering.py": {"find_coverers", "_search", "covers", "drop_covered"},
}
"""What must have been called."""

RUN = """
import pytest, sys
called = set()
def note(frame, what, argument):
    code = frame.f_code
    if what == "call" and "/tamis/kernels/" in code.co_filename:
        called.add(code.co_filename.partition("/tamis/kernels/")[2] + " " + code.co_name)
sys.setprofile(note)
code = pytest.main(sys.argv[1:])
sys.setprofile(None)
print("CALLED", sorted(called))
sys.exit(code)
"""


def test_at_least_and_texts_are_counted_and_read_by_shapes() -> None:
    from tamis import Engine

    texts = [f"s = 'k{at % 7}' and n < {at % 5} and title includes 'w{at % 3}'" for at in range(40)]
    texts += [f"at least 2 of (n = {at % 4}, title like '%w_{at % 3}%', bid > @ask)" for at in range(20)]
    texts += [f"bid >= @ask and bid > {at % 9} and n in ({at % 3}, 7) or t ends with '{at % 5}'" for at in range(20)]
    events = [
        {"s": f"k{at % 7}", "n": at % 6, "title": f"aw{at % 4}{at % 3}", "bid": at % 3, "ask": 1, "t": f"x{at % 5}"}
        for at in range(25)
    ]
    answers = []
    for algorithm in ("adaptive", "naive"):
        engine = Engine(algorithm=algorithm)
        engine.subscribe_many(enumerate(texts))
        answers.append([set(found) for found in engine.match_many(events)])

    assert answers[0] == answers[1]
    assert sum(map(len, answers[0])) > 100


@pytest.mark.slow
def test_the_same_holds_with_the_jit_off() -> None:
    chosen = " or ".join(name for names in TESTS.values() for name in names)
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", *TESTS, "-k", chosen]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "TAMIS_EXAMPLES": "3", "TAMIS_WAIT": "1"}

    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    called = set(ast.literal_eval(done.stdout.rpartition("CALLED ")[2]))
    missed = {f"{file} {name}" for file, names in KERNELS.items() for name in names} - called
    assert missed == set()
