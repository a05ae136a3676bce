"""Tamis: an event goes in, the ids of the satisfied subscriptions come out.

    import tamis

    engine = tamis.Engine()
    engine.subscribe("ann", "category = 'table' and price < 200")
    engine.match({"category": "table", "price": 150})        # ['ann']

The system in one page:

    model/      what we talk about: schemas, events, operators, predicates
    language/   how subscriptions are written: text to normal form and back
    batches/    events as columns: the one edge, whatever they come as
    matchers/   which subscriptions does an event satisfy: one file per algorithm of the papers
    indexes/    which predicates does a value satisfy: one file per structure of the papers
    registry/   ids, texts, receipts and explanations around an algorithm
    segments/   the adaptive engine, the default: compile texts, ask segments, keep them
    lint/       what is wrong with subscriptions
    store/      an engine in one file; the service's log
    engine.py   what users hold: the edge and the choice of algorithm
    service/    publish, subscribe, be told, on one ordered log
    server/     the same over HTTP
    client/     the engine's remote twin
    spark/      the data pipeline
    cli/        the command line

`docs/architecture.md` draws the tree; `docs/language.md` says what a subscription means.
"""

from typing import TYPE_CHECKING

from tamis.engine import Engine, Receipt
from tamis.errors import (
    Conflict,
    EtagMismatch,
    EventError,
    JavaError,
    JobError,
    KeyReused,
    LanguageError,
    LimitError,
    OptionError,
    SchemaError,
    SegmentError,
    ServiceClosed,
    ServiceError,
    TamisError,
    TooBusy,
    TwinDomainWarning,
    UnknownFeed,
    UnknownPosition,
    UnknownSubscription,
    WorkError,
    WriteConflict,
)
from tamis.matches import Matches
from tamis.model import Event, Schema
from tamis.registry.explaining import Explanation

if TYPE_CHECKING:
    from tamis.client import AsyncClient, Client

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Engine",
    "EtagMismatch",
    "Event",
    "EventError",
    "Explanation",
    "JavaError",
    "JobError",
    "KeyReused",
    "LanguageError",
    "LimitError",
    "Matches",
    "OptionError",
    "Receipt",
    "Schema",
    "SchemaError",
    "SegmentError",
    "ServiceClosed",
    "ServiceError",
    "TamisError",
    "TooBusy",
    "TwinDomainWarning",
    "UnknownFeed",
    "UnknownPosition",
    "UnknownSubscription",
    "WorkError",
    "WriteConflict",
]


def __getattr__(name: str) -> object:
    """The clients come with httpx, which is loaded by whoever asks for one."""
    if name in ("AsyncClient", "Client"):
        import tamis.client

        return getattr(tamis.client, name)
    raise AttributeError(f"module 'tamis' has no attribute {name!r}")
