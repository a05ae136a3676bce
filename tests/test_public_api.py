"""The public names, as documented: a name more or less is a decision, not an accident."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import tamis
from tamis.matchers import MATCHERS

ERRORS = {
    "Conflict",
    "EtagMismatch",
    "EventError",
    "JavaError",
    "JobError",
    "KeyReused",
    "LanguageError",
    "LimitError",
    "OptionError",
    "SchemaError",
    "SegmentError",
    "ServiceError",
    "ServiceClosed",
    "TamisError",
    "TooBusy",
    "UnknownFeed",
    "UnknownPosition",
    "UnknownSubscription",
    "WorkError",
    "WriteConflict",
}
NOUNS = {"AsyncClient", "Client", "Engine", "Event", "Explanation", "Matches", "Receipt", "Schema", "TwinDomainWarning"}

METHODS = {
    "Engine": {
        *("subscribe", "subscribe_many", "refresh", "unsubscribe", "unsubscribe_many", "expression", "ids"),
        *("match", "match_many", "match_iter", "match_json", "count_many", "observe", "settle", "explain", "lint"),
        *("stats", "check", "save", "open", "close", "schema", "extend", "mark", "checkpoint"),
    },
    "Matches": {"counts", "for_event", "bitmap", "to_arrow", "total"},
}


def test_tamis_exports_these_names_and_no_others() -> None:
    assert set(tamis.__all__) == ERRORS | NOUNS
    assert all(hasattr(tamis, name) for name in tamis.__all__)


@pytest.mark.parametrize("name", sorted(ERRORS - {"TamisError"}))
def test_every_error_is_a_tamis_error_and_says_what_it_means(name: str) -> None:
    error = getattr(tamis, name)

    assert issubclass(error, tamis.TamisError)
    assert name in inspect.getdoc(tamis.errors)  # type: ignore[operator]


@pytest.mark.parametrize("name", METHODS)
def test_a_public_class_offers_these_methods_and_no_others(name: str) -> None:
    public = {attribute for attribute in vars(getattr(tamis, name)) if not attribute.startswith("_")}

    assert public == METHODS[name]


def test_an_engine_is_opened_with_these_options_and_those_of_its_algorithm() -> None:
    options = inspect.signature(tamis.Engine.open).parameters

    assert list(options) == ["path", "schema", "create", "verify", "mode", "read_only", "marked", "options"]


@pytest.mark.parametrize("name", sorted(ERRORS | NOUNS))
def test_everything_public_has_a_docstring(name: str) -> None:
    exported = getattr(tamis, name)
    methods = [member for member in vars(exported).values() if inspect.isfunction(member)]

    assert inspect.getdoc(exported)
    if name in METHODS:
        assert all(method.__doc__ for method in methods if not method.__name__.startswith("_"))


def test_errors_keep_their_facts_as_fields() -> None:
    assert tamis.LanguageError("expected an operator", 7, "price less 3").column == 7
    assert tamis.LanguageError("expected an operator", 7, "price less 3").text == "price less 3"
    assert tamis.EventError("too many", "R2", "price").rule == "R2"
    assert tamis.EventError("too many", "R2", "price").attribute == "price"
    assert tamis.UnknownSubscription("ann").id == "ann"
    assert tamis.LimitError("too many", 3, 4).limit == 3
    assert tamis.LimitError("too many", 3, 4).found == 4
    assert tamis.SegmentError("damaged", "a/file").path == "a/file"


def test_the_table_of_algorithms_is_read_only() -> None:
    assert isinstance(MATCHERS, Mapping)
    assert "naive" in MATCHERS
    with pytest.raises(TypeError):
        MATCHERS["mine"] = MATCHERS["naive"]  # type: ignore[index]


def test_the_version_stands_in_two_places_and_is_the_same() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))

    assert tamis.__version__ == project["project"]["version"]
