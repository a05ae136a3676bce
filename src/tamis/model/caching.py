"""A property that is worked out once. Python 3.11's own holds a lock meanwhile, one for all objects of a class: a child
forked while any thread works one out would wait for it for ever. Here two threads may both work it out, to equal ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["cached_property"]

_T = TypeVar("_T", covariant=True)


class cached_property(Generic[_T]):  # noqa: N801 - in the place of the one in functools
    """As `functools.cached_property` has it, without a lock."""

    def __init__(self, work_out: Callable[[Any], _T]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[_T] | _T:
        if instance is None:
            return self
        found = self._work_out(instance)
        instance.__dict__[self._name] = found
        return found
