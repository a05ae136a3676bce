"""How an expression is read, before any name is looked up."""

from __future__ import annotations

import pytest

from tamis.errors import LanguageError, LimitError
from tamis.language.grammar import MAX_DEPTH, Group, Not, Operand, parse_syntax
from tamis.language.grammar import Test as Leaf  # a name that pytest does not take for a class of tests
from tamis.language.tokens import MAX_CHARACTERS, tokenize
from tamis.model import Operator


def test_tokens_keep_their_columns() -> None:
    tokens = tokenize("price\n <=  'a''b'")

    assert [(token.kind, token.text, token.column) for token in tokens] == [
        ("word", "price", 1),
        ("operator", "<=", 8),
        ("string", "a'b", 12),
        ("end", "", 18),
    ]


def test_keywords_are_recognised_in_any_case_and_names_keep_theirs() -> None:
    assert [token.text for token in tokenize("Price iN (TRUE)")] == ["Price", "in", "(", "true", ")", ""]


@pytest.mark.parametrize(("spelt", "meant"), [("==", "="), ("<>", "!=")])
def test_second_spellings_of_operators_are_the_same_operators(spelt: str, meant: str) -> None:
    assert parse_syntax(f"a {spelt} 1") == Leaf("a", Operator(meant), (Operand("number", "1", 6),), 1)


def test_not_binds_tighter_than_and_which_binds_tighter_than_or() -> None:
    tree = parse_syntax("not a = 1 and b = 2 or c = 3")

    assert isinstance(tree, Group)
    assert not tree.every
    left, right = tree.parts
    assert isinstance(left, Group)
    assert left.every
    assert isinstance(left.parts[0], Not)
    assert isinstance(right, Leaf)


def test_parentheses_leave_no_trace_but_the_tree() -> None:
    bare, wrapped = parse_syntax("a = 1 and b = 2"), parse_syntax("((a = 1) and (b = 2))")

    assert isinstance(bare, Group)
    assert isinstance(wrapped, Group)
    assert [type(part) for part in wrapped.parts] == [type(part) for part in bare.parts]


def test_the_and_of_between_is_its_own() -> None:
    tree = parse_syntax("a between 1 and 2 and b = 3")

    assert isinstance(tree, Group)
    assert [type(part) for part in tree.parts] == [Group, Leaf]


def test_negated_words_are_the_negation_of_the_test() -> None:
    assert parse_syntax("a not in (1)") == Not(Leaf("a", Operator.IN, (Operand("number", "1", 11),), 1))


def test_timestamp_is_a_keyword_only_before_a_quoted_text() -> None:
    literal = parse_syntax("timestamp = TIMESTAMP '2024-05-31'")
    word = parse_syntax("timestamp = timestamp")

    assert literal == Leaf("timestamp", Operator.EQ, (Operand("timestamp", "2024-05-31", 23),), 1)
    assert word == Leaf("timestamp", Operator.EQ, (Operand("word", "timestamp", 13),), 1)


def test_a_mistake_shows_a_caret_under_its_column() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_syntax("price < 10 and\tquantity ! 3")

    line, caret = caught.value.pointer().splitlines()
    assert line == "price < 10 and quantity ! 3"
    assert caret.index("^") == line.index("!")


def test_a_caret_stays_in_sight_far_into_a_long_expression() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_syntax("a = 1 and " * 1000 + "?")

    line, caret = caught.value.pointer().splitlines()
    assert len(line) <= 100
    assert line[caret.index("^")] == "?"


@pytest.mark.parametrize("opener", ["(", "not ", "not ("])
def test_absurd_nesting_is_refused(opener: str) -> None:
    with pytest.raises(LimitError, match=f"at most {MAX_DEPTH} levels") as caught:
        parse_syntax(opener * 10_000)

    assert caught.value.limit == MAX_DEPTH


def test_nesting_up_to_the_limit_is_read() -> None:
    assert parse_syntax("(" * MAX_DEPTH + "a = 1" + ")" * MAX_DEPTH)


def test_a_megabyte_of_expression_is_refused_by_its_length() -> None:
    with pytest.raises(LimitError, match=r"at most 65,536 characters, found 1,048,576") as caught:
        parse_syntax("x" * 2**20)

    assert (caught.value.limit, caught.value.found) == (MAX_CHARACTERS, 2**20)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("", 1, "found the end"),
        ("   ", 4, "found the end"),
        ("a", 2, "expected an operator, found the end"),
        ("a = ", 5, "expected a constant or an attribute, found the end"),
        ("a = 1 b = 2", 7, "expected 'and', 'or' or the end, found 'b'"),
        ("(a = red oak)", 10, "a date or a constant of several words goes in single quotes"),
        ("a = 1 or", 9, "found the end"),
        ("a = (1)", 5, "found '('"),
        ('"" = 1', 1, "expected an attribute's name between the quotes, found nothing"),
        ('a = ""', 5, "expected an attribute's name between the quotes, found nothing"),
        ("a in 1", 6, "expected '(' and a list of constants, found '1'"),
        ("a in (1 2)", 9, "expected ',' or ')', found '2'"),
        ("a starts 'x'", 10, "expected 'with', found 'x'"),
        ("a between 1 or 2", 13, "expected 'and' and the upper bound, found 'or'"),
        (
            "a not = 1",
            7,
            "expected 'in', 'between', 'starts with', 'ends with', 'includes', 'like' or 'contains', found '='",
        ),
        ("a =< 1", 3, "write <="),
        ("a startswith 'x'", 3, "did you mean 'starts with'?"),
        ("a | b", 3, "write 'or'"),
        ("!a = 1", 1, "write 'not'"),
        ("a in [1]", 6, "a list goes in parentheses"),
        ("a = 'it's'", 10, "never closed"),
        ("a = 12abc", 5, "expected a number, found '12abc'"),
        ("a = \ud800", 5, "found the lone surrogate U+D800"),
        ("a = " + "9" * 5000, 5, "at most 4,000 digits, found 5,000"),
        ("not", 4, "found the end"),
        ("and", 1, 'an attribute of this name goes in double quotes: "and"'),
    ],
)
def test_a_mistake_points_at_its_column(text: str, column: int, part: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_syntax(text)

    assert caught.value.column == column
    assert caught.value.text == text
    assert part in str(caught.value)


def test_an_expression_that_is_no_text_is_refused() -> None:
    with pytest.raises(LanguageError, match="expected an expression as text, found nothing"):
        parse_syntax(None)  # type: ignore[arg-type]
