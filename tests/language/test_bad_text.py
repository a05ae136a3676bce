"""Whatever the text, reading it returns or raises a TamisError."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.errors import LanguageError, TamisError
from tamis.language import parse
from tamis.model import Schema
from tamis.model.values import ValueRefused
from tests.strategies import Dice, expressions, make_schema

_WORDS = (
    *("a", "price", "event_type", "and", "or", "not", "in", "between", "is", "missing", "present", "starts", "with"),
    *("contains", "true", "false", "timestamp", "=", "==", "!=", "<>", "<", "<=", ">", ">=", "(", ")", ",", "@", "@a"),
    *("'", "''", '"', "`", '"a"', "'x'", "'2024-05-31'", "1", "-1", ".5", "5.", "1e9", "1e999", "٣", "²"),
    *("#", "&", "!", "\\", "\x00", "é", "\ud800"),
)


def _read(text: str, schema: Schema) -> None:
    """Anything but a TamisError, or one that is internal and names no place, fails the test."""
    try:
        parse(text, schema)
    except LanguageError as error:
        if not (1 <= error.column <= len(text) + 1 and error.pointer()):
            raise AssertionError(f"column {error.column} is not in the text") from error
    except ValueRefused as error:
        raise AssertionError("an internal error came out") from error
    except TamisError:
        pass


@given(st.text(alphabet=st.characters(exclude_categories=())), st.booleans())
@settings(max_examples=300, deadline=None)
@example("\ud800", True)
@example("a = '\udfff'", True)
@example("((((", True)
@example("a = 99999999999999999999999999999999e9999", True)
@example("ﬁ = 1 ANd ǅ = 2", True)
def test_any_text_is_read_or_refused(text: str, is_open: bool) -> None:
    _read(text, Schema(open=is_open))


@given(st.lists(st.sampled_from(_WORDS), max_size=12), st.sampled_from([" ", ""]), st.booleans())
@settings(max_examples=500, deadline=None)
def test_any_heap_of_words_is_read_or_refused(words: list[str], between: str, is_open: bool) -> None:
    _read(between.join(words), Schema(open=is_open))


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_an_expression_with_a_piece_cut_out_is_read_or_refused(data: st.DataObject) -> None:
    schema = make_schema(Dice(lambda sides: data.draw(st.integers(0, sides - 1))))
    text = data.draw(expressions(schema))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    _read(text[:start] + text[end:], schema)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_an_expression_made_for_another_schema_is_read_or_refused(data: st.DataObject) -> None:
    dice = Dice(lambda sides: data.draw(st.integers(0, sides - 1)))
    mine, other = make_schema(dice), make_schema(dice)

    _read(data.draw(expressions(other)), mine)
