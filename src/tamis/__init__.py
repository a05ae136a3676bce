"""Tamis: an event goes in, the ids of the satisfied subscriptions come out.

    import tamis

    engine = tamis.Engine()
    engine.subscribe("ann", "category = 'table' and price < 200")
    engine.match({"category": "table", "price": 150})        # ['ann']

The system in one page:

    model/      what we talk about: schemas, events, predicates
    language/   how subscriptions are written: text to normal form and back
    matchers/   which subscriptions does an event satisfy: one file per algorithm of the papers
    segments/   the adaptive engine, the default: compiled segments, a delta, merges
    store/      what survives the process
    engine.py   what users hold: ids, snapshots, the choice of algorithm
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
    "WriteConflict",
]
