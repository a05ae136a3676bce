"""Match: which subscriptions does each event satisfy?

Two plans, with the same answers. *Everywhere*: each task opens all segments, and events alone are partitioned; right
where the index fits a host. *Groups*: segments are put into groups that fit, each event is sent to the groups that
may match it (`routing`), and a task handles the events of one group or a few.
"""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.spark.answers import GROUP, MatchEverywhere, MatchGroups, RouteToGroups
from tamis.spark.columns import EVENT, EVENT_ID, MATCH_COUNT, SUBSCRIPTION_ID, SUBSCRIPTION_IDS, VERSION
from tamis.spark.events import as_events, readable
from tamis.spark.manifest import Entry, Manifest, read_manifest
from tamis.spark.storage import storage

__all__ = ["GROUP_BYTES", "count_matches", "match", "routes"]

GROUP_BYTES = "spark.tamis.groupBytes"
"""Spark setting: the segments that one task may hold. An index that fits is matched everywhere."""

_DEFAULT_BYTES = 2 << 30
_PLANS = ("auto", "everywhere", "groups")
_log = logging.getLogger("tamis.spark")


def match(
    events: DataFrame, path: str, *, version: int | None = None, explode: bool = True, plan: str = "auto"
) -> DataFrame:
    """`event_id`, `subscription_id` and the index's version, one row per match.

    With `explode=False` instead `event_id`, `subscription_ids` and `match_count`: the ids in arrays of at most 65,536,
    so an event has a row for each segment that matched, and more where an answer is wide. Events that match nothing
    have no row. The version is fixed when this is called. Events should come from `validate`: one that breaks a rule
    stops the job.
    """
    found = _match(events, path, version, "lists", plan)
    if not explode:
        return found
    # Arrays cross from Python to the JVM at less cost than pairs, and the JVM is quick at taking them apart.
    return found.select(EVENT_ID, F.explode(SUBSCRIPTION_IDS).alias(SUBSCRIPTION_ID), VERSION)


def count_matches(events: DataFrame, path: str, *, version: int | None = None, plan: str = "auto") -> DataFrame:
    """`event_id` and `match_count`, without the ids ever being written down.

    With the plan *groups* an event has a row for each group that matched; sum them.
    """
    return _match(events, path, version, "counts", plan)


def routes(events: DataFrame, path: str, *, version: int | None = None) -> DataFrame:
    """`event_id` and `group`: the segments, by their number in the manifest, that may match the event at all.

    What is not listed is skipped by the plan *groups*: so this counts its work before it is done.
    """
    manifest = read_manifest(storage(path), path, version)
    return _routed(events, tuple((one,) for one in manifest.segments)).select(EVENT_ID, GROUP)


def _match(events: DataFrame, path: str, version: int | None, shape: str, plan: str) -> DataFrame:
    manifest = read_manifest(storage(path), path, version)
    frame = as_events(events).select(EVENT_ID, readable(as_events(events)).alias(EVENT))
    ids = f", {SUBSCRIPTION_IDS} array<{manifest.id_type}>" if shape == "lists" else ""
    ddl = f"{EVENT_ID} {frame.schema[EVENT_ID].dataType.simpleString()}{ids}, {MATCH_COUNT} long"
    room = int(frame.sparkSession.conf.get(GROUP_BYTES, str(_DEFAULT_BYTES)) or _DEFAULT_BYTES)
    chosen = _choose(plan, manifest, room)
    sizes = f"{len(manifest.segments)}_segments_{-(-manifest.size >> 20)}_MiB"
    _log.info("%s: version %d, plan %s: %s, room for %d bytes", path, manifest.version, chosen, sizes, room)
    if chosen == "everywhere":
        work = MatchEverywhere(path, manifest, shape, f"tamis_match_everywhere_{sizes}")
        found = frame.mapInArrow(work, ddl)
    else:
        groups = _grouped(manifest.segments, room)
        grouped = MatchGroups(path, manifest, groups, shape, f"tamis_match_{len(groups)}_groups_{sizes}")
        found = _together(_routed(frame, groups), len(groups)).mapInArrow(grouped, ddl)
    return found.withColumn(VERSION, F.lit(manifest.version))


def _choose(plan: str, manifest: Manifest, room: int) -> str:
    if plan not in _PLANS:
        raise OptionError(f"no plan is called {plan!r}{hint(plan, _PLANS)} (there are: {', '.join(_PLANS)})")
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


def _routed(frame: DataFrame, groups: tuple[tuple[Entry, ...], ...]) -> DataFrame:
    frame = as_events(frame).select(EVENT_ID, readable(as_events(frame)).alias(EVENT))
    kinds = ", ".join(f"{name} {frame.schema[name].dataType.simpleString()}" for name in (EVENT_ID, EVENT))
    return frame.mapInArrow(RouteToGroups(groups), f"{kinds}, {GROUP} int")


def _together(routed: DataFrame, groups: int) -> DataFrame:
    """Each group's events in as few partitions as keep all cores busy, so that few workers open its segments."""
    cores = routed.sparkSession.sparkContext.defaultParallelism
    share = max(1, -(-cores // max(groups, 1)))
    place = F.col(GROUP) * share + F.pmod(F.xxhash64(EVENT_ID), F.lit(share)).cast("int")
    return routed.repartitionById(max(groups, 1) * share, place)
