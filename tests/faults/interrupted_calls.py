"""Run as a script: calls made again and again, with a timer that raises KeyboardInterrupt in the midst of them."""

from __future__ import annotations

import faulthandler
import random
import signal
import sys
import time
from collections.abc import Callable

from tamis import Engine, Schema
from tamis.language import parse
from tamis.matchers import MATCHERS

CATEGORIES = ("table", "chair", "lamp", "clock")
SUBSCRIPTIONS = [
    (n, f"category = '{CATEGORIES[n % 4]}' and price < {n}" if n % 3 else f"price >= {n} and tags contains 't{n % 7}'")
    for n in range(40)
]
EVENTS = [{"category": CATEGORIES[n % 4], "price": 5 * n, "tags": [f"t{n}", "t3"]} for n in range(12)]
PLAIN = {"category": "lamp", "price": 20}
HANGS_SECONDS = 250
MOST_CALLS = 2_000
"""An interrupt may be lost, in a destructor for instance: nobody waits for it for ever."""


def calls_of(algorithm: str) -> dict[str, Callable[[], object]]:
    """Calls without lasting effects, whose values are always the same."""
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many(SUBSCRIPTIONS)
    schema = Schema(open=True)
    entries = [(key, parse(text, schema)) for key, text in SUBSCRIPTIONS]
    event = schema.event(PLAIN)

    def build() -> list[int]:
        matcher = MATCHERS[algorithm](schema)
        matcher.add(entries)
        return sorted(map(int, matcher.match(event)))

    return {
        "match_many": lambda: [sorted(map(str, found)) for found in engine.match_many(EVENTS)],
        "two_threads": lambda: [sorted(map(str, found)) for found in engine.match_many(EVENTS, threads=2)],
        "count_many": lambda: engine.count_many(EVENTS).tolist(),
        "match": lambda: engine.match(PLAIN),
        "build": build,
    }


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def interrupt(call: Callable[[], object], times: int, longest: float) -> int:
    """Interrupt the call at random moments; how often it was."""
    moments = random.Random(1)
    caught = 0
    for _ in range(times):
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-5, longest))
            for _ in range(MOST_CALLS):
                call()
        except KeyboardInterrupt:
            caught += 1
    return caught


def main(algorithm: str, times: int) -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    truth = calls_of("naive")
    for name, call in calls_of(algorithm).items():
        faulthandler.dump_traceback_later(HANGS_SECONDS, exit=True)  # a call that waits for ever shows where
        call()  # compiled, from here on
        caught = interrupt(call, times, longest=2 * min(seconds(call) for _ in range(5)))
        assert call() == truth[name](), name
        print(name, caught, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
