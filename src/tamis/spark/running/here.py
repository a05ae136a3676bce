"""A matching job in this process, without a JVM: the workers' own functions, batch by batch, and the same folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Row

from tamis.batches.refusals import OnError
from tamis.errors import OptionError
from tamis.model import Schema
from tamis.spark.columns import (
    ATTRIBUTE,
    EVENT_ID,
    EXPRESSION,
    ID,
    MATCH_COUNT,
    REASON,
    RULE,
    SUBSCRIPTION_ID,
    SUBSCRIPTION_IDS,
    UNREAD,
    VERSION,
)
from tamis.spark.running.jobs import Matched, refused_events
from tamis.spark.running.local_files import events_in, subscriptions_in
from tamis.spark.steps.indexing import FOLDERS, Commit, entries, finish
from tamis.spark.versions.manifest import Manifest, read_manifest
from tamis.spark.versions.routing import EVERY, KEY
from tamis.spark.versions.storage import join, local_path, root_of, storage
from tamis.spark.workers.answers import MatchEverywhere
from tamis.spark.workers.building import COPIES, Build
from tamis.spark.workers.event_reading import Checking
from tamis.spark.workers.judging import Judge
from tamis.spark.workers.shapes import AnswerShape
from tamis.spark.workers.tally import LocalTally

__all__ = ["HereJob", "index_here"]

_EXAMPLES = 3


def index_here(subscriptions: str, schema: Schema, path: str, on_error: OnError) -> Commit:
    """A new index of the subscriptions in a file, as `index` makes it."""
    table = _checked(subscriptions_in(subscriptions))
    id_type = "bigint" if pa.types.is_integer(table.schema.field(ID).type) else "string"
    place, manifest = storage(path), Manifest(1, schema, id_type, ())
    for folder in FOLDERS:
        place.make(folder, manifest.mode)
    batches = iter(_with_copies(table).combine_chunks().to_batches()) if len(table) else iter(())
    built = [Row(**row) for batch in Build(root_of(path), schema)(batches) for row in batch.to_pylist()]
    return finish(place, path, replace(manifest, segments=entries(built)), built, on_error)


def _checked(table: pa.Table) -> pa.Table:
    missing = [name for name in (ID, EXPRESSION) if name not in table.column_names]
    if missing:
        listed = ", ".join(table.column_names)
        raise OptionError(f"subscriptions: expected columns 'id' and 'expression', found {listed}")
    ids, texts = table[ID], table[EXPRESSION]
    whole = pa.types.is_integer(ids.type)
    if not whole and not _is_text(ids.type):
        raise OptionError(f"column 'id': expected strings or integers, found {ids.type}")
    if not _is_text(texts.type):
        shown = {pa.int64(): "bigint"}.get(texts.type, texts.type)
        raise OptionError(f"column 'expression': expected text, found {shown}")
    return pa.table({ID: ids.cast(pa.int64() if whole else pa.string()), EXPRESSION: texts.cast(pa.string())})


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind))


def _with_copies(table: pa.Table) -> pa.Table:
    """How often an id stands there, where it is not once. The segments are all asked: no keys are told apart."""
    encoded = table[ID].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
    copies = np.bincount(encoded)[encoded]
    keys = pa.array([EVERY]).take(pa.array(np.zeros(len(table), np.int32)))
    return table.append_column(KEY, keys).append_column(COPIES, pa.array(copies, mask=copies == 1))


@dataclass(frozen=True)
class HereJob:
    """Events in a file against an index: `matches` and `rejected` as Parquet in a folder, as `MatchJob` has them."""

    events: str
    index: str
    version: int | None = None
    wide: bool = False
    on_error: OnError = "collect"
    tally: LocalTally = field(default_factory=LocalTally)

    def run(self, out: str) -> Matched:
        manifest = read_manifest(storage(self.index), self.index, self.version)
        start, read, refused = time.perf_counter(), 0, 0
        examples: list[tuple[str, str | None, str]] = []
        with _Rows(join(out, "rejected")) as rejected, _Rows(join(out, "matches")) as matches:
            for batch in events_in(self.events, manifest.schema):
                wrong = _verdicts(batch, manifest.schema)
                bad = wrong.is_valid()
                rejected.write(_rejected(batch.filter(bad), wrong.filter(bad)))
                shown = zip(batch[EVENT_ID].filter(bad).to_pylist(), wrong.filter(bad).to_pylist(), strict=True)
                examples += [(str(id), one[RULE], one[REASON]) for id, one in shown][: _EXAMPLES - len(examples)]
                read, refused = read + len(batch), refused + (pc.sum(bad).as_py() or 0)
                if not refused or self.on_error != "raise":
                    for answer in self._answers(manifest, batch.filter(pc.invert(bad))):
                        matches.write(answer)
            if self.on_error == "raise" and refused:
                raise refused_events(refused, examples[0])
            rejected.end(_none_rejected)
            matches.end(lambda: self._no_answer(manifest))
        if self.on_error == "skip":
            storage(join(out, "rejected")).clear()
        seconds, tally = time.perf_counter() - start, self.tally
        return Matched(read, refused, tally.matches, tally.asked, tally.skipped, seconds, manifest.version, examples)

    def _answers(self, manifest: Manifest, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        checking = Checking(validated=True, used=manifest.used)
        shape = AnswerShape.LISTS if self.wide else AnswerShape.PIECES
        work = MatchEverywhere(root_of(self.index), manifest, shape, False, self.tally, checking)
        for answer in work(iter([events.select([EVENT_ID, "event"])])):
            yield self._shaped(answer, manifest)

    def _shaped(self, answer: pa.RecordBatch, manifest: Manifest) -> pa.RecordBatch:
        if self.wide:
            columns = {name: answer[name] for name in (EVENT_ID, SUBSCRIPTION_IDS, MATCH_COUNT)}
        else:
            lists = answer[SUBSCRIPTION_IDS]
            ids = answer[EVENT_ID].take(pc.list_parent_indices(lists))
            columns = {EVENT_ID: ids, SUBSCRIPTION_ID: pc.list_flatten(lists)}
        size = len(columns[EVENT_ID])
        return pa.RecordBatch.from_pydict({**columns, VERSION: pa.array(np.full(size, manifest.version, np.int32))})

    def _no_answer(self, manifest: Manifest) -> pa.RecordBatch:
        id = pa.int64() if manifest.id_type == "bigint" else pa.string()
        empty = {EVENT_ID: pa.array([], pa.string()), SUBSCRIPTION_IDS: pa.array([], pa.list_(id))}
        return self._shaped(pa.RecordBatch.from_pydict({**empty, MATCH_COUNT: pa.array([], pa.int64())}), manifest)


def _verdicts(batch: pa.RecordBatch, schema: Schema) -> pa.Array:
    """What is wrong with each event: first what could not be cast."""
    found = Judge(schema).judge(batch["event"])
    if UNREAD not in batch.schema.names:
        return found
    first = [told[0] if told else None for told in batch[UNREAD].to_pylist()]
    unread = pa.array([one and {RULE: "R2", **one} for one in first], found.type)
    return pc.coalesce(unread, found)


def _rejected(events: pa.RecordBatch, wrong: pa.Array) -> pa.RecordBatch:
    kept = {name: events[name] for name in events.schema.names if name != UNREAD}
    return pa.RecordBatch.from_pydict({**kept, **{name: wrong.field(name) for name in (RULE, ATTRIBUTE, REASON)}})


def _none_rejected() -> pa.RecordBatch:
    names = (EVENT_ID, "event", RULE, ATTRIBUTE, REASON)
    return pa.RecordBatch.from_pydict({name: pa.array([], pa.string()) for name in names})


class _Rows:
    """Parquet in a folder of its own, as Spark leaves it: a file `_SUCCESS` comes last."""

    def __init__(self, path: str) -> None:
        self._folder = Path(str(local_path(path)))
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> _Rows:
        self._folder.mkdir(parents=True)
        return self

    def write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            name = f"part-00000-{uuid4()}.snappy.parquet"
            self._writer = pq.ParquetWriter(self._folder / name, rows.schema, compression="snappy")
        self._writer.write_batch(rows)

    def end(self, nothing: Callable[[], pa.RecordBatch]) -> None:
        if self._writer is None:
            self.write(nothing())
        self._close()
        (self._folder / "_SUCCESS").touch()

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def __exit__(self, *_: object) -> None:
        self._close()
