"""Compact: the same subscriptions in fewer segments, with nothing dead in them, as a new version.

Every update adds segments and marks rows of old ones as gone. As in a log-structured store, what is small and what is
half dead is read back, since a segment keeps its texts, and compiled anew; the other segments stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from tamis.errors import OptionError, SegmentError
from tamis.spark.columns import EXPRESSION, ID
from tamis.spark.steps import indexing
from tamis.spark.steps.arguments import IndexPath, path_text
from tamis.spark.steps.indexing import Commit, entries, finish, write_segments
from tamis.spark.versions.manifest import Entry, Manifest, latest
from tamis.spark.versions.storage import root_of, storage
from tamis.spark.workers.building import ReadTexts

__all__ = ["compact", "needs_compaction"]

_SMALL = 4
"""A segment is small if it holds less than this part of what segments are made to hold,"""

_DEAD = 4
"""and worn if more than this part of its subscriptions is gone."""

_MOST_SMALL = 8
"""Small segments that an update leaves alone: each costs every event a look, but compiling them costs more."""


def needs_compaction(manifest: Manifest) -> bool:
    """Is it worth its while? Many small segments, or as much dead as a quarter of the whole."""
    small = sum(_is_small(one) for one in manifest.segments)
    dead = sum(one.removed_count for one in manifest.segments if not _is_small(one))
    return small > _MOST_SMALL or dead * _DEAD > manifest.subscriptions + dead


def _living(entry: Entry) -> int:
    return entry.subscriptions - entry.removed_count


def _is_small(entry: Entry) -> bool:
    return _living(entry) * _SMALL < indexing.SEGMENT_ROWS


def _is_worn(entry: Entry) -> bool:
    return _is_small(entry) or entry.removed_count * _DEAD > entry.subscriptions


def compact(path: IndexPath) -> Commit:
    """A new version in which small and worn segments are one, or as few as will do; the same version if nothing is
    to be gained. Older versions stay readable until `vacuum`.
    """
    path = path_text(path)
    place = storage(path)
    before = latest(place, writing=True)
    if before is None:
        raise OptionError(f"{path}: expected an index to compact, found none")
    worn = [number for number, one in enumerate(before.segments) if _is_worn(one)]
    if len(worn) < 2 and not any(before.segments[number].removed_count for number in worn):
        return Commit(before.version, before.subscriptions, len(before.segments), before.size, 0)
    spark = SparkSession.active()
    numbers = spark.createDataFrame([(number,) for number in worn], "number int").repartition(len(worn))
    texts = numbers.mapInArrow(ReadTexts(root_of(path), before), f"{ID} {before.id_type}, {EXPRESSION} string")
    built = write_segments(texts, path, before, new=False)
    lost = sum(_living(before.segments[number]) for number in worn) - sum(row.subscriptions for row in built)
    if lost:
        raise SegmentError(f"{lost} subscriptions were lost in compaction; nothing was committed", path)
    kept = tuple(one for number, one in enumerate(before.segments) if number not in set(worn))
    manifest = replace(before, version=before.version + 1, segments=(*kept, *entries(built)))
    return finish(place, path, manifest, built, on_error="collect")
