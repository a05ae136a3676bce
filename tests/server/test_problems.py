"""Errors go over the wire and come back as what they were."""

from __future__ import annotations

import inspect

import pytest

import tamis.errors
from tamis.client.problems import error_of
from tamis.errors import (
    Conflict,
    EventError,
    LanguageError,
    LimitError,
    SchemaError,
    TamisError,
    TooBusy,
    UnknownFeed,
    UnknownSubscription,
)
from tamis.server.problems import STATUS, BadBody, headers_of, problem_of, rendered

SENT = [
    LanguageError("expected an operator, found 'x'; did you mean '='?", 7, "price x 3"),
    EventError("expected one value of 'price', found 2", "R2", "price"),
    UnknownSubscription("ann"),
    UnknownFeed("ann"),
    LimitError("expected at most 3, found 4", 3, 4),
    SchemaError("domain 'a' is not there"),
    Conflict("two of them", ("a", "b")),
    TooBusy("wait", 2.5),
]


@pytest.mark.parametrize("error", SENT, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_it_was_raised(error: TamisError) -> None:
    problem = problem_of(error)
    assert isinstance(problem["status"], int)

    found = error_of(problem["status"], rendered(problem), "price x 3")

    assert type(found) is type(error)
    assert str(found) == str(error)
    assert {name: _listed(fact) for name, fact in vars(found).items()} == {
        name: _listed(fact) for name, fact in vars(error).items()
    }


def _listed(fact: object) -> object:
    return list(fact) if isinstance(fact, tuple) else fact


def test_a_mistake_in_an_expression_tells_column_and_expectation() -> None:
    problem = problem_of(SENT[0])

    assert problem["column"] == 7
    assert problem["expected"] == "an operator"
    assert problem["status"] == 422


def test_every_error_has_a_status_from_the_one_table() -> None:
    kinds = [kind for _, kind in inspect.getmembers(tamis.errors, inspect.isclass) if issubclass(kind, TamisError)]

    assert all(any(one in STATUS for one in kind.__mro__) for kind in kinds)


def test_what_is_no_error_of_ours_is_not_told() -> None:
    problem = problem_of(ZeroDivisionError("a secret"))

    assert problem["status"] == 500
    assert "secret" not in str(problem)
    assert problem_of(TamisError("a secret")) == problem


def test_whoever_is_to_come_back_is_told_when() -> None:
    assert headers_of(TooBusy("wait", 2.4)) == {"retry-after": "2"}
    assert headers_of(TooBusy("wait", 0.1)) == {"retry-after": "1"}
    assert headers_of(BadBody("no")) == {}


def test_an_answer_that_is_no_problem_is_an_error_with_its_status() -> None:
    found = error_of(502, b"<html>")

    assert isinstance(found, tamis.errors.ServiceError)
    assert found.status == 502
