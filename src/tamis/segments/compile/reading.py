"""Texts → constraints in columns: by their shapes where these are known, one by one by the real parser where not.

Texts are cut into units, of which most are written alike (`chunk`); the parser says once what each shape means
(`shapes`); the constants of all tests of one sort become pieces by the column (`alike`). It must agree with the parser
to the letter: what it is not sure of it leaves to the parser, mistakes included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import LanguageError, LimitError
from tamis.language import parse
from tamis.model import Schema
from tamis.segments.compile.chunk import CHUNK, Workshop, read_chunk
from tamis.segments.compile.constraints import Piece, Pieces

__all__ = ["Reading", "read_texts"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Reading:
    """What a column of texts says. Conjunction `r` belongs to text `r`; further ones of a text come after them."""

    pieces: Pieces
    owners: Longs
    """The text of each conjunction."""
    dead: Mask
    """Conjunctions that never hold, and the places of texts that have none."""
    rejected: list[tuple[int, LanguageError | LimitError]]
    """Texts that do not parse, with the reason; their conjunctions are dead."""


def read_texts(texts: pa.Array, schema: Schema) -> Reading:
    """Read a string column without nulls."""
    pieces, workshop = Pieces(schema), Workshop(schema)
    count = known = len(texts)
    owners, dead = [np.arange(count)], np.zeros(count, np.bool_)
    late: list[Mask] = []
    left: list[int] = []
    for start in range(0, count, CHUNK):
        chunk = read_chunk(texts.slice(start, CHUNK), pieces, workshop)
        size = len(chunk.odd)
        for piece in chunk.pieces:
            pieces.add(piece if size == count else _renumbered(piece, size, start, known))
        dead[start : start + size] = chunk.dead[:size]
        late.append(chunk.dead[size:])
        owners.append(chunk.owners[size:] + start)
        known += len(owners[-1])
        left += (np.nonzero(chunk.odd)[0] + start).tolist()
    reading = Reading(pieces, np.concatenate(owners), np.concatenate([dead, *late]), [])
    return _read_one_by_one(reading, texts, schema, left) if left else reading


def _renumbered(piece: Piece, size: int, start: int, known: int) -> Piece:
    """A chunk's piece among those of all: the first conjunctions of its texts, then further ones."""
    numbers = piece.conjunctions
    return replace(piece, conjunctions=np.where(numbers < size, numbers + start, numbers - size + known))


def _read_one_by_one(reading: Reading, texts: pa.Array, schema: Schema, left: list[int]) -> Reading:
    """Have the parser read these texts, and add what they say."""
    further: list[int] = []
    known, dead = len(reading.owners), reading.dead
    for row in left:
        try:
            conjunctions = parse(texts[row].as_py(), schema)
        except (LanguageError, LimitError) as error:
            reading.rejected.append((row, error))
            conjunctions = ()
        dead[row] = not conjunctions
        for at, conjunction in enumerate(conjunctions):
            reading.pieces.add_conjunction(known + len(further) if at else row, conjunction)
            if at:
                further.append(row)
    owners = np.r_[reading.owners, np.array(further, np.int64)]
    return Reading(reading.pieces, owners, np.r_[dead, np.zeros(len(further), np.bool_)], reading.rejected)
