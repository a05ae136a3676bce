"""Events in JSON → tokens of the attributes in use. All of the text is held against the grammar, used or not.

One value after another, with a stack of the brackets around it. A name leads from node to node of the plan; what is
below a name that leads nowhere is passed over. Whatever is not certain here (a name with an escape, a name that comes
twice, a whole number of many digits, an object where values are expected) makes its event one for somebody more
careful; the tokens that it has given so far are dropped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.batches.json_text import number_end, string_end, word_size
from tamis.kernels.batches.plans import Plan, child_of
from tamis.kernels.batches.tokens import CAREFUL, ESCAPED, REAL_TEXT, SOUND, STRING, TRUTH, Found, Tokens
from tamis.kernels.jit import inlined, kernel

__all__ = [
    "CLOSED",
    "MORE",
    "MOST_BRACKETS",
    "STOPPED",
    "WRONG_COLON",
    "WRONG_DEPTH",
    "WRONG_END",
    "WRONG_ITEM",
    "WRONG_MEMBER",
    "WRONG_NAME",
    "WRONG_NUMBER",
    "WRONG_STRING",
    "WRONG_VALUE",
    "Stack",
    "read_events",
]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

WRONG_VALUE, WRONG_NAME, WRONG_COLON, WRONG_MEMBER, WRONG_ITEM = range(16, 21)
WRONG_STRING, WRONG_NUMBER, WRONG_DEPTH, WRONG_END = range(21, 25)
"""States of events: what was expected where something else was found."""

MORE, CLOSED, STOPPED = range(3)
"""How reading an array ended: an event is not whole yet, the array ended, or something was wrong."""
MOST_BRACKETS = 512
_IN_OBJECT, _IN_LIST = 0, 1
_LONG_NAME = 256
"""In bytes; whether a longer one may be is a matter for somebody else."""
_NOWHERE = -1


class Stack(NamedTuple):
    """The brackets around a value, and which nodes the event has been at."""

    kind: Bytes
    node: Ints  # of an object: where its names lead from; of a list: where its values belong
    seen: Longs  # per node: the number of the last event that has been there
    most_objects: int  # so many may be inside one another before somebody else must look


@inlined
def _after_space(text: Bytes, at: Any, lines: bool) -> Any:
    """Past spaces; in lines, the end of the line is no space."""
    while text[at] <= 32 and (
        text[at] == 32 or text[at] == 9 or text[at] == 13 or (text[at] == 10 and not lines)
    ):  # zeros end it
        at += 1
    return at


@inlined
def _read_name(text: Bytes, at: Any, plan: Plan, node: Any, lines: bool) -> Any:
    """A name and its colon → the place of the value, where the name leads, and what is wrong, or `CAREFUL`."""
    if text[at] != 34:
        return at, np.int64(_NOWHERE), np.int64(WRONG_NAME)
    start = at + 1
    end, escaped = string_end(text, start)
    if end < 0:
        return -1 - end, np.int64(_NOWHERE), np.int64(WRONG_STRING)
    child, state = np.int64(_NOWHERE), np.int64(SOUND)
    if node >= 0:
        if escaped:
            state = np.int64(CAREFUL)
        else:
            child = child_of(plan, node, text, start, end - start)
            if child < 0 and plan.strict:
                state = np.int64(CAREFUL)
    at = _after_space(text, end + 1, lines)
    if text[at] != 58:
        return at, child, np.int64(WRONG_COLON)
    at = _after_space(text, at + 1, lines)
    if state == CAREFUL and not escaped and 0 < end - start <= _LONG_NAME and text[at] == 110:
        state = np.int64(SOUND)  # null: there is no such attribute, whatever it is called
    return at, child, state


@inlined
def _read_event(
    text: Bytes, at: Any, lines: bool, plan: Plan, tokens: Tokens, used: Any, row: Any, number: Any, stack: Stack
) -> Any:
    """One event → past it, the tokens used, its state."""
    depth, objects = np.int64(0), np.int64(0)  # brackets around the value; objects that are looked into
    node = np.int64(_NOWHERE)  # where the value belongs
    state = np.int64(SOUND)
    if text[at] == 123:
        node = np.int64(0)
    else:
        state = np.int64(CAREFUL)
    while True:
        # -- a value
        sign = text[at]
        attribute = np.int64(plan.attribute[node]) if node >= 0 else np.int64(_NOWHERE)
        listed = depth > 0 and stack.kind[depth - 1] == _IN_LIST
        closed = True
        if sign == 34:
            end, escaped = string_end(text, at + 1)
            if end < 0:
                return -1 - end, used, WRONG_STRING
            if attribute >= 0:
                tokens.attribute[used], tokens.row[used] = attribute, row
                tokens.kind[used] = ESCAPED if escaped else STRING
                tokens.data[used], tokens.size[used] = at + 1, end - at - 1
                used += 1
            elif node >= 0 and plan.strict:
                state = np.int64(CAREFUL)
            at = end + 1
        elif sign == 123 or sign == 91:
            if depth == MOST_BRACKETS:
                return at, used, WRONG_DEPTH
            is_list = sign == 91
            within = np.int64(_NOWHERE)
            if node >= 0:
                if listed:
                    state = np.int64(CAREFUL)
                elif is_list:
                    within = node
                elif plan.inside[node]:
                    within = node
                    objects += 1
                    if objects > stack.most_objects:
                        state = np.int64(CAREFUL)
                elif plan.strict:
                    state = np.int64(CAREFUL)
            stack.kind[depth] = _IN_LIST if is_list else _IN_OBJECT
            stack.node[depth] = within
            depth += 1
            at = _after_space(text, at + 1, lines)
            closed = text[at] == (93 if is_list else 125)
            if closed:
                depth -= 1
                if within >= 0 and not is_list:
                    objects -= 1
                at += 1
            elif is_list:
                node = within
            else:
                at, node, said = _read_name(text, at, plan, within, lines)
                if said > CAREFUL:
                    return at, used, said
                if node >= 0:
                    if stack.seen[node] == number:
                        said = np.int64(CAREFUL)
                    stack.seen[node] = number
                state = max(state, said)
        elif sign == 45 or 48 <= sign <= 57:
            end, kind, data = number_end(text, at)
            if end < 0:
                return -1 - end, used, WRONG_NUMBER
            if attribute >= 0:
                tokens.attribute[used], tokens.row[used], tokens.kind[used] = attribute, row, kind
                tokens.data[used], tokens.size[used] = data, end - at
                if kind == REAL_TEXT:
                    if data == 1:
                        state = np.int64(CAREFUL)
                    tokens.data[used] = at
                used += 1
            elif node >= 0 and plan.strict:
                state = np.int64(CAREFUL)
            at = end
        else:
            size = word_size(text, at)
            if size == 0:
                return at, used, WRONG_VALUE
            if sign != 110:
                if attribute >= 0:
                    tokens.attribute[used], tokens.row[used], tokens.kind[used] = attribute, row, TRUTH
                    tokens.data[used] = np.int64(sign == 116)
                    used += 1
                elif node >= 0 and plan.strict:
                    state = np.int64(CAREFUL)
            at += size
        # -- what follows it
        while closed:
            if depth == 0:
                return at, used, state
            at = _after_space(text, at, lines)
            sign = text[at]
            within = np.int64(stack.node[depth - 1])
            if stack.kind[depth - 1] == _IN_LIST:
                if sign == 44:
                    at = _after_space(text, at + 1, lines)
                    node, closed = within, False
                elif sign != 93:
                    return at, used, WRONG_ITEM
            elif sign == 44:
                at = _after_space(text, at + 1, lines)
                at, node, said = _read_name(text, at, plan, within, lines)
                if said > CAREFUL:
                    return at, used, said
                if node >= 0:
                    if stack.seen[node] == number:
                        said = np.int64(CAREFUL)
                    stack.seen[node] = number
                state = max(state, said)
                closed = False
            elif sign != 125:
                return at, used, WRONG_MEMBER
            elif within >= 0:
                objects -= 1
            if closed:
                depth -= 1
                at += 1


@kernel
def read_events(
    text: Bytes, lines: bool, fresh: bool, last: Any, more: bool, plan: Plan, tokens: Tokens, found: Found, number: Any,
    stack: Stack,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Whole lines, or items of an array → how many events, how many tokens, where reading is to go on, how it ended.

    `number` is that of the first event. If `fresh`, an array has just begun, and may end at once; else an event must
    come. There may be `more` of an array than these `last` bytes.
    """
    at, row, used = np.int64(0), np.int64(0), np.int64(0)
    while True:
        begin = at
        at = _after_space(text, at, False)
        if (lines and at >= last) or (fresh and text[at] == 93):
            return row, used, at + 1, CLOSED
        found.start[row] = at
        at, after, state = _read_event(text, at, lines, plan, tokens, used, row, number + row, stack)
        found.stop[row] = at
        if state <= CAREFUL:
            at = _after_space(text, at, lines)
            ends = at >= last or text[at] == 10 if lines else text[at] == 44 or text[at] == 93
            if not ends:
                state = np.int64(WRONG_END)
        if state > CAREFUL and more and at + 8 >= last:
            return row, used, begin, MORE
        found.state[row], found.wrong[row] = state, at
        used = after if state == SOUND else used
        row += 1
        if lines:
            while at < last and text[at] != 10:
                at += 1
            continue
        if state > CAREFUL:
            return row, used, at, STOPPED
        at += 1
        fresh = False
        if text[at - 1] == 93:
            return row, used, at, CLOSED
        if more and at >= last:
            return row, used, at, MORE
