"""All needles of a text, each once, by going through it once."""

from __future__ import annotations

import random

import numpy as np

from tamis.kernels.automaton import END, START, Found, automaton_of, search
from tamis.kernels.patterns import UNSURE, Programs, fit_pairs
from tamis.model.patterns import pattern

SEED = 17


def found(needles: list[bytes], texts: list[bytes], room: int = 1000) -> tuple[int, set[tuple[int, int]]]:
    ends = np.cumsum([0, *map(len, needles)])
    automaton = automaton_of(np.frombuffer(b"".join(needles), np.uint8), ends)
    out = Found(np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(len(needles), np.int64))
    letters = np.frombuffer(b"".join(texts) + b"\0", np.uint8)
    count = search(automaton, letters, np.cumsum([0, *map(len, texts)]), 1, out)
    kept = min(count, room)
    return count, set(zip(out.texts[:kept].tolist(), out.needles[:kept].tolist(), strict=True))


def test_a_text_has_the_needles_that_a_search_for_each_finds() -> None:
    dice = random.Random(SEED)
    for _ in range(300):
        needles = list({bytes(dice.choices(b"ab\xc3\xa9", k=dice.randint(1, 4))) for _ in range(dice.randint(1, 9))})
        texts = [bytes(dice.choices(b"ab\xc3\xa9", k=dice.randint(0, 12))) for _ in range(4)]

        count, pairs = found(needles, texts)

        assert pairs == {(i, j) for i, text in enumerate(texts) for j, one in enumerate(needles) if one in text}
        assert count == len(pairs)


def test_a_needle_with_a_mark_stands_at_that_end() -> None:
    start, end = bytes([START]), bytes([END])

    _, pairs = found([start + b"ab", b"ab" + end, start + b"ab" + end], [b"ab", b"abab", b"abc", b"cab", b""])

    assert pairs == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (3, 1)}


def test_what_has_no_room_is_counted_all_the_same() -> None:
    count, pairs = found([b"a", b"aa", b"aaa"], [b"aaaa", b"a"], room=2)

    assert count == 4
    assert len(pairs) == 2


def test_patterns_fit_bytes_as_they_fit_texts() -> None:
    dice = random.Random(SEED)
    texts = ["".join(dice.choices("abé😀", k=dice.randint(0, 8))) for _ in range(200)]
    tests = [pattern("".join(dice.choices("ab%_é😀", k=dice.randint(1, 6)))) for _ in range(200)]
    programs = [b"\xff".join(one.filled(b"\xfe") for one in test.stretches) for test in tests]
    held = Programs(np.frombuffer(b"".join(programs), np.uint8), np.cumsum([0, *map(len, programs)]))
    of, which = (side.ravel().astype(np.int32) for side in np.meshgrid(np.arange(200), np.arange(200)))
    letters = [text.encode() for text in texts]
    fits = np.empty(len(of), np.uint8)

    ends = np.cumsum([0, *map(len, letters)])
    fit_pairs(np.frombuffer(b"".join(letters) + b"\0", np.uint8), ends, of, which, held, fits)

    assert fits.tolist() == [tests[p].fits(texts[t]) for t, p in zip(of.tolist(), which.tolist(), strict=True)]


def test_what_is_too_long_is_left_to_others() -> None:
    held = Programs(np.frombuffer(b"a" * 2000, np.uint8), np.array([0, 2000]))
    fits = np.empty(1, np.uint8)

    fit_pairs(
        np.full(2000, 97, np.uint8), np.array([0, 2000]), np.zeros(1, np.int32), np.zeros(1, np.int32), held, fits
    )

    assert fits[0] == UNSURE
