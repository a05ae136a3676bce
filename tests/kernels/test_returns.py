"""What compiled code may hand to Python (decision 0008): numbers, plain tuples of them, or one array of its own making.

Turning anything else into a Python object runs Python code where Numba does not expect an exception, so that Ctrl-C
ends in a crash.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import tamis.kernels

_ROOT = Path(tamis.kernels.__file__).parents[2]
_KERNELS = _ROOT / "tamis" / "kernels"
_COMPILED = {"kernel", "allocating", "inlined"}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _module(path: Path) -> str:
    return ".".join(path.relative_to(_ROOT).with_suffix("").parts).removesuffix(".__init__")


def _functions(path: Path) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """The functions of a module, and whether each is compiled."""
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef):
            marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            yield node, bool(marks & _COMPILED)


def _names(node: ast.AST) -> set[str]:
    """All names and attributes that are spoken of."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    found |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return found


def _spoken_of_in_python() -> set[str]:
    """Names in modules outside the kernels, and in functions of theirs that are not compiled."""
    found: set[str] = set()
    for path in (_ROOT / "tamis").rglob("*.py"):
        if path.is_relative_to(_KERNELS):
            for function, compiled in _functions(path):
                found |= set() if compiled else _names(function)
        else:
            found |= _names(_tree(path))
    return found


def _called_from_python() -> dict[str, ast.FunctionDef]:
    """Module and name → the function, compiled, that Python code names."""
    spoken = _spoken_of_in_python()
    return {
        f"{_module(path)}.{function.name}": function
        for path in _KERNELS.rglob("*.py")
        for function, compiled in _functions(path)
        if compiled and function.name in spoken
    }


CALLED = _called_from_python()


def _hints(name: str) -> tuple[ModuleType, Any]:
    module = import_module(name.rpartition(".")[0])
    function = getattr(module, name.rpartition(".")[2])
    return module, get_type_hints(getattr(function, "py_func", function))["return"]


def _is_array(kind: Any) -> bool:
    return getattr(kind, "__origin__", kind) is np.ndarray


def _is_number(kind: Any) -> bool:
    return kind is Any or (isinstance(kind, type) and kind in (int, float, bool, type(None), np.uint64, np.int64))


def _is_harmless(kind: Any) -> bool:
    if isinstance(kind, type) and issubclass(kind, tuple):
        return False
    if getattr(kind, "__origin__", None) is tuple:
        return all(_is_number(part) for part in get_args(kind))
    return _is_number(kind) or _is_array(kind)


def test_the_search_finds_what_python_calls() -> None:
    assert {
        "tamis.kernels.segments.finding.find",
        "tamis.kernels.segments.one_table.match_one",
        "tamis.kernels.segments.block_building.fill_bases",
        "tamis.kernels.numbering.number_keys",
    } <= CALLED.keys()
    assert "tamis.kernels.segments.one_table._clusters_at" not in CALLED


@pytest.mark.parametrize("name", sorted(CALLED))
def test_compiled_code_hands_nothing_to_python_that_takes_python_to_make(name: str) -> None:
    _, kind = _hints(name)

    assert _is_harmless(kind), f"{name} returns {kind}: let its caller make the arrays, and return numbers"


@pytest.mark.parametrize("name", sorted(CALLED))
def test_no_return_says_otherwise_than_the_annotation(name: str) -> None:
    """Annotations are not looked at by Numba: a call of a class, or an array that was handed in, shows in the code."""
    module, _ = _hints(name)
    parameters = {one.arg: one.annotation for one in CALLED[name].args.args}
    bad = []
    for node in ast.walk(CALLED[name]):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for part in parts:
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
                called = getattr(module, part.func.id, None)
                if isinstance(called, type) and issubclass(called, tuple):
                    bad.append(ast.unparse(node))
            if isinstance(part, ast.Name) and part.id in parameters:
                kind = ast.unparse(parameters[part.id] or ast.Constant(None))
                if kind not in ("int", "float", "bool", "Any"):
                    bad.append(ast.unparse(node))

    assert bad == []
