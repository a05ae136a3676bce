"""An exception out of nowhere: raised before the n-th bytecode that a call executes in our own code."""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import tamis

OURS = str(Path(tamis.__file__).parent)
_QUIET = {"LOAD_CONST", "LOAD_FAST", "LOAD_FAST_BORROW", "STORE_FAST", "POP_TOP", "PUSH_NULL", "PRECALL", "NOP", "COPY",
          "SWAP", "RETURN_VALUE", "RETURN_CONST", "PUSH_EXC_INFO", "POP_EXCEPT", "RERAISE", "WITH_EXCEPT_START",
          "CACHE", "NOT_TAKEN", "RESUME"}  # fmt: skip
"""Bytecodes at which CPython itself never raises: no signal is looked at, nothing is allocated."""


class Interrupted:
    """What became of a call: how many bytecodes there were, whether it was interrupted and where, what it raised."""

    def __init__(self, at: int | None, error: BaseException) -> None:
        self.at = at
        self.error = error
        self.bytecodes = 0
        self.where = ""
        self.possible = True
        self.raised: BaseException | None = None

    @property
    def strange(self) -> bool:
        """Whether it was swallowed, or became something else."""
        return bool(self.where) and self.raised is not self.error

    def run(self, call: Callable[[], object]) -> Interrupted:
        gc.collect(0)
        gc.disable()  # a finalizer of ours, run by the collector, could raise to nobody
        sys.settrace(self._enter)
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - kept for whoever asks
            error.__traceback__ = None  # whoever holds frames holds what is in them
            self.raised = error
        finally:
            sys.settrace(None)
            gc.enable()
        return self

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            self.bytecodes += 1
            if self.bytecodes == self.at:
                code = frame.f_code
                self.possible = frame.f_lasti in _possible(code)
                self.where = f"{code.co_qualname}:{frame.f_lineno} at {frame.f_lasti}"
                sys.settrace(None)
                raise self.error
        return self._step


@cache
def _possible(code: CodeType) -> frozenset[int]:
    """The bytecodes before which CPython may raise. The way out of a `with` is none: its lock is let go in one step."""
    found, names = set(), ["", "", "", ""]
    for one in dis.get_instructions(code):
        name = f"{one.opname} {one.argval}" if one.opname == "LOAD_CONST" else one.opname
        leaving = one.opname == "CALL" and names[-3:] == ["LOAD_CONST None"] * 3
        after_call = names[-1] == "CALL" and one.opname in ("POP_TOP", "STORE_FAST", "RETURN_VALUE")
        if after_call or (one.opname not in _QUIET and not leaving):
            found.add(one.offset)
        if one.opname not in ("PRECALL", "CACHE"):
            names.append(name)
    return frozenset(found)
