import pytest

from tilewright.cli.failures import InputError, cannot, one_line


@pytest.mark.parametrize("text", ["a b", "a\nb", " a\t\r\n  b "])
def test_one_line(text: str) -> None:
    assert one_line(text) == "a b"


def test_an_error_without_words_names_its_kind() -> None:
    error = cannot("read", "x", OSError(), "try again")
    assert str(error) == "cannot read 'x': OSError; try again"
    assert isinstance(error, InputError)
    assert error.exit_code == 2


def test_an_error_without_a_number_says_what_it_says() -> None:
    error = cannot("write", "x", OSError("9 requested and 0 written"), "free some")
    assert str(error) == "cannot write 'x': 9 requested and 0 written; free some"
