"""What whoever reads a segment's arrays trusts, array by array, and whether it is so.

Kernels look up without looking where: an offset, a code or a row that is out of range makes them read foreign memory,
and a count that does not fit what is listed makes them write there. Each array therefore has a rule. Whoever alters a
file and sums it anew can make it lie about what matches; as long as the rules hold, it is read within its bounds, in a
time and a memory that its size bounds.

`RULES` is the list: for each array its type, how many elements it has, and what the readers trust. An array without a
rule is in no file (`expected`), and a file with such an array is not opened. Strings have three arrays, see `_Text`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.kernels.segments.blocks import MEMBERS, WORDS
from tamis.kernels.segments.checking import Index, count_listed, never_falls
from tamis.model import Kind
from tamis.model.caching import cached_property
from tamis.model.values import exact
from tamis.segments.compile.layout import MOST_LAYERS

__all__ = ["RULES", "Broken", "Rule", "check_arrays", "exact_numbers", "expected", "strings_at"]

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Longs = npt.NDArray[np.int64]

_MOST_SEQUENCE = 1 << 62
"""Numbers in the order of subscribing go on from the largest: there must be room for more."""
_MOST_BITS = 31
_MARKED = r"^(?:s|i(?:0|-?[1-9][0-9]{0,19})$)"
"""Ids of both kinds in one column: a mark, then a text or a whole number."""


class Broken(ValueError):
    """What is wrong with a file whose sums fit."""


class Facts:
    """The arrays and the header of a file, and what follows from the lengths of the former."""

    def __init__(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.header = header
        self.arrays = arrays
        self.rows: int = header["rows"]
        self.width = max(len(header["attributes"]) + len(header["truths"]), 1)
        self.single: int = header["single_blocks"]
        self.blocks = self._length("block_sizes")
        self.entries = self._length("blocks.column")
        self.bases = self._length("blocks.base_code")
        self.toggles = self._length("blocks.toggle_code")
        self.accesses = self._length("clusters.hashed")
        self.access_columns = self._length("clusters.column")
        self.members = self._length("clusters.key")
        self.intervals = self._length("clusters.rest_slot")
        self.slots = self._length("slot_column")
        self.indexed = self._length("hashes")
        self.words = (self.blocks - self.single) * WORDS

    def _length(self, name: str) -> int:
        return len(self.arrays[name])

    # What follows from arrays whose own rules were found to hold; the order of `RULES` sees to that.

    @cached_property
    def padded(self) -> Longs:
        """Rows of the single blocks: each has whole words."""
        sizes = self.arrays["block_sizes"][: self.single].astype(np.int64)
        return -(-sizes // 64) * 64

    @cached_property
    def word_members(self) -> Longs:
        """Of each word of the other blocks, how many members it has."""
        sizes = self.arrays["block_sizes"][self.single :].astype(np.int64)
        return np.clip(sizes[:, None] - 64 * np.arange(WORDS), 0, 64).reshape(-1)

    @cached_property
    def layers(self) -> Longs:
        return self.arrays["places.word_layers"].astype(np.int64)

    @cached_property
    def loose_members(self) -> Longs:
        """The same of words without layers, 0 for those with."""
        return np.where(self.layers == 0, self.word_members, 0)

    @cached_property
    def first_loose(self) -> int:
        """The row after all layers."""
        return int(self.padded.sum()) + 64 * int(self.layers.sum())

    @cached_property
    def buckets(self) -> Longs:
        """Entries in `bucket` of each access."""
        return (np.int64(1) << self.arrays["clusters.bucket_bits"].astype(np.int64)) + 1

    @cached_property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Of each row."""
        bits = np.unpackbits(self.arrays["places.alive"].view(np.uint8), count=self.rows, bitorder="little")
        return bits.view(np.bool_)


class Rule(NamedTuple):
    """The type of an array, how long it is, what readers trust, and whether that is so."""

    of: type
    length: Callable[[Facts], int]
    trusts: str
    holds: Callable[[Facts, Array], Any]


# -- what holds ---------------------------------------------------------------------------------------------------


def _anything(_: Facts, array: Array) -> bool:
    return True


def _flags(_: Facts, array: Array) -> bool:
    return _within(array.view(np.uint8), 0, 1)


def _within(array: Array, least: int, most: int) -> bool:
    return not len(array) or bool(least <= array.min() and array.max() <= most)


def _rising(array: Array) -> bool:
    return never_falls(array)


def _from_to(array: Array, first: int, last: int) -> bool:
    """Offsets: from `first` on, never falling, up to `last`."""
    return bool(array[0] == first and array[-1] == last) and _rising(array)


def _block_sizes(_: Facts, array: Array) -> bool:
    return _within(array, 1, MEMBERS)


def _columns(facts: Facts, array: Array) -> bool:
    return _within(array, 0, facts.width - 1)


def _base_start(facts: Facts, array: Array) -> bool:
    return _from_to(array, 0, facts.bases) and bool((array[1:] > array[:-1]).all())


def _base_code(facts: Facts, array: Array) -> bool:
    starts = facts.arrays["blocks.base_start"][:-1]
    follows = array[1:] >= array[:-1]
    follows[starts[1:] - 1] = True
    return bool((array[starts] == 0).all() and follows.all())


def _base_end(facts: Facts, array: Array) -> bool:
    first = facts.arrays["blocks.base_toggle"]
    edges = np.empty(2 * len(array) + 2, np.int64)
    edges[0], edges[-1], edges[1:-1:2], edges[2:-1:2] = 0, facts.toggles, first, array
    return _rising(edges)


def _block_row(facts: Facts, array: Array) -> bool:
    return bool((array == np.cumsum(facts.padded) - facts.padded).all())


def _word_at(facts: Facts, array: Array) -> bool:
    layers, members = facts.layers, facts.loose_members
    in_layers = int(facts.padded.sum()) + 64 * (np.cumsum(layers) - layers)
    return bool((array == np.where(layers > 0, in_layers, np.cumsum(members) - members)).all())


def _group_start(facts: Facts, array: Array) -> bool:
    return bool(array[0] == facts.first_loose and array[-1] <= facts.rows) and _rising(array)


def _member_row(facts: Facts, array: Array) -> bool:
    """Behind them are rows that nothing finds: of subscriptions that never match, and of others that cannot yet."""
    first, last = facts.arrays["places.group_start"][-1], facts.rows - facts.header["never"]
    return bool(array[0] == first and array[-1] <= last) and _rising(array)


def _alive(facts: Facts, array: Array) -> bool:
    past = np.unpackbits(array[facts.rows // 64 :].view(np.uint8), bitorder="little")[facts.rows % 64 :]
    if past.any():
        return False
    if facts.header["any_dead"]:
        return True
    return bool(
        facts.alive[facts.first_loose :].all() and (array[: facts.padded.sum() // 64] == _all_members(facts)).all()
    )


def _all_members(facts: Facts) -> npt.NDArray[np.uint64]:
    """The words of the single blocks with a one for each member."""
    sizes, ends = facts.arrays["block_sizes"][: facts.single].astype(np.int64), np.cumsum(facts.padded) // 64
    words = np.full(int(facts.padded.sum()) // 64, 0xFFFFFFFFFFFFFFFF, np.uint64)
    partial = sizes % 64 > 0
    words[ends[partial] - 1] = (np.uint64(1) << (sizes[partial] % 64).astype(np.uint64)) - np.uint64(1)
    return words


def _shift(_: Facts, array: Array) -> bool:
    return _within(array, 0, 63 * 256 + 63) and _within(array & 255, 0, 63)


def _bucket_start(facts: Facts, array: Array) -> bool:
    return bool((array == np.cumsum(facts.buckets) - facts.buckets).all())


def _bucket(facts: Facts, array: Array) -> bool:
    return _within(array, 0, facts.members) and _rising(array)


def _rest_slot(facts: Facts, array: Array) -> bool:
    return _within(array, 0, facts.slots - 1)


def _canon(facts: Facts, array: Array) -> bool:
    return _within(array, 0, facts.rows - 1) and bool((array[array] == array).all())


# -- the list -----------------------------------------------------------------------------------------------------

_COLUMN = "a column of events"
_OFFSETS = "offsets: from 0 on, never falling, up to the end of what they point into"
_ANY = "nothing: it is compared, and leads nowhere"
_FLAG = "0 or 1"

RULES: dict[str, Rule] = {
    "block_sizes": Rule(np.int32, lambda f: f.blocks, "1 to 4,096 members", _block_sizes),
    "blocks.start": Rule(np.int32, lambda f: f.blocks + 1, _OFFSETS, lambda f, a: _from_to(a, 0, f.entries)),
    "blocks.column": Rule(np.int32, lambda f: f.entries, _COLUMN, _columns),
    "blocks.mode": Rule(np.uint8, lambda f: f.entries, _FLAG, _flags),
    "blocks.needed": Rule(np.uint8, lambda f: f.entries, _FLAG, _flags),
    "blocks.base_start": Rule(np.int32, lambda f: f.entries + 1, "offsets; an entry has a base", _base_start),
    "blocks.base_code": Rule(np.int32, lambda f: f.bases, "0 first, then rising, entry by entry", _base_code),
    "blocks.base_toggle": Rule(np.int32, lambda f: f.bases, "see base_end", _anything),
    "blocks.base_end": Rule(np.int32, lambda f: f.bases, "base by base, toggles one after another", _base_end),
    "blocks.bits": Rule(np.uint64, lambda f: f.bases * WORDS, "nothing: held against a bitmap of members", _anything),
    "blocks.toggle_code": Rule(np.int32, lambda f: f.toggles, _ANY, _anything),
    "blocks.toggle_bit": Rule(
        np.uint16, lambda f: f.toggles, "a member's bit", lambda _, a: _within(a, 0, MEMBERS - 1)
    ),
    "places.block_row": Rule(np.int32, lambda f: f.single, "blocks in whole words one after another", _block_row),
    "places.word_layers": Rule(np.int32, lambda f: f.words, "0 to 16", lambda _, a: _within(a, 0, MOST_LAYERS)),
    "places.word_at": Rule(np.int32, lambda f: f.words, "words one after another", _word_at),
    "places.group_start": Rule(
        np.int32, lambda f: int(f.loose_members.sum()) + 1, "rows, from behind the layers on, never falling",
        _group_start,
    ),
    "places.member_row": Rule(
        np.int32, lambda f: f.members + 1, "rows, from behind the groups on, never falling", _member_row
    ),
    "places.alive": Rule(
        np.uint64, lambda f: f.rows // 64 + 1 + WORDS,
        "no ones past the rows; while nobody is dead, all ones where it is not looked at", _alive,
    ),
    "clusters.column_start": Rule(
        np.int32, lambda f: f.accesses + 1, _OFFSETS, lambda f, a: _from_to(a, 0, f.access_columns)
    ),
    "clusters.column": Rule(np.int32, lambda f: f.access_columns, _COLUMN, _columns),
    "clusters.shift": Rule(np.int32, lambda f: f.access_columns, "two numbers of bits, below 64 each", _shift),
    "clusters.hashed": Rule(np.uint8, lambda f: f.accesses, _FLAG, _flags),
    "clusters.bucket_bits": Rule(
        np.int32, lambda f: f.accesses, "0 to 31", lambda _, a: _within(a, 0, _MOST_BITS)
    ),
    "clusters.bucket_start": Rule(np.int32, lambda f: f.accesses, "buckets one access after another", _bucket_start),
    "clusters.bucket": Rule(np.int32, lambda f: int(f.buckets.sum()), "members, never falling", _bucket),
    "clusters.key": Rule(np.uint64, lambda f: f.members, _ANY, _anything),
    "clusters.rest_start": Rule(
        np.int32, lambda f: f.members + 1, _OFFSETS, lambda f, a: _from_to(a, 0, f.intervals)
    ),
    "clusters.rest_slot": Rule(np.int32, lambda f: f.intervals, "a slot", _rest_slot),
    "clusters.rest_low": Rule(np.int32, lambda f: f.intervals, _ANY, _anything),
    "clusters.rest_high": Rule(np.int32, lambda f: f.intervals, _ANY, _anything),
    "clusters.slot_column": Rule(np.int32, lambda f: f.slots, _COLUMN, _columns),
    "clusters.slot_mode": Rule(np.uint8, lambda f: f.slots, _FLAG, _flags),
    "slot_column": Rule(np.int32, lambda f: f.slots, _COLUMN, _columns),
    "slot_mode": Rule(np.uint8, lambda f: f.slots, _FLAG, _flags),
    "linked": Rule(np.bool_, lambda f: f.rows, _FLAG, _flags),
    "sequence": Rule(
        np.int64, lambda f: f.rows, "numbers from 0 on", lambda _, a: _within(a, 0, _MOST_SEQUENCE)
    ),
    "canon": Rule(np.int32, lambda f: f.rows, "a row that is its own canon", _canon),
    "hashes": Rule(np.uint64, lambda f: f.indexed, "never falling", lambda _, a: _rising(a)),
    "hash_rows": Rule(np.int32, lambda f: f.indexed, "see `_check_index`", _anything),
}  # fmt: skip
"""In an order in which a rule may trust in those before it."""


# -- strings ------------------------------------------------------------------------------------------------------


class _Text(NamedTuple):
    """A column of strings: `starts` are offsets into `bytes`, and `valid` has a bit for each."""

    starts: Array
    bytes: Array
    valid: Array


def strings_at(arrays: Arrays, name: str) -> pa.Array:
    """The column of strings of that name, as it lies in the file."""
    text = _Text(*(arrays[f"{name}.{part}"] for part in _Text._fields))
    starts, letters, valid = map(pa.py_buffer, text)
    return pa.LargeStringArray.from_buffers(len(text.starts) - 1, starts, letters, valid)


def _check_strings(arrays: Arrays, name: str, count: int | None = None) -> None:
    """That so many strings lie one after another and are text, those that are null as well."""
    starts, letters, valid = text = _Text(*(arrays[f"{name}.{part}"] for part in _Text._fields))
    types = [array.dtype for array in text] == [np.int64, np.uint8, np.uint8]
    length = len(starts) - 1
    if not types or length < 0 or count not in (None, length) or len(valid) != -(-length // 8):
        raise Broken(f"the strings of {name!r} are not as many as they must be")
    if not _from_to(starts, 0, len(letters)):
        raise Broken(f"the strings of {name!r} do not lie one after another")
    if not _is_text(starts, letters):
        raise Broken(f"the strings of {name!r} are not all text")


def _all_there(arrays: Arrays, name: str) -> bool:
    """Whether none is null."""
    _check_strings(arrays, name)
    return bool(
        np.unpackbits(arrays[f"{name}.valid"], count=len(arrays[f"{name}.starts"]) - 1, bitorder="little").all()
    )


def _is_text(starts: Array, letters: Array) -> bool:
    """Whether all bytes together are UTF-8, and no string begins within a character: quicker than one by one."""
    if letters.max(initial=0) < 0x80:
        return True
    ends = pa.array([0, len(letters)], pa.int64()).buffers()[1]
    try:
        pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(letters)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    begins = starts[starts < len(letters)]
    return bool((letters[begins] & 0xC0 != 0x80).all())


def _check_constants(arrays: Arrays, name: str, kind: int) -> None:
    """Numbers rise, each once: they are looked up by the first and the last. Strings are found by hash or by halving,
    which at worst finds the wrong one."""
    if kind == Kind.STRING:
        good = _all_there(arrays, name)
    elif f"{name}.exact.starts" in arrays:
        listed = exact_numbers(arrays, name) if _all_there(arrays, f"{name}.exact") else [1, 1]
        good = all(one < other for one, other in pairwise(listed))
    else:
        array = arrays[name]
        allowed = (np.int64, np.float64) if kind == Kind.NUMBER else (np.int64,)
        good = array.dtype in allowed and bool(np.isfinite(array).all() and (array[1:] > array[:-1]).all())
    if not good:
        raise Broken(f"the constants of {name!r} are not all there, or not in order")


def exact_numbers(arrays: Arrays, name: str) -> list[int | float]:
    """Constants that no array of numbers holds."""
    return [_exact(text) for text in strings_at(arrays, f"{name}.exact").to_pylist()]


def _exact(text: str) -> int | float:
    try:
        found = exact(int(text[1:])) if text[:1] == "i" else float.fromhex(text[1:])
    except (OverflowError, ValueError):
        raise Broken(f"{text[:40]!r} is no number") from None
    if isinstance(found, float) and not np.isfinite(found):
        raise Broken(f"{text!r} is no number")
    return found


# -- all of it ----------------------------------------------------------------------------------------------------


def expected(header: Mapping[str, Any], arrays: Arrays) -> set[str]:
    """The names that a file with this header has; some things are stored in one of two ways."""
    found = RULES.keys() - {"canon"} | ({"canon"} & arrays.keys()) | _parts("texts")
    found |= {"ids"} if "ids" in arrays else _parts("ids")
    for name, kind in _constants(header):
        exact = f"{name}.exact.starts" in arrays
        found |= _parts(name) if kind == Kind.STRING else _parts(f"{name}.exact") if exact else {name}
    return found


def _parts(name: str) -> set[str]:
    return {f"{name}.{part}" for part in _Text._fields}


def _constants(header: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The name and the kind of all constants' arrays."""
    return [
        (f"attribute.{at}.{kind}", int(kind)) for at, one in enumerate(header["attributes"]) for kind in one["kinds"]
    ]


def check_arrays(header: Mapping[str, Any], arrays: Arrays) -> None:
    """Every rule, or `Broken`; the header was checked already and the names are those expected."""
    facts = Facts(header, arrays)
    if not 0 <= facts.single <= facts.blocks:
        raise Broken(f"{facts.single} of {facts.blocks} blocks are single ones")
    for name in RULES.keys() & arrays.keys():
        if arrays[name].dtype != RULES[name].of:
            raise Broken(f"the array {name!r} is of another type")
    for name, rule in RULES.items():
        if name in arrays:
            array = arrays[name]
            if len(array) != rule.length(facts) or not rule.holds(facts, array):
                raise Broken(f"the array {name!r} is not what it must be: {rule.trusts}")
    _check_strings(arrays, "texts", facts.rows)
    _check_index(facts, _check_ids(facts))
    for name, kind in _constants(header):
        _check_constants(arrays, name, kind)


def _check_ids(facts: Facts) -> npt.NDArray[np.uint8]:
    """That there is one for each row; the bits of those that are not null."""
    marked, arrays = facts.header["marked"], facts.arrays
    if "ids" in arrays:
        if arrays["ids"].dtype != np.int64 or len(arrays["ids"]) != facts.rows or marked:
            raise Broken("the ids are not one for each row")
        return np.empty(0, np.uint8)
    _check_strings(arrays, "ids", facts.rows)
    if marked and not pc.all(pc.match_substring_regex(strings_at(arrays, "ids"), _MARKED), min_count=0).as_py():
        raise Broken("an id is neither a string nor a whole number")
    return arrays["ids.valid"]


def _check_index(facts: Facts, ids: npt.NDArray[np.uint8]) -> None:
    """The index of ids lists first rows, each once, with an id and a text: all the living, and as many dead as the
    header says. So whatever matches has an id."""
    arrays = facts.arrays
    alive = arrays["places.alive"].view(np.uint8)
    canon = arrays.get("canon", np.empty(0, np.int32))
    index = Index(arrays["hash_rows"], alive, arrays["texts.valid"], ids, canon)
    living = count_listed(index, np.zeros(facts.rows, np.uint8))
    if living < 0 or facts.indexed - living != facts.header["dead"]:
        raise Broken("the index of ids lists others than the segment's subscriptions, or not all")
