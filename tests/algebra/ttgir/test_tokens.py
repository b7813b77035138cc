"""The tokenizer: every text can be cut, and each token knows where it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.ttgir.tokens import END, SHOWN, Token, complaint, scan, tokenize


@given(st.text(alphabet='#a.b_1 -2"<>[]{}(),=:+/@%\n\t\\é'))
def test_each_token_stands_where_it_says(text: str) -> None:
    lines = text.split("\n")
    for token in tokenize(text)[:-1]:
        start = token.column - 1
        assert lines[token.line - 1][start : start + len(token.text)] == token.text


@given(st.text())
def test_every_text_ends_with_an_end_token(text: str) -> None:
    tokens = tokenize(text)
    assert [token.kind for token in tokens].count("end") == 1
    assert tokens[-1].kind == "end"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#blocked", "hash"),
        ("#ttg.blocked", "hash"),
        ("sizePerThread", "word"),
        ("tt.func", "word"),
        ("-12", "number"),
        ('"a b"', "string"),
        (":", "punctuation"),
        ("%", "stray"),
        ("#", "stray"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert tokenize(text)[0] == Token(kind, text, 1, 1)


def test_comments_and_blanks_are_left_out() -> None:
    assert [t.text for t in tokenize(" // x\n1 // y")] == ["1", ""]


def test_the_empty_text_is_one_end_token() -> None:
    assert tokenize("") == (Token("end", "", 1, 1),)


def test_a_complaint_names_place_expectation_and_what_came() -> None:
    error = complaint(Token("word", "x", 3, 7), "','", "add it")
    assert str(error) == "line 3, column 7: expected ',', came 'x'; add it"
    assert error.facts == {"line": 3, "column": 7, "expected": "','", "came": "'x'"}
    assert complaint(tokenize("")[0], "','").facts["came"] == END


def test_only_what_is_asked_for_is_cut() -> None:
    tokens = scan("#a = " + "[" * 1_000_000)
    assert [next(tokens).text for _ in range(3)] == ["#a", "=", "["]


def test_a_long_token_is_shown_in_part() -> None:
    error = complaint(Token("word", "x" * 1_000_000, 1, 1), "','")
    assert "x" * SHOWN + "...'" in str(error)
    assert len(str(error)) < 200
