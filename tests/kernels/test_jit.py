"""What no compiler says: a kernel has no memory management, so an array made below it would never be freed."""

from __future__ import annotations

import ast
from pathlib import Path

import tamis.kernels

_FOLDER = Path(tamis.kernels.__file__).parent


def _functions() -> dict[str, tuple[set[str], set[str]]]:
    """Per function of the kernels: its decorators, and the names it calls."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for path in _FOLDER.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
                calls = {
                    call.func.id
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                }
                found[node.name] = (marks, calls)
    return found


def test_no_kernel_calls_what_allocates() -> None:
    functions = _functions()
    allocating = {name for name, (marks, _) in functions.items() if "allocating" in marks}
    assert "fill_bases" in allocating, "the search finds what it looks for"

    bad = {
        name: calls & allocating
        for name, (marks, calls) in functions.items()
        if marks & {"kernel", "inlined"} and calls & allocating
    }

    assert bad == {}
