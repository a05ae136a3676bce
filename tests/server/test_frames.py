"""Frames that the server writes are read by the client, whatever pieces they arrive in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tamis.client.frames import Frame, Frames
from tamis.server.frames import comment, frame, mark, retry

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=20)
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)


@given(st.lists(st.tuples(TEXTS, IDS)), st.randoms(use_true_random=False))
def test_frames_are_read_as_they_were_written_in_any_pieces(told: list[tuple[str, str]], random: object) -> None:
    written = b"".join(frame("notification", data.encode(), id) for data, id in told)
    cuts = sorted(random.randrange(len(written) + 1) for _ in range(5))  # type: ignore[attr-defined]
    frames = Frames()

    pieces = [written[first:last] for first, last in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    found = [one for piece in pieces for one in frames.feed(piece)]

    assert found == [Frame("notification", data, id) for data, id in told]


def test_a_frame_without_data_moves_the_place_and_says_nothing_else() -> None:
    frames = Frames()

    found = list(frames.feed(retry(5) + mark("7@ann") + comment("still here")))

    assert [(one.event, one.data) for one in found] == [("message", "")] * 3
    assert frames.id == "7@ann"


def test_line_ends_of_all_three_sorts_are_known_and_no_others() -> None:
    frames = Frames()

    found = list(frames.feed("data: a\u2028b\r\ndata: c\rid: 3\n\r\n".encode()))

    assert found == [Frame("message", "a\u2028b\nc", "3")]


def test_a_new_connection_begins_a_new_frame_and_keeps_the_place() -> None:
    frames = Frames()
    assert list(frames.feed(b"id: 3\n\ndata: half")) == [Frame("message", "", "3")]

    frames.restart()

    assert list(frames.feed(b"data: whole\n\n")) == [Frame("message", "whole", "3")]
