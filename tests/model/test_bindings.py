"""Values bound together, held against all choices there are."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tamis import Engine, LimitError, Schema, WorkError
from tamis.language import parse
from tamis.matchers import naive
from tamis.matchers.naive import conjunction_holds
from tamis.model import COMPARISONS, Conjunction, Event, Reference, compare
from tamis.model.bindings import MAX_RING_LINKS, Group, connected

GRADES = """
[domains.grade]
type = "enumerated"
values = ["p", "q", "r", "s", "t"]
order = [["p", "q"], ["q", "r"], ["p", "s"], ["s", "r"]]
"""
KINDS = {
    "open": (Schema(open=True), [0, 1, 2, 1.5, 3, "a", "b", "c", True, False]),
    "number": (Schema.loads("[attributes]\n" + "".join(f'{one} = "number"\n' for one in "abcde")), [0, 1, 1.5, 2, 9]),
    "boolean": (Schema.loads("[attributes]\n" + "".join(f'{one} = "boolean"\n' for one in "abcde")), [True, False]),
    "grade": (Schema.loads(GRADES + "[attributes]\n" + "".join(f'{one} = "grade"\n' for one in "abcde")), [*"pqrst"]),
}
CONSTANTS = {"open": ["1", "2", "'b'"], "number": ["1", "2"], "boolean": ["true"], "grade": ["'q'", "'s'"]}


def _expression(rng: random.Random, kind: str) -> str:
    words = ["=", "!="] if kind == "boolean" else ["=", "!=", "!=", "<", "<=", ">", ">="]
    names = "abcde"[: rng.randint(2, 5)]
    tests = []
    for _ in range(rng.randint(1, 7)):
        one, other = rng.sample(names, 2)
        negation = rng.choice(["", "", "not "])
        tests.append(f"{negation}{one} {rng.choice(words)} @{other}")
    for _ in range(rng.randint(0, 2)):
        tests.append(f"{rng.choice(names)} {rng.choice(words)} {rng.choice(CONSTANTS[kind])}")
    return " and ".join(tests)


def _holds(schema: Schema, conjunction: Conjunction, event: Event) -> bool:
    """All choices of all attributes, with nothing but the meaning of a comparison."""
    names = sorted({name for predicate in conjunction for name in predicate.attributes})
    for values in product(*(event.values.get(name, ()) for name in names)):
        bound = dict(zip(names, values, strict=True))
        if all(
            compare(
                schema.domain(one.attribute),
                one.operator,
                bound[one.attribute],
                bound[one.operand.attribute] if isinstance(one.operand, Reference) else one.operand,
            )
            for one in conjunction
        ):
            return True
    return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_values_are_found_if_and_only_if_some_choice_holds(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    schema, raws = KINDS[kind]
    found = 0
    for _ in range(120):
        conjunctions = parse(_expression(rng, kind), schema)
        raw = {name: [rng.choice(raws) for _ in range(rng.randint(1, 4))] for name in "abcde"}
        event = schema.event(raw)
        for conjunction in conjunctions:
            assert all(one.operator in COMPARISONS for one in conjunction)
            bindings = [Group.of(schema, group).find(event) for group in connected(list(conjunction))]
            expected = _holds(schema, conjunction, event)
            found += expected

            assert all(bindings) is expected, (conjunction, raw)
            if expected:
                bound = {name: (value,) for binding in bindings if binding for name, value in binding.items()}
                assert _holds(schema, conjunction, Event(bound)), (conjunction, raw, bound)
    assert found


def test_a_ring_of_many_values_is_not_gone_round() -> None:
    engine = Engine()
    ring = "x > @y and y > @z and z > @x"
    engine.subscribe_many((at, f"{ring} and x < {at}") for at in range(100))
    engine.subscribe("equal", "x <= @y and y <= @z and z <= @x")
    engine.subscribe("differ", "x != @y and y != @z and z != @x and x > 9998")
    values = list(range(10_000))

    assert engine.match({"x": values, "y": values, "z": values}) == ["equal", "differ"]


@pytest.mark.parametrize("algorithm", ["naive", "adaptive", "counting-lists", "gough"])
def test_every_algorithm_gives_the_same_answer_however_many_values_there_are(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many([(1, "x > @y and y > @z"), (2, "x = @y and y = @z and z = @x and x > 2000"), (3, "x > 9000")])
    event = {"x": list(range(3_000)), "y": list(range(3_000)), "z": list(range(2_000, 5_000))}

    assert engine.match(event) == [1, 2]
    assert [set(ids) for ids in engine.match_many([event, event | {"y": [1]}])] == [{1, 2}, set()]


def test_what_could_be_too_dear_for_some_event_is_refused_when_it_is_subscribed() -> None:
    names = [f"a{at}" for at in range(6)]
    differ = [f"{one} != @{other}" for at, one in enumerate(names) for other in names[at + 1 :]]
    engine = Engine()

    with pytest.raises(
        WorkError, match="at most 12 comparisons of attributes with each other that form rings"
    ) as caught:
        engine.subscribe_many([("ann", "x = 1"), ("bob", " and ".join(differ))])
    assert (caught.value.limit, caught.value.found) == (MAX_RING_LINKS, 15)
    assert caught.value.attributes == tuple(names)
    assert "'bob'" in str(caught.value)
    assert isinstance(caught.value, LimitError)
    assert len(engine) == 0
    engine.subscribe("chain", " and ".join(f"n{at} <= @n{at + 1}" for at in range(50)))
    engine.subscribe("five", " and ".join(one for one in differ if "a5" not in one))

    assert engine.match({name: [1, 2, 3, 4] for name in names}) == []
    assert engine.match({name: [1, 2, 3, 4, 5] for name in names}) == ["five"]


def test_names_that_are_ordered_in_a_ring_have_few_choices() -> None:
    values = [f"n{at}" for at in range(30)]
    schema = Schema.loads(
        f'[domains.d]\ntype = "enumerated"\nvalues = {values}\norder = [["n0", "n1"]]\n'
        '[attributes]\na = "d"\nb = "d"\nc = "d"\n'
    )
    engine = Engine(schema)

    with pytest.raises(WorkError, match="10,000 choices of names") as caught:
        engine.subscribe("ring", "a < @b and b < @c and a != @c")
    assert caught.value.found == 30**3
    engine.subscribe("beside", "not a <= @b and not a >= @b")
    engine.subscribe("chain", "a < @b and b != @c")

    assert engine.match({"a": "n0", "b": "n1", "c": ["n1", "n2"]}) == ["chain"]
    assert engine.match({"a": "n0", "b": ["n1", "n7"], "c": "n1"}) == ["beside"]


def test_the_oracle_tries_all_choices_where_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(open=True)
    (conjunction,) = parse("a > @b and b > @c and c != @a", schema)
    event = schema.event({"a": [1, 2], "b": [1, 2], "c": [0, 1]})
    monkeypatch.setattr(naive, "Group", None)

    assert conjunction_holds(schema, conjunction, event)
