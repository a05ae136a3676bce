"""docs/api.md names what is public, with its parameters."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import tamis
import tamis.spark as ts
from tests.pages import page

API = page("docs/api.md")


def signature(call: object) -> str:
    """As the page writes it: without types, without self."""
    assert callable(call)
    found = inspect.signature(call)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values() if one.name != "self"]
    return str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))


@pytest.mark.parametrize(("module", "prefix"), [(tamis, ""), (ts, "ts.")], ids=["tamis", "tamis.spark"])
def test_every_public_name_is_on_the_page(module: ModuleType, prefix: str) -> None:
    assert [name for name in module.__all__ if f"`{prefix}{name}`" not in API and f"`{prefix}{name}(" not in API] == []


@pytest.mark.parametrize("kind", [tamis.Engine, tamis.Client, tamis.Matches])
def test_every_method_is_on_the_page_with_its_parameters(kind: type) -> None:
    public = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}

    wanted = [f"`{kind.__name__}.{name}{signature(one) if callable(one) else ''}`" for name, one in public.items()]

    assert [one for one in wanted if one not in API] == []


def test_an_engine_is_made_as_the_page_says() -> None:
    assert f"`Engine{signature(tamis.Engine)}`" in API


def test_every_step_on_spark_is_on_the_page_with_its_parameters() -> None:
    steps = {name: getattr(ts, name) for name in ts.__all__ if inspect.isfunction(getattr(ts, name))}

    assert [name for name, step in steps.items() if f"`ts.{name}{signature(step)}`" not in API] == []
    assert len(steps) > 10
