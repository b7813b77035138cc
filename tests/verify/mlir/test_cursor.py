import pytest

from algebra.errors import ParseError
from verify.mlir.cursor import MAX_DEPTH, Cursor


def test_a_bracketed_piece_is_returned_whole() -> None:
    cursor = Cursor("<{a = [1, 2], b = <3>}> rest")
    assert cursor.raw("<", ">").startswith("<{a")
    assert cursor.at("rest")


def test_a_bracket_that_is_not_closed_is_named() -> None:
    with pytest.raises(ParseError, match="expected '>'"):
        Cursor("<a").raw("<", ">")


def test_the_end_is_never_passed() -> None:
    cursor = Cursor("a")
    cursor.take()
    assert cursor.take().kind == cursor.take().kind == "end"


def test_brackets_have_a_limit() -> None:
    cursor = Cursor("a")
    cursor.depth = MAX_DEPTH
    with pytest.raises(ParseError, match="levels of brackets"), cursor.deeper():
        pass
