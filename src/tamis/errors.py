"""Every error that Tamis raises on purpose.

    TamisError
    ├── SchemaError           a schema that contradicts itself, or a file that is not one
    ├── LanguageError         an expression that cannot be read         .column .text
    ├── EventError            an event that breaks a rule                .rule .attribute
    ├── UnknownSubscription   an id nobody subscribed                    .id
    ├── LimitError            input or work past a stated bound          .limit .found
    │   └── WorkError         a subscription that could cost too much    .attributes
    ├── OptionError           an unknown algorithm, a bad argument
    ├── SegmentError          a stored file that is damaged or foreign   .path
    ├── JobError              a Spark job that failed, for a reason in its input or around it
    ├── WriteConflict         somebody else committed first              .path .version
    ├── Conflict              a change that does not go with what is there   .ids
    │   └── EtagMismatch      another version than the one meant         .etag
    ├── KeyReused             one idempotency key, two requests          .key
    ├── TooBusy               more is waiting than may; try again later  .retry_after
    ├── UnknownFeed           a feed that is not there                   .name
    ├── UnknownPosition       no event has that position                 .position
    ├── ServiceClosed         the service was closed
    ├── ServiceError          a server that did not answer, or not as one does   .status
    └── JavaError             no Java runtime that Spark can use

    TwinDomainWarning         a new domain equals an existing one        .name .twin

A message says what was expected, what was found, where, and if possible what to do.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Conflict",
    "EtagMismatch",
    "EventError",
    "JavaError",
    "JobError",
    "KeyReused",
    "LanguageError",
    "LimitError",
    "OptionError",
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


class TamisError(Exception):
    """The root: `except TamisError` catches whatever bad input can cause."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the finished message alone; a worker's error must arrive whole.
        return _revive, (type(self), self.args, self.__dict__)


def _revive(kind: type[TamisError], args: tuple[object, ...], fields: dict[str, object]) -> TamisError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class SchemaError(TamisError):
    """A schema that cannot be: a cycle, a missing name, a forbidden change."""


class LanguageError(TamisError):
    """An expression that cannot be read. `column` counts characters from 1."""

    def __init__(self, message: str, column: int, text: str) -> None:
        super().__init__(f"column {column}: {message}")
        self.column = column
        self.text = text

    def pointer(self) -> str:
        """The expression with a caret under the mistake, cut to what fits a terminal."""
        start = max(0, self.column - 60)
        line = self.text[start : start + 100].replace("\n", " ").replace("\t", " ")
        return f"{line}\n{' ' * (self.column - 1 - start)}^"


class EventError(TamisError):
    """An event that is refused. `rule` is "R1", "R2" or "R3", or None where no rule speaks."""

    def __init__(self, message: str, rule: str | None = None, attribute: str | None = None) -> None:
        super().__init__(f"{rule}: {message}" if rule else message)
        self.rule = rule
        self.attribute = attribute


class UnknownSubscription(TamisError):
    """An id that is not subscribed."""

    def __init__(self, id: str | int) -> None:
        super().__init__(f"no subscription has the id {id!r}")
        self.id = id


class LimitError(TamisError):
    """Input or work past a bound. Both sides of the comparison are kept."""

    def __init__(self, message: str, limit: int, found: int) -> None:
        super().__init__(message)
        self.limit = limit
        self.found = found

    def placed(self, place: str) -> LimitError:
        """The same error with a place before its message."""
        error = _revive(type(self), (f"{place}: {self}",), self.__dict__)
        assert isinstance(error, LimitError)
        return error


class WorkError(LimitError):
    """A subscription that some event could make too dear: it compares `attributes` with each other in rings."""

    def __init__(self, message: str, attributes: tuple[str, ...], limit: int, found: int) -> None:
        super().__init__(message, limit, found)
        self.attributes = attributes


class OptionError(TamisError):
    """A name or argument that the called function does not know."""


class SegmentError(TamisError):
    """A stored file that is damaged, foreign, or newer than this version."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class JobError(TamisError):
    """A Spark job that failed for a reason in its input or its surroundings."""


class WriteConflict(TamisError):
    """Two writers wanted to make the same version of an index; this is the one that came second."""

    def __init__(self, message: str, path: str, version: int) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.version = version


class Conflict(TamisError):
    """A change that does not go with what is there. `ids` are those of the subscriptions concerned, if any are."""

    def __init__(self, message: str, ids: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.ids = ids


class EtagMismatch(Conflict):
    """A subscription is another than the one meant. `etag` is that of the one there, None if there is none."""

    def __init__(self, message: str, etag: str | None) -> None:
        super().__init__(message)
        self.etag = etag


class KeyReused(TamisError):
    """An idempotency key that came with another request before."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the idempotency key {key!r} was used for another request; choose a new one")
        self.key = key


class TooBusy(TamisError):
    """More is waiting than may wait. Nothing was taken; `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnknownFeed(TamisError):
    """A name that no feed has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no feed has the name {name!r}")
        self.name = name


class UnknownPosition(TamisError):
    """A position that no event has, or that was not reached yet."""

    def __init__(self, position: int) -> None:
        super().__init__(f"no event has the position {position}")
        self.position = position


class ServiceClosed(TamisError):
    """A service that was closed, or never started."""


class ServiceError(TamisError):
    """A server that a client did not reach, or whose answer it cannot read; `status` is None if there was none."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class JavaError(TamisError):
    """No Java runtime that Spark can use."""


class TwinDomainWarning(UserWarning):
    """A new domain equals an existing one; both stay, as the paper has it."""

    def __init__(self, name: str, twin: str) -> None:
        super().__init__(name, twin)
        self.name = name
        self.twin = twin

    def __str__(self) -> str:
        return f"domain {self.name!r} is equal to the existing domain {self.twin!r}"
