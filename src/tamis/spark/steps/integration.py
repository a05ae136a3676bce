"""Integrate: a publisher's columns become the integrated schema's events.

Nothing is lost silently: a text that cannot be cast is listed in the column `unread`, and `validate` rejects the row
with that sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import ArrayType, DecimalType, IntegralType

from tamis.errors import OptionError
from tamis.model import EVENT_TYPE
from tamis.model.domains import hint
from tamis.spark.columns import ATTRIBUTE, EVENT, EVENT_ID, PUBLISHER, REASON, UNREAD
from tamis.spark.steps.arguments import check_frame, check_type
from tamis.spark.steps.mapping import Mapping, Source

__all__ = ["integrate"]

_Each = Callable[[Column], Column]


def integrate(feed: DataFrame, mapping: Mapping) -> DataFrame:
    """The feed's rows as events: `event_id`, `publisher`, `event` (a struct) and `unread`.

    The id is the publisher's name, a colon and the column that the mapping names, so that no two publishers clash.
    """
    check_frame(feed, "feed")
    check_type(mapping, Mapping, "mapping")
    made = {name: _Made(feed, name, source) for name, source in mapping.attributes.items()}
    if mapping.event_types is not None:
        made[EVENT_TYPE] = _Made(feed, EVENT_TYPE, mapping.event_types)
    event = F.struct(*[one.value.alias(name) for name, one in made.items()])
    problems = [one.problem for one in made.values() if one.problem is not None]
    unread = F.array_compact(F.array(*problems)).cast(_UNREAD) if problems else F.array().cast(_UNREAD)
    publisher = F.lit(mapping.publisher).cast("string")
    return feed.select(_event_id(feed, mapping), publisher.alias(PUBLISHER), event.alias(EVENT), unread.alias(UNREAD))


_UNREAD = f"array<struct<{ATTRIBUTE}: string, {REASON}: string>>"


def _event_id(feed: DataFrame, mapping: Mapping) -> Column:
    if mapping.event_id is None:
        return F.uuid().alias(EVENT_ID)
    prefix = f"{mapping.publisher}:" if mapping.publisher else ""
    return F.concat(F.lit(prefix), _column(feed, mapping.event_id, EVENT_ID).cast("string")).alias(EVENT_ID)


def _column(feed: DataFrame, name: str, attribute: str) -> Column:
    """The feed's column: by its plain name, or by a path into a struct."""
    found = F.col(f"`{name.replace('`', '``')}`") if name in feed.columns else F.col(name)
    try:
        feed.select(found)
    except AnalysisException:
        near = hint(name, feed.columns)
        listed = ", ".join(feed.columns)
        raise OptionError(f"attribute {attribute!r}: expected a column {name!r}, found {listed}{near}") from None
    return found


class _Made:
    """One attribute: its value, and the sentence if it cannot be read (None if it always can)."""

    def __init__(self, feed: DataFrame, name: str, source: Source) -> None:
        self.problem: Column | None = None
        if source.column is None:
            self.value = _literal(source.constant)
            return
        column = _column(feed, source.column, name)
        column = F.split(column, _quoted(source.split)) if source.split else column
        column = _nonempty(column) if source.split else column
        many = isinstance(feed.select(column).schema[0].dataType, ArrayType)
        if source.values:
            column = _looked_up(column, source, many)
        convert = _converter(source)
        if convert is not None:
            self.problem = _problem(name, source, column, convert, many)
            column = _each(column, convert, many)
        self.value = _scaled(feed, column, source.factor, many)


def _quoted(text: str) -> str:
    return "\\s*\\Q" + text.replace("\\E", "\\E\\\\E\\Q") + "\\E\\s*"


def _nonempty(column: Column) -> Column:
    return F.filter(F.transform(column, F.trim), lambda one: one != "")


def _each(column: Column, change: _Each, many: bool) -> Column:
    return F.transform(column, change) if many else change(column)


def _literal(constant: object) -> Column:
    return F.array(*map(F.lit, constant)) if isinstance(constant, list | tuple) else F.lit(constant)


def _looked_up(column: Column, source: Source, many: bool) -> Column:
    """By the table `values`. Where a name stands for several values, all names give arrays."""
    wide = any(isinstance(found, list | tuple) for found in source.values.values())

    def change(one: Column) -> Column:
        other = F.array(one.cast("string")) if wide else one.cast("string")
        for name, found in source.values.items():
            told = _literal([found] if wide and not _is_list(found) else found)
            other = F.when(one == F.lit(name), told).otherwise(other)
        return other

    changed = _each(column, change, many)
    if wide and many:
        return F.flatten(changed)
    return F.when(column.isNotNull(), changed) if wide else changed


def _is_list(found: object) -> bool:
    return isinstance(found, list | tuple)


def _converter(source: Source) -> _Each | None:
    if source.format is not None:
        pattern = f"{source.format} VV"
        # Read as if it were UTC, whatever the session's zone, then move to the zone it was written in.
        return lambda one: F.to_utc_timestamp(
            F.try_to_timestamp(F.concat(one.cast("string"), F.lit(" UTC")), F.lit(pattern)), source.zone
        )
    kind = source.type
    return None if kind is None else lambda one: one.try_cast(kind)


def _problem(name: str, source: Source, column: Column, convert: _Each, many: bool) -> Column:
    def failed(one: Column) -> Column:
        return one.isNotNull() & convert(one).isNull()

    bad = F.get(F.filter(column, failed), F.lit(0)) if many else F.when(failed(column), column)
    wanted = f"a time written {source.format}" if source.format is not None else f"a value of type {source.type}"
    sentence = F.concat(
        F.lit(f"attribute {name!r}: expected {wanted} in the column {source.column!r}, found '"),
        F.substring(bad.cast("string"), 1, 60),
        F.lit("'"),
    )
    return F.when(bad.isNotNull(), F.struct(F.lit(name).alias(ATTRIBUTE), sentence.alias(REASON)))


def _scaled(feed: DataFrame, column: Column, factor: Decimal | None, many: bool) -> Column:
    """Decimals and integers are multiplied exactly, doubles as doubles."""
    if factor is None:
        return column
    kind = feed.select(column).schema[0].dataType
    kind = kind.elementType if isinstance(kind, ArrayType) else kind
    exact = isinstance(kind, DecimalType | IntegralType)
    by = F.lit(factor if exact else float(factor))
    return _each(column, lambda one: one * by, many)
