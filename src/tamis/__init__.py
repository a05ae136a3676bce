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
    store/      an engine in one file
    engine.py   what users hold: the edge and the choice of algorithm
    spark/      the data pipeline
    cli/        the command line

`docs/architecture.md` draws the tree; `docs/language.md` says what a subscription means.
"""

from tamis.engine import Engine, Receipt
from tamis.errors import (
    EventError,
    JavaError,
    JobError,
    LanguageError,
    LimitError,
    OptionError,
    SchemaError,
    SegmentError,
    TamisError,
    TwinDomainWarning,
    UnknownSubscription,
    WorkError,
    WriteConflict,
)
from tamis.matches import Matches
from tamis.model import Event, Schema
from tamis.registry.explaining import Explanation

__version__ = "0.1.0"

__all__ = [
    "Engine",
    "Event",
    "EventError",
    "Explanation",
    "JavaError",
    "JobError",
    "LanguageError",
    "LimitError",
    "Matches",
    "OptionError",
    "Receipt",
    "Schema",
    "SchemaError",
    "SegmentError",
    "TamisError",
    "TwinDomainWarning",
    "UnknownSubscription",
    "WorkError",
    "WriteConflict",
]
