"""Errors keep their facts as fields, also on the way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from tamis.errors import (
    EventError,
    LanguageError,
    LimitError,
    SchemaError,
    SegmentError,
    TamisError,
    TwinDomainWarning,
    UnknownSubscription,
)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SchemaError("no"), "no"),
        (LanguageError("expected more", 5, "a = "), "column 5: expected more"),
        (EventError("too much", "R2", "price"), "R2: too much"),
        (EventError("too much"), "too much"),
        (UnknownSubscription("ann"), "no subscription has the id 'ann'"),
        (LimitError("too long", 5, 6), "too long"),
        (SegmentError("damaged", "a/b"), "a/b: damaged"),
        (TwinDomainWarning("new", "old"), "domain 'new' is equal to the existing domain 'old'"),
    ],
)
def test_an_error_survives_pickling_whole(error: TamisError, message: str) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes

    assert type(copy) is type(error)
    assert str(copy) == str(error) == message
    assert vars(copy) == vars(error)
