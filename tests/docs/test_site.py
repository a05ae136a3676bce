"""What docs/hooks.py does for `make docs`: links turned, and no page that asks another host for anything."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import tamis
import tamis.spark
from tests.pages import ROOT


@pytest.fixture(scope="module")
def hooks() -> Any:
    spec = spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("place", "link", "turned"),
    [
        ("index.md", "[a](docs/language.md#limits)", "[a](language.md#limits)"),
        ("index.md", "[a](docs/decisions/)", "[a](decisions/index.md)"),
        ("index.md", "[a](LICENSE)", "[a](license.md)"),
        ("examples/index.md", "[a](price_alert.py)", "[a](price_alert.md)"),
        ("examples/auctions.md", "[a](schema.toml)", "a"),
        ("examples/spark_notebook.md", "[a](../docs/spark.md)", "[a](../spark.md)"),
        ("tutorial.md", "[`Engine`](api.md)", "[`Engine`](api.md)"),
        ("tutorial.md", "[a](../CONTRIBUTING.md)", "[a](contributing.md)"),
        ("algorithms/naive.md", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("algorithms/naive.md", "[a](tree.md) [b](../spark.md)", "[a](tree.md) [b](../spark.md)"),
        ("contributing.md", "[a](src/tamis/errors.py)", "a"),
        ("why.md", "[a](https://example.org/b) [c](#d)", "[a](https://example.org/b) [c](#d)"),
    ],
)
def test_a_link_that_is_right_in_the_repository_is_made_right_in_the_site(
    hooks: Any, place: str, link: str, turned: str
) -> None:
    assert hooks.relink(link, place) == turned


def test_code_is_left_alone(hooks: Any) -> None:
    page = "`[a](docs/b.md)` [a](docs/b.md)\n\n```\n[a](docs/b.md)\n```\n"

    assert hooks.relink(page, "index.md") == "`[a](docs/b.md)` [a](b.md)\n\n```\n[a](docs/b.md)\n```\n"


def test_what_a_page_would_fetch_from_another_host_is_found(hooks: Any, tmp_path: Path) -> None:
    (tmp_path / "own.html").write_text('<script src="a.js"></script><a href="https://example.org">read</a>')
    (tmp_path / "page.html").write_text('<link rel="stylesheet" href="https://example.org/a.css"><img src="//e.org/b">')
    (tmp_path / "style.css").write_text('@import "https://example.org/c"; p { background: url(d.png) url(//e.org/f) }')

    found = list(hooks.strangers(tmp_path))

    assert found == [
        "page.html: https://example.org/a.css",
        "page.html: //e.org/b",
        "style.css: https://example.org/c",
        "style.css: //e.org/f",
    ]


def test_the_reference_has_every_public_name(hooks: Any) -> None:
    pages = dict(hooks._reference())

    assert [name for name in tamis.__all__ if f"::: tamis.{name}\n" not in pages["reference/tamis.md"]] == []
    spark = pages["reference/tamis.spark.md"]
    assert [name for name in tamis.spark.__all__ if f"::: tamis.spark.{name}\n" not in spark] == []
