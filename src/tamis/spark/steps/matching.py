"""Match: which subscriptions does each event satisfy?

Two plans, with the same answers. *Everywhere*: each task opens all segments, and events alone are partitioned; right
where the index fits a host. *Groups*: segments are put into groups that fit, each event is sent to the groups that
may match it (`routing`), and a task handles the events of one group or a few.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, StructType

from tamis.batches.refusals import OnError, check_on_error
from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.model.names import Used
from tamis.spark.columns import EVENT, EVENT_ID, MATCH_COUNT, SUBSCRIPTION_ID, SUBSCRIPTION_IDS, VERSION
from tamis.spark.steps.arguments import IndexPath, check_frame, check_truths, check_type, names, path_text
from tamis.spark.steps.event_frames import Kept, as_events, quoted, readable
from tamis.spark.steps.validation import rejected_events
from tamis.spark.versions.manifest import Entry, Manifest, read_manifest
from tamis.spark.versions.storage import is_local, root_of, storage
from tamis.spark.workers.answers import GROUP, MatchEverywhere, MatchGroups, MatchVersions, RouteToGroups
from tamis.spark.workers.event_reading import Checking
from tamis.spark.workers.shapes import MOST_IDS, AnswerShape
from tamis.spark.workers.tally import Tally

__all__ = ["GROUP_BYTES", "check_plan", "count_matches", "match", "routes"]

GROUP_BYTES = "spark.tamis.groupBytes"
"""Spark setting: the segments that one task may hold. An index that fits is matched everywhere."""

_DEFAULT_BYTES = 2 << 30
_PLANS = ("auto", "everywhere", "groups")
_log = logging.getLogger("tamis.spark")


def match(
    events: DataFrame,
    path: IndexPath,
    *,
    version: int | str | None = None,
    explode: bool = True,
    plan: str = "auto",
    tally: Tally | None = None,
    validated: bool = False,
    on_error: OnError = "raise",
    keep: Sequence[str] = (),
    event_id: str | None = None,
    unmatched: bool = False,
) -> Any:  # a DataFrame, or two: a union would trouble those who know which
    """`event_id`, `subscription_id` and the index's version, one row per match.

    With `explode=False` instead `event_id`, `subscription_ids` and `match_count`: one row per event that matches, but
    an array holds at most 131,072 ids and the rest follow in further rows. Events that match nothing have no row; with
    `unmatched=True` they have one, without an id or with an empty array. The version is fixed when this is called,
    unless `version` is "index_version": then it stands in that column of each event, as the source `tamis` has it.

    `event_id` names the column that has the events' ids, which are taken to be unique. The columns that `keep` names
    stand beside each id. Without a column `event`, a column that either names is an attribute only if the schema
    knows it.

    Each event is checked once, and one that breaks a rule stops the job. With `on_error="skip"` it just matches
    nothing and has no row; with "collect" the answer is two DataFrames, the matches, and the rejected events as
    `validate` has them. Events that come from `validate` with the index's schema need no second look: say
    `validated=True`. Then only a value that cannot be read is refused.
    """
    wanted = _Wanted(path_text(path), version, plan, tally, validated, on_error, names(keep), event_id, unmatched)
    check_truths(explode=explode)
    shape = AnswerShape.LISTS if not explode or unmatched else AnswerShape.PIECES
    found = wanted.answers(events, shape)
    if explode:
        # Arrays cross from Python to the JVM at less cost than pairs, and the JVM is quick at taking them apart.
        taken = (F.explode_outer if unmatched else F.explode)(SUBSCRIPTION_IDS).alias(SUBSCRIPTION_ID)
        found = found.select(EVENT_ID, *map(quoted, keep), taken, VERSION)
    return (found, wanted.rejected(events)) if on_error == "collect" else found


def count_matches(
    events: DataFrame,
    path: IndexPath,
    *,
    version: int | None = None,
    plan: str = "auto",
    tally: Tally | None = None,
    validated: bool = False,
    on_error: OnError = "raise",
    keep: Sequence[str] = (),
    event_id: str | None = None,
    unmatched: bool = False,
) -> DataFrame:
    """`event_id` and `match_count`, without the ids ever being written down: one row per event that matches or, with
    `unmatched=True`, per event. The rest is as in `match`, but that nothing is collected."""
    check_on_error(on_error, ("raise", "skip"))
    wanted = _Wanted(path_text(path), version, plan, tally, validated, on_error, names(keep), event_id, unmatched)
    return wanted.answers(events, AnswerShape.COUNTS)


def routes(events: DataFrame, path: IndexPath, *, version: int | None = None) -> DataFrame:
    """`event_id` and `group`: the segments, by their number in the manifest, that may match the event at all.

    What is not listed is skipped: so this counts the work of a match before it is done.
    """
    path = path_text(path)
    manifest = read_manifest(storage(path), path, version)
    alone = tuple((one,) for one in manifest.segments)
    checking = Checking(used=manifest.used)
    frame = _readable(as_events(events), (), checking.of(manifest.schema))
    return _routed(frame, RouteToGroups(manifest, alone, None, checking)).select(EVENT_ID, GROUP)


def _readable(frame: DataFrame, keep: Sequence[str], used: Used | None) -> DataFrame:
    """The id of each event, in a struct with what is kept beside it if anything is, and what is used of the event."""
    id = F.struct(EVENT_ID, *map(quoted, keep)).alias(EVENT_ID) if keep else F.col(EVENT_ID)
    return frame.select(id, readable(frame, used).alias(EVENT))


class _Wanted(NamedTuple):
    """What the caller asked for."""

    path: str
    version: int | str | None
    plan: str
    tally: Tally | None
    validated: bool
    on_error: OnError
    keep: tuple[str, ...]
    event_id: str | None
    unmatched: bool

    def answers(self, events: DataFrame, shape: AnswerShape) -> DataFrame:
        """Answers in one of the shapes, with the version."""
        check_frame(events, "events")
        check_on_error(self.on_error)
        check_truths(validated=self.validated, unmatched=self.unmatched)
        if self.tally is not None:
            check_type(self.tally, Tally, "tally")
        if isinstance(self.version, str):
            return self._by_row(events, shape)
        manifest = self._manifest()
        checking = Checking(self.validated, self.on_error != "raise", manifest.used)
        frame = _readable(self._events(events, manifest), self.keep, checking.of(manifest.schema))
        room = int(frame.sparkSession.conf.get(GROUP_BYTES, str(_DEFAULT_BYTES)) or _DEFAULT_BYTES)
        chosen = _choose(self.plan, manifest, room)
        sizes = f"{len(manifest.segments)}_segments_{-(-manifest.size >> 20)}_MiB"
        _log.info("%s: version %d, plan %s: %s, room for %d bytes", self.path, manifest.version, chosen, sizes, room)
        rows = _rows(frame.schema[EVENT_ID].dataType, None if shape is AnswerShape.COUNTS else manifest.id_type)
        how = (root_of(self.path), manifest, shape)
        if chosen == "everywhere" or not manifest.segments:
            name = f"tamis_match_everywhere_{sizes}"
            everywhere = MatchEverywhere(*how, self.unmatched, self.tally, checking, __name__=name)
            found = frame.mapInArrow(everywhere, rows)
        else:
            groups = _grouped(manifest.segments, room)
            name = f"tamis_match_{len(groups)}_groups_{sizes}"
            route = RouteToGroups(manifest, groups, self.tally, checking, self.unmatched)
            sent = _together(_routed(frame, route), len(groups))
            # Whoever is sent an event need not check it: routing has.
            trusting = replace(checking, validated=True)
            work = MatchGroups(*how, self.unmatched, self.tally, trusting, groups=groups, __name__=name)
            found = sent.mapInArrow(work, rows)
            if len(groups) > 1 and shape is not AnswerShape.PIECES:
                found = _united(found, shape)
        if self.keep:
            found = found.select(f"{EVENT_ID}.*", *found.columns[1:])
        return found.withColumn(VERSION, F.lit(manifest.version))

    def _by_row(self, events: DataFrame, shape: AnswerShape) -> DataFrame:
        """Answers by the version that stands in each row. Events are sent whole: which attributes a version names is
        not known beforehand."""
        if self.version != VERSION or VERSION not in events.columns or EVENT not in events.columns:
            listed = ", ".join(events.columns)
            raise OptionError(f"version: expected a number, or 'index_version' with such a column, found {listed}")
        if not is_local(self.path) or self.plan == "groups":
            raise OptionError("version by row: expected an index in a folder that all workers see, matched everywhere")
        manifest = self._manifest()
        frame = _readable(self._events(events, manifest), (VERSION, *self.keep), None)
        rows = _rows(frame.schema[EVENT_ID].dataType, None if shape is AnswerShape.COUNTS else manifest.id_type)
        checking = Checking(self.validated, self.on_error != "raise")
        work = MatchVersions(root_of(self.path), shape, self.unmatched, self.tally, checking)
        found = frame.mapInArrow(work, rows)
        return found.select(f"{EVENT_ID}.*", *found.columns[1:])

    def rejected(self, events: DataFrame) -> DataFrame:
        """The events that are refused, with the reason."""
        manifest = self._manifest()
        used = Checking(used=manifest.used).of(manifest.schema)
        return rejected_events(self._events(events, manifest), manifest.schema, used)

    def _events(self, events: DataFrame, manifest: Manifest) -> DataFrame:
        return as_events(events, Kept(self.keep, self.event_id, manifest.schema))

    def _manifest(self) -> Manifest:
        return read_manifest(storage(self.path), self.path, None if isinstance(self.version, str) else self.version)


def _rows(event_id: DataType, id_type: str | None) -> StructType:
    """An array without nulls spares Spark a look at each of its ids, half of what it costs to take them in."""
    rows = StructType().add(EVENT_ID, event_id)
    if id_type is not None:
        rows.add(SUBSCRIPTION_IDS, ArrayType(DataType.fromDDL(id_type), containsNull=False))
    return rows.add(MATCH_COUNT, LongType())


def check_plan(plan: str) -> None:
    """`OptionError` unless there is such a plan."""
    if plan not in _PLANS:
        meant = hint(plan, _PLANS) if isinstance(plan, str) else ""
        raise OptionError(f"no plan is called {plan!r}{meant} (there are: {', '.join(_PLANS)})")


def _choose(plan: str, manifest: Manifest, room: int) -> str:
    check_plan(plan)
    if plan != "auto":
        return plan
    return "everywhere" if manifest.size <= room else "groups"


def _grouped(segments: tuple[Entry, ...], room: int) -> tuple[tuple[Entry, ...], ...]:
    """Neighbours together, as many as fit; at least one each."""
    groups: list[list[Entry]] = []
    size = 0
    for one in segments:
        size += one.size
        if not groups or size > room:
            groups.append([])
            size = one.size
        groups[-1].append(one)
    return tuple(map(tuple, groups))


def _routed(frame: DataFrame, route: RouteToGroups) -> DataFrame:
    rows = StructType()
    for name in (EVENT_ID, EVENT):  # as types, not as text: an attribute may have any name
        rows.add(name, frame.schema[name].dataType)
    return frame.mapInArrow(route, rows.add(GROUP, IntegerType()))


def _together(routed: DataFrame, groups: int) -> DataFrame:
    """Each group's events in as few partitions as keep all cores busy, so that few workers open its segments."""
    cores = routed.sparkSession.sparkContext.defaultParallelism
    share = max(1, -(-cores // max(groups, 1)))
    place = F.col(GROUP) * share + F.pmod(F.xxhash64(EVENT_ID), F.lit(share)).cast("int")
    return routed.repartitionById(max(groups, 1) * share, place)


def _united(found: DataFrame, shape: AnswerShape) -> DataFrame:
    """One row per event from the rows of its groups; a wide answer still goes on in further rows."""
    if found.isStreaming:
        what = "counts" if shape is AnswerShape.COUNTS else "arrays"
        raise OptionError(
            f"with the plan groups, {what} of several groups must be put together, which a stream cannot: raise "
            f"{GROUP_BYTES} or say plan='everywhere', match with explode=True, or call this on each batch in "
            "foreachBatch"
        )
    if shape is AnswerShape.COUNTS:
        return found.groupBy(EVENT_ID).agg(F.sum(MATCH_COUNT).alias(MATCH_COUNT))
    before = F.sum(MATCH_COUNT).over(
        Window.partitionBy(EVENT_ID).orderBy(MATCH_COUNT).rowsBetween(Window.unboundedPreceding, -1)
    )
    # A row holds at most MOST_IDS and each part begins within as many: no part has more than twice that.
    part = F.floor(F.coalesce(before, F.lit(0)) / F.lit(MOST_IDS))
    ids = F.flatten(F.collect_list(SUBSCRIPTION_IDS)).alias(SUBSCRIPTION_IDS)
    parts = found.withColumn("_part", part).groupBy(EVENT_ID, "_part")
    return parts.agg(ids, F.sum(MATCH_COUNT).alias(MATCH_COUNT)).drop("_part")
