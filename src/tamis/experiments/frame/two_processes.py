"""Two processes on one machine, as in Le Subscribe §4: one sends sets of events, the other matches and sends ids back.

The sender is the other process; we match. Both read the same monotonic clock of the machine. Events and answers
travel as Arrow streams over a socket.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.experiments.frame.experiment import SEED
from tamis.experiments.frame.measuring import REPEATS, Timing
from tamis.matchers import Rows
from tamis.workloads.slices import Workload

__all__ = ["RoundTrip", "round_trips"]

Answering = Callable[[pa.Table], Rows[npt.NDArray[np.int64]]]


class RoundTrip(NamedTuple):
    """Per event, from the moment the sender begins to send: until the answers are there, and until it has the ids."""

    processing: Timing
    execution: Timing


def round_trips(answer: Answering, workload: Workload, events: int, repeats: int = REPEATS) -> RoundTrip:
    """Sets of so many events, the first one to warm up."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    sender = context.Process(target=_send, args=(theirs, workload, events, repeats + 1), daemon=True)
    sender.start()
    theirs.close()
    ready = []
    for _ in range(repeats + 1):
        found = answer(_table(ours.recv_bytes()))
        ready.append(time.monotonic())
        ours.send_bytes(_stream(_pairs(found)))
    begun, done = ours.recv()
    sender.join()
    processing = [end - start for start, end in zip(begun, ready, strict=True)][1:]
    execution = [end - start for start, end in zip(begun, done, strict=True)][1:]
    return RoundTrip(Timing.of(processing, events), Timing.of(execution, events))


def _send(matcher: Connection, workload: Workload, events: int, rounds: int) -> None:
    """The other process: all of its sets are alike, so that repeats are."""
    table = workload.events(events, SEED)
    begun, done = [], []
    for _ in range(rounds):
        begun.append(time.monotonic())
        matcher.send_bytes(_stream(table))
        _table(matcher.recv_bytes())
        done.append(time.monotonic())
    matcher.send((begun, done))


def _pairs(found: Rows[npt.NDArray[np.int64]]) -> pa.Table:
    return pa.table({"event": np.repeat(np.arange(len(found)), found.counts()), "subscription": found.items})


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def _table(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()
