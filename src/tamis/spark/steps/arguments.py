"""What users hand to the steps, looked at before anything runs: what is of another type is told in our words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import DataFrame

from tamis.errors import OptionError
from tamis.model import Schema
from tamis.model.values import show_raw

__all__ = [
    "IndexPath",
    "check_count",
    "check_frame",
    "check_schema",
    "check_truths",
    "check_type",
    "names",
    "path_text",
]

IndexPath: TypeAlias = str | Path


def path_text(path: IndexPath) -> str:
    """The path or URI of an index as text."""
    found = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(found, str):
        raise OptionError(f"path: expected the path of an index, as text or a Path, found {show_raw(path)}")
    return found


def names(keep: object) -> tuple[str, ...]:
    """The columns that are to be kept."""
    if not isinstance(keep, list | tuple) or not all(isinstance(one, str) for one in keep):
        raise OptionError(f"keep: expected columns as a list of names, found {show_raw(keep)}")
    return tuple(keep)


def check_frame(frame: object, name: str) -> None:
    """Is the argument of this name a DataFrame?"""
    if not isinstance(frame, DataFrame):
        raise OptionError(f"{name}: expected a DataFrame, found {show_raw(frame)}")


def check_schema(schema: object) -> None:
    if not isinstance(schema, Schema):
        raise OptionError(f"schema: expected a Schema, found {show_raw(schema)}; Schema.load reads one from a file")


def check_truths(**given: object) -> None:
    """Is each of these, by its name, True or False? A text would count as true whatever it says."""
    for name, found in given.items():
        if not isinstance(found, bool):
            raise OptionError(f"{name}: expected True or False, found {show_raw(found)}")


def check_count(found: object, name: str) -> None:
    """Is it a number of rows?"""
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise OptionError(f"{name}: expected a number of rows from 0 on, found {show_raw(found)}")


def check_type(found: object, kind: type, name: str) -> None:
    """Is the argument of this name one of ours?"""
    if not isinstance(found, kind):
        raise OptionError(f"{name}: expected a {kind.__name__}, found {show_raw(found)}")
