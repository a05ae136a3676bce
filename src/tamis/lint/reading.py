"""Texts → what lint looks at: the segments' own reading, by the column."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from tamis.lint.claims import claims_of
from tamis.lint.relations import Relations, relate
from tamis.model import Schema
from tamis.segments.compile.coding import code_reading
from tamis.segments.compile.constraints import Piece
from tamis.segments.compile.reading import Reading, read_texts

__all__ = ["Read", "read_and_relate"]


class Read(NamedTuple):
    """What texts say."""

    reading: Reading
    pieces: list[Piece]
    relations: Relations


def read_and_relate(texts: pa.Array, schema: Schema) -> Read:
    """Read a string column without nulls, and say how its texts stand to each other."""
    reading = read_texts(texts, schema)
    pieces = list(reading.pieces.all())
    return Read(reading, pieces, relate(claims_of(code_reading(reading, schema), schema), len(texts)))
