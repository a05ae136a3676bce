"""What the text operators and `at least` cost: python -m benchmarks.language

A hundred thousand subscriptions, each an equality, a bound and one of `includes`, `like`, `ignoring case` and `at
least`; the same set without the last; and the expressions as compiled Python predicates, tried one by one. Ratios are
within the process, in turns, by processor time; the best, and between brackets the spread, of several rounds.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import pyarrow as pa

from tamis import Engine, Schema

SEED = 16
SCHEMA = Schema.loads(
    'attributes = { category = "string", title = "string", maker = "string", price = "number", a = "integer", '
    'b = "integer", c = "integer" }'
)
LETTERS = "etaoinshrdlucmfwyp"


def words(dice: random.Random, count: int) -> list[str]:
    return ["".join(dice.choices(LETTERS, k=dice.randint(4, 9))) for _ in range(count)]


class Subscription:
    """One expression, with and without its text, and as Python."""

    def __init__(self, dice: random.Random, vocabulary: list[str]) -> None:
        word, other, category = dice.choice(vocabulary), dice.choice(vocabulary), f"c{dice.randrange(500)}"
        bound, three = dice.randrange(1000), [dice.randrange(50) for _ in range(3)]
        self.plain = f"category = '{category}' and price < {bound}"
        first = f"e['category'] == {category!r} and e['price'] < {bound}"
        test, python = [
            (f"title includes '{word}'", f"{word!r} in e['title']"),
            (f"title like '%{word}%{other[0]}_{other[2]}%'", f"{word!r} in e['title'] and {other[0]!r} in e['title']"),
            (f"maker = '{word.upper()}' ignoring case", f"e['maker'].casefold() == {word.casefold()!r}"),
            (
                "at least 2 of (a = {}, b = {}, c = {})".format(*three),
                "(e['a'] == {}) + (e['b'] == {}) + (e['c'] == {}) >= 2".format(*three),
            ),
        ][dice.randrange(4)]
        self.text = f"{self.plain} and {test}"
        self.python = f"lambda e: {first} and {python}"


def events_of(dice: random.Random, vocabulary: list[str], count: int) -> list[dict[str, object]]:
    return [
        {
            "category": f"c{dice.randrange(500)}",
            "title": " ".join(dice.choices(vocabulary, k=6)),
            "maker": dice.choice(vocabulary).title(),
            "price": dice.randrange(1000),
            **{name: dice.randrange(50) for name in "abc"},
        }
        for _ in range(count)
    ]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def rate(count: int, times: list[float]) -> str:
    rates = sorted(count / one for one in times)
    return f"{rates[-1]:>12,.0f}/s  [{rates[0]:,.0f} … {rates[-1]:,.0f}]"


def load(tables: list[pa.Table], rounds: int) -> tuple[list[Engine], list[list[float]]]:
    """Engines with and without, and how long they took. What this program itself holds (a predicate in Python for each
    subscription) is kept from Python's collector, which would look at it again and again."""
    gc.collect()
    gc.freeze()
    loading: list[list[float]] = [[], []]
    for _ in range(rounds):
        engines = [Engine(SCHEMA), Engine(SCHEMA)]
        for engine, subscriptions, times in zip(engines, tables, loading, strict=True):
            times.append(seconds(partial(engine.subscribe_many, subscriptions)))
    gc.unfreeze()
    return engines, loading


def doors(engines: list[Engine], tables: list[pa.Table], events: list[dict[str, object]], rounds: int) -> None:
    """The same events by other doors, and while subscriptions come and go; with against without."""
    fresh = [iter(pairs) for pairs in (zip(*table.slice(0, 100 * rounds).to_pydict().values(), strict=True)
                                       for table in tables)]  # fmt: skip
    table = pa.Table.from_pylist(events)

    def change(engine: Engine, pairs: Iterator[tuple[int, str]]) -> None:
        for id, text in islice(pairs, 100):
            engine.subscribe(id, text)
        engine.match_many(table)

    calls: dict[str, Callable[[int], object]] = {
        "list of dicts": lambda at: engines[at].match_many(events),
        "match(dict), one by one": lambda at: [engines[at].match(event) for event in events[:1000]],
        "100 replaced before each batch": lambda at: change(engines[at], fresh[at]),
    }
    for name, call in calls.items():
        runs = [[seconds(partial(call, at)) for at in (0, 1)] for _ in range(rounds)]
        ratios = [without / one for one, without in runs]
        best = min(without for _, without in runs) / min(one for one, _ in runs)
        print(f"{name:<43}{best:.2f} of the set without  [{min(ratios):.2f} … {max(ratios):.2f}]", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    dice = random.Random(SEED)
    vocabulary = words(dice, 20_000)
    made = [Subscription(dice, vocabulary) for _ in range(given.subscriptions)]
    events = events_of(dice, vocabulary, given.events)
    table = pa.Table.from_pylist(events)
    tables = [pa.table({"id": range(len(made)), "expression": [getattr(one, which) for one in made]})
              for which in ("text", "plain")]  # fmt: skip
    for subscriptions in tables:  # compiles the kernels
        warm = Engine(SCHEMA)
        warm.subscribe_many(subscriptions.slice(0, 2000))
        warm.match_many(table.slice(0, 100))
    predicates = [eval(one.python) for one in made]  # noqa: S307  # ours
    engines, loading = load(tables, given.rounds)
    few = events[:5]
    loop = [seconds(lambda: [[n for n, holds in enumerate(predicates) if holds(one)] for one in few]) for _ in range(2)]
    first = [seconds(lambda engine=engine: engine.match_many(table)) for engine in engines]
    matching: list[list[float]] = [[], []]
    for _ in range(given.rounds):
        for engine, times in zip(engines, matching, strict=True):
            times.append(seconds(lambda engine=engine: engine.match_many(table)))
    print(f"{len(made):,} subscriptions, {len(events):,} events, seed {SEED}")
    for name, times in zip(("with text operators and at least", "without"), loading, strict=True):
        print(f"loading, {name:<34}{rate(len(made), times)}")
    print(f"first batch: {first[0]:.2f} s with, {first[1]:.2f} s without")
    for name, times in zip(("with text operators and at least", "without"), matching, strict=True):
        print(f"events, {name:<35}{rate(len(events), times)}")
    print(f"events, compiled Python predicates         {rate(len(few), loop)}")
    best = [min(times) / len(events) for times in matching]
    ratios = [without / one for one, without in zip(*matching, strict=True)]
    print(f"{min(loop) / len(few) / best[0]:,.0f} times the loop")
    print(f"{best[1] / best[0]:.2f} of the set without  [{min(ratios):.2f} … {max(ratios):.2f}]")
    doors(engines, tables, events, given.rounds)


if __name__ == "__main__":
    main()
