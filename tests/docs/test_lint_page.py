"""What docs/lint.md shows is what happens."""

from __future__ import annotations

from tests.pages import fences, page, run_blocks


def test_the_page_prints_what_it_shows_and_its_statements_are_so() -> None:
    first, second = fences(page("docs/lint.md"), "python")
    (shown,) = fences(page("docs/lint.md"), "text")
    names: dict[str, object] = {}
    exec(first.replace("print(engine.lint(events))", "printed = str(engine.lint(events))"), names)  # noqa: S102

    assert names["printed"] == shown.strip("\n")
    done = run_blocks("docs/lint.md", [second], names)
    assert done.report == ""
    assert done.checked == 3
