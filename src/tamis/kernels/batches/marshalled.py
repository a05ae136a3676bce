"""Events as Python's `marshal` writes a list of dictionaries (version 4) → tokens of the attributes in use.

Nothing is changed on the way there: numbers are binary, each type has a letter, and what `marshal` does not know it
refuses. An object that comes again is written as the number of the first one that was flagged: `refs` has where each
of them stands. Whatever is not certain here (a type that is none of ours, a container that comes again, a name that
leads to the same attribute twice, half characters) makes its event one for somebody more careful.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.batches.json_text import utf8_size
from tamis.kernels.batches.plans import Plan, child_of
from tamis.kernels.batches.tokens import CAREFUL, REAL, SOUND, STRING, TRUTH, WHOLE, Tokens
from tamis.kernels.batches.words import word_at
from tamis.kernels.jit import inlined, kernel

__all__ = ["BROKEN", "MOST_CONTAINERS", "Refs", "Trail", "read_marshalled"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

BROKEN = -1
"""What `read_marshalled` says of bytes that are not what it knows."""
MOST_CONTAINERS = 2048
"""`marshal` itself goes no deeper than 2,000."""

_FLAG = 0x80
_NULL, _NONE, _TRUE, _FALSE = 48, 78, 84, 70  # 0 N T F
_INT, _LONG, _FLOAT, _REF = 105, 108, 103, 114  # i l g r
_DICT, _LIST, _TUPLE, _SMALL_TUPLE, _SET, _FROZEN = 123, 91, 40, 41, 60, 62  # { [ ( ) < >
_SHORT, _SHORT_KNOWN, _ASCII, _ASCII_KNOWN, _UTF8, _UTF8_KNOWN = 122, 90, 97, 65, 117, 116  # z Z a A u t
_BYTES = 115  # s
_NOWHERE = -1
_LOW = np.uint64(0xFFFFFFFF)
_SIGN = np.uint64(0x80000000)


class Refs(NamedTuple):
    """Of objects that were flagged: where each stands; of names, which node they were last looked up from, and where
    that led."""

    place: Longs
    parent: Ints
    child: Ints


class Trail(NamedTuple):
    """The containers around an object."""

    left: Longs  # how many objects are still to come in a list; -1 in a dictionary
    node: Ints  # of a dictionary: where its names lead from; of a list: where its values belong
    seen: Longs  # per node: the number of the last event that has been there
    most_objects: int


@inlined
def _long(text: Bytes, at: Any) -> Any:
    """Four bytes as a number."""
    found = word_at(text, at) & _LOW
    return np.int64(found) - (np.int64(1 << 32) if found & _SIGN else np.int64(0))


@inlined
def _text_at(text: Bytes, at: Any, letter: Any) -> Any:
    """Where the bytes of a string begin whose letter stands before `at`, and how many they are."""
    if letter == _SHORT or letter == _SHORT_KNOWN:
        return at + 1, np.int64(text[at])
    return at + 4, _long(text, at)


@kernel
def _is_text(text: Bytes, at: int, end: Any) -> bool:
    """Whether it is UTF-8: `marshal` also writes half characters."""
    while at < end:
        if text[at] < 128:
            at += 1
            continue
        size = utf8_size(text, at)
        if size == 0:
            return False
        at += size
    return True


@kernel
def read_marshalled(
    text: Bytes, size: int, plan: Plan, tokens: Tokens, states: Bytes, refs: Refs, trail: Trail
) -> tuple[Any, Any]:
    """A list of dictionaries, `size` bytes of it → how many events, or `BROKEN`, and how many tokens."""
    row, used, known = np.int64(-1), np.int64(0), np.int64(0)
    depth, objects = np.int64(0), np.int64(0)
    node, first_token = np.int64(_NOWHERE), np.int64(0)
    state = np.int64(SOUND)
    count = np.int64(0)
    at = np.int64(0)
    if size > 0 and text[0] & 0x7F == _LIST:
        if text[0] & _FLAG:
            refs.place[0] = 0
            known += 1
        count = _long(text, 1)
        at += 5
    else:
        return np.int64(BROKEN), used
    while True:
        # -- what comes next in the container around
        while depth > 0 and trail.left[depth - 1] == 0:
            depth -= 1
        if depth == 0:
            if row >= 0:
                states[row] = state
                if state != SOUND:
                    used = first_token
            row += 1
            if row == count:
                return row, used
            first_token, state, objects = used, np.int64(SOUND), np.int64(0)
            node = np.int64(0)
        elif trail.left[depth - 1] > 0:
            trail.left[depth - 1] -= 1
            node = np.int64(trail.node[depth - 1])
        else:  # a name in a dictionary, or its end
            if at >= size:
                return np.int64(BROKEN), used
            letter = np.int64(text[at])
            flagged, letter = letter & _FLAG, letter & 0x7F
            if letter == _NULL:
                at += 1
                if trail.node[depth - 1] >= 0:
                    objects -= 1
                depth -= 1
                continue
            within = np.int64(trail.node[depth - 1])
            ref = np.int64(_NOWHERE)
            place = at + 1
            if letter == _REF:
                ref = _long(text, place)
                at += 5
                place = refs.place[ref] + 1
                letter = np.int64(text[place - 1]) & 0x7F
            elif flagged:
                ref = known
                refs.place[known] = at
                refs.parent[known] = _NOWHERE
                known += 1
            is_name = (
                letter == _SHORT or letter == _SHORT_KNOWN or letter == _ASCII or letter == _ASCII_KNOWN
                or letter == _UTF8 or letter == _UTF8_KNOWN
            )  # fmt: skip
            node = np.int64(_NOWHERE)
            if is_name:
                begin, length = _text_at(text, place, letter)
                if place == at + 1:
                    at = begin + length
                if within >= 0:
                    if ref >= 0 and refs.parent[ref] == within:
                        node = np.int64(refs.child[ref])
                    else:
                        node = child_of(plan, within, text, begin, length)
                        if ref >= 0:
                            refs.parent[ref], refs.child[ref] = within, node
                    if node >= 0:
                        if trail.seen[node] == row + 1:
                            state = np.int64(CAREFUL)
                        trail.seen[node] = row + 1
                    elif plan.strict:
                        state = np.int64(CAREFUL)
            elif letter == _INT or letter == _FLOAT or letter == _NONE or letter == _TRUE or letter == _FALSE:
                if place == at + 1:
                    at += 5 if letter == _INT else (9 if letter == _FLOAT else 1)
                if plan.strict:
                    state = np.int64(CAREFUL)
            else:
                return np.int64(BROKEN), used  # a tuple, say: nobody names an attribute so
        # -- the object
        if at >= size:
            return np.int64(BROKEN), used
        letter = np.int64(text[at])
        flagged, letter = letter & _FLAG, letter & 0x7F
        attribute = np.int64(plan.attribute[node]) if node >= 0 else np.int64(_NOWHERE)
        place = at + 1
        again = letter == _REF
        if again:
            ref = _long(text, place)
            at += 5
            place = refs.place[ref] + 1
            letter = np.int64(text[place - 1]) & 0x7F
        elif flagged:
            refs.place[known] = at
            refs.parent[known] = _NOWHERE
            known += 1
        kind, data, length = np.int64(_NOWHERE), np.int64(0), np.int64(0)
        past = place
        container = False
        if letter == _NONE:
            kind = np.int64(-2)
        elif letter == _TRUE or letter == _FALSE:
            kind, data = np.int64(TRUTH), np.int64(letter == _TRUE)
        elif letter == _INT:
            kind, data, past = np.int64(WHOLE), _long(text, place), place + 4
        elif letter == _FLOAT:
            kind, data, past = np.int64(REAL), np.int64(word_at(text, place)), place + 8
        elif letter == _LONG:
            digits = _long(text, place)
            many = -digits if digits < 0 else digits
            past = place + 4 + 2 * many
            if many <= 4 or (many == 5 and text[place + 12] < 8 and text[place + 13] == 0):
                kind = np.int64(WHOLE)
                for digit in range(many - 1, -1, -1):
                    data = (data << 15) | np.int64(word_at(text, place + 4 + 2 * digit) & np.uint64(0x7FFF))
                data = -data if digits < 0 else data
        elif (
            letter == _SHORT or letter == _SHORT_KNOWN or letter == _ASCII or letter == _ASCII_KNOWN
            or letter == _UTF8 or letter == _UTF8_KNOWN
        ):  # fmt: skip
            data, length = _text_at(text, place, letter)
            past = data + length
            unsure = letter == _UTF8 or letter == _UTF8_KNOWN
            if not unsure or attribute < 0 or _is_text(text, data, past):
                kind = np.int64(STRING)
        elif letter == _BYTES:
            past = place + 4 + _long(text, place)
        elif (
            letter == _DICT or letter == _LIST or letter == _TUPLE or letter == _SMALL_TUPLE or letter == _SET
            or letter == _FROZEN
        ):  # fmt: skip
            container = True
        else:
            return np.int64(BROKEN), used
        if not container:
            if depth == 0:
                state = np.int64(CAREFUL)  # an event that is none
            elif kind == -2:
                pass
            elif attribute >= 0 and kind >= 0:
                tokens.attribute[used], tokens.row[used], tokens.kind[used] = attribute, row, kind
                tokens.data[used], tokens.size[used] = data, length
                used += 1
            elif attribute >= 0 or (node >= 0 and plan.strict):
                state = np.int64(CAREFUL)
            if not again:
                at = past
            continue
        if again:
            if node >= 0:
                state = np.int64(CAREFUL)
            continue
        if depth == MOST_CONTAINERS:
            return np.int64(BROKEN), used
        within = np.int64(_NOWHERE)
        listed = depth > 0 and trail.left[depth - 1] >= 0
        if letter == _DICT:
            if node >= 0:
                if listed:
                    state = np.int64(CAREFUL)
                elif plan.inside[node]:
                    within = node
                    objects += 1
                    if objects > trail.most_objects:
                        state = np.int64(CAREFUL)
                elif plan.strict:
                    state = np.int64(CAREFUL)
            trail.left[depth] = -1
            at = place
        else:
            if node >= 0:
                if listed or depth == 0:
                    state = np.int64(CAREFUL)
                else:
                    within = node
            trail.left[depth] = np.int64(text[place]) if letter == _SMALL_TUPLE else _long(text, place)
            at = place + (1 if letter == _SMALL_TUPLE else 4)
        trail.node[depth] = within
        depth += 1
