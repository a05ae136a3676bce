"""Which segments can match an event at all?

A subscription whose expression is a plain conjunction needs each of its predicates: `category = 'table' and …` never
matches an event without the value table. One such need is its *key*: an equality where there is one, else that an
attribute is there at all, else nothing. Keys decide which segment a subscription goes to, so that equal keys lie
together; a segment lists its keys as a bitmap of hashes; an event meets the segments that list one of its own keys.

The key is read off the text by Spark SQL, before anything is parsed. It errs on one side only: an expression that the
patterns do not understand gets the key that every event has.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.batches.batch import Batch, Part
from tamis.model import OPERATORS, Finite, Integer, Kind, Number, Operator, Schema, String, Untyped
from tamis.model.operators import Shape
from tamis.segments.ids import hash_texts
from tamis.spark.columns import EXPRESSION

__all__ = ["EVERY", "KEY", "KEYS_BYTES", "Router", "bitmap", "selective", "with_key"]

EVERY = "*"
"""The key of a subscription that may match any event."""

KEY = "key"
_PARTS = "_parts"
_SEPARATOR = "\x1f"
_STRING, _NUMBER = f"{_SEPARATOR}s{_SEPARATOR}", f"{_SEPARATOR}n{_SEPARATOR}"
Routes = npt.NDArray[np.bool_]
_LOG_BITS = 15
"""Of a segment's bitmap: 4 KiB in the manifest, and few collisions up to some thousand keys."""
KEYS_BYTES = 1 << _LOG_BITS >> 3
_MOST = 10**18

# Anchored at the start and token by token, so that quotes pair up: comparisons are stepped over, the first equality
# counts. What follows it must be `and` or the end. A doubled quote, a bare word (it may be an attribute), a
# parenthesis or a `not` before the equality ends the attempt.
_WORDS = sorted(
    operator.value
    for operator, row in OPERATORS.items()
    if not row.folded and (not row.negated or operator is Operator.NE)
    if row.shape not in (Shape.COUNT, Shape.RECORDS)  # which stand before what they are about
)
_SYMBOLS = "|".join(word for word in reversed(_WORDS) if not word[0].isalpha() and word != Operator.EQ)
_FIRST_WORDS = "|".join(dict.fromkeys(word.split()[0] for word in _WORDS if word[0].isalpha() and word[:3] != "is "))
_SKIPPED = rf"[A-Za-z_][\w.]*\s*(?:{_SYMBOLS})\s*(?:'[^']*'|@?[\w.+-]+)\s+and\s+"
_EQUALITY = (
    rf"(?i)^\s*(?:{_SKIPPED})*?([A-Za-z_][\w.]*)(?:\s*=\s*(?:'([^']*)'|(-?[0-9]{{1,18}}))"
    r"|\s+contains\s+(?:'([^']*)'|(?!true\b|false\b|timestamp\b)([A-Za-z_]\w*)))(?:\s+and\s.*|\s*)$"
)
_PRESENCE = rf"(?i)^\s*(?!not\b)([A-Za-z_][\w.]*)(?:\s*(?:{_SYMBOLS})|\s+(?:between|{_FIRST_WORDS})\s)"
_ALTERNATIVE = r"(?i)\bor\b|\|\|"


def with_key(subscriptions: DataFrame, schema: Schema) -> DataFrame:
    """A column `key` from `expression`, at the price of one pass of the long pattern over each text.

    One, because the parts are a column of their own: within a `CASE` Spark would search anew in every branch.
    """
    expression = F.col(EXPRESSION)
    frame = subscriptions.withColumn(_PARTS, F.split(_equality(expression), _SEPARATOR))
    attribute, word, digits = (F.get(_PARTS, F.lit(at)) for at in range(3))
    strings = _named(attribute, schema, (String, Finite, Untyped))
    numbers = _named(attribute, schema, (Integer, Number, Untyped))
    present = F.regexp_extract(expression, _PRESENCE, 1)
    # `or` is searched for only in texts that have the two letters; texts with our separator are left alone.
    written = F.lower(expression).contains("or") | expression.contains("||")
    alternative = written & expression.rlike(_ALTERNATIVE)
    key = (
        F.when(expression.isNull() | expression.contains(_SEPARATOR) | alternative, EVERY)
        .when((digits != "") & numbers, F.concat(attribute, F.lit(_NUMBER), digits.try_cast("bigint").cast("string")))
        .when((word != "") & strings, F.concat(attribute, F.lit(_STRING), word))
        .when(present != "", present)
        .otherwise(EVERY)
    )
    return frame.withColumn(KEY, key).drop(_PARTS)


def _equality(expression: Column) -> Column:
    """Attribute, word and number of the equality, separated; the text itself, with no separator, if there is none."""
    return F.regexp_replace(expression, _EQUALITY, _SEPARATOR.join(("$1", "$2$4$5", "$3")))


def _named(attribute: Column, schema: Schema, domains: tuple[type, ...]) -> Column:
    """Is the attribute's domain one of these? In an open schema all that are not declared are untyped."""
    fits = [name for name in schema.names() if isinstance(schema.domain(name), domains)]
    others = [name for name in schema.names() if name not in fits]
    return ~attribute.isin(others) if schema.open else attribute.isin(fits)


def selective(key: Column) -> Column:
    """Does the key name a value? Such subscriptions get segments of their own."""
    return key.contains(_SEPARATOR)


def _bits(keys: pa.Array) -> npt.NDArray[np.intp]:
    """The place of each key in a bitmap."""
    return (hash_texts(keys.cast(pa.large_string())) >> np.uint64(64 - _LOG_BITS)).astype(np.intp)


@lru_cache(1 << 10)  # of attributes
def _bit(key: str) -> int:
    return int(_bits(pa.array([key], pa.large_string()))[0])


def bitmap(keys: pa.Array) -> bytes:
    """The hashes of a segment's keys."""
    bits = np.zeros(1 << _LOG_BITS, bool)
    bits[_bits(keys)] = True
    return np.packbits(bits).tobytes()


class Router:
    """Tells events the segments, or the groups of segments, that may match them."""

    def __init__(self, bitmaps: list[bytes]) -> None:
        packed = np.frombuffer(b"".join(bitmaps), np.uint8).reshape(len(bitmaps), (1 << _LOG_BITS) // 8)
        self._lists = np.unpackbits(packed, axis=1).astype(bool).T  # bit → which segments list it

    def routes(self, batch: Batch) -> Routes:
        """A row per event, a column per segment."""
        found = np.repeat(self._lists[_bit(EVERY)][None, :], batch.size, axis=0)
        if found.size and not found.all():
            for name, parts in batch.parts.items():
                for part in parts:
                    self._add(found, name, part)
        return found

    def _add(self, found: Routes, name: str, part: Part) -> None:
        met = self._lists[_bit(name)] | self._lists[_value_bits(name, part)]
        if len(part.rows) > 1 and (part.rows[1:] == part.rows[:-1]).any():
            np.logical_or.at(found, part.rows, met)
        else:
            found[part.rows] |= met


def _value_bits(name: str, part: Part) -> npt.NDArray[np.intp]:
    """The bit of each value's key; of the attribute alone where no key can have the value."""
    values = part.values
    if part.kind == Kind.STRING and isinstance(values, pa.Array):
        encoded = values.dictionary_encode()  # events repeat their values
        indices: npt.NDArray[np.int32] = encoded.indices.to_numpy()
        return _bits(_keys(name + _STRING, encoded.dictionary))[indices]
    bits = np.full(len(values), _bit(name), np.intp)
    if part.kind == Kind.NUMBER and not isinstance(values, pa.Array):
        whole = _wholes(values)
        bits[whole] = _bits(_keys(name + _NUMBER, pa.array(values[whole].astype(np.int64)).cast(pa.large_string())))
    return bits


def _keys(prefix: str, texts: pa.Array) -> pa.Array:
    texts = texts.cast(pa.large_string())
    return pc.binary_join_element_wise(pa.scalar(prefix, texts.type), texts, pa.scalar("", texts.type))


def _wholes(numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which numbers are whole and have at most 18 digits, as those in keys."""
    if numbers.dtype == np.int64:
        return np.ones(len(numbers), np.bool_)
    if numbers.dtype == object:
        return np.array([one == one // 1 and abs(one) < _MOST for one in numbers], np.bool_)
    found: npt.NDArray[np.bool_] = (np.abs(numbers) < _MOST) & (np.floor(numbers) == numbers)
    return found
