"""Typed access to parameters: the right type, a default, or a located mistake."""

from collections.abc import Callable

import pytest

from algebra.encodings import Cga
from algebra.errors import EncodingError, ParseError
from algebra.ttgir.parameters import Parameters
from algebra.ttgir.reader import read_attributes


def parameters(fields: str) -> Parameters:
    (attribute,) = read_attributes(f"#ttg.x<{fields}>")
    return Parameters(attribute)


def test_each_type_is_returned() -> None:
    given = parameters(
        "[4:+2] {n = 7, f = false, v = [1, 0], m = [[1], []], p = #a.b, s = {n = 1}}"
    )
    assert given.integer("n") == 7
    assert given.flag("f") is False
    assert given.integers("v") == (1, 0)
    assert given.vectors("m") == ((1,), ())
    assert given.paddings() == ((4, 2),)
    assert given.attribute_of("p").kind == "b"
    assert given.nested("s").integer("n") == 1
    given.finish()


def test_defaults_stand_for_what_is_not_written() -> None:
    given = parameters("")
    assert given.integer("n", 3) == 3
    assert given.flag("f", True) is True
    assert given.vectors("m", required=False) == ()
    assert given.cga() == Cga()
    given.finish()


@pytest.mark.parametrize(
    ("fields", "read", "expected"),
    [
        ("n = true", lambda p: p.integer("n"), "an integer for n"),
        ("n = [1]", lambda p: p.integer("n"), "an integer for n"),
        ("n = 1", lambda p: p.flag("n"), "true or false for n"),
        ("n = 1", lambda p: p.integers("n"), "a list of integers for n"),
        ("n = [true]", lambda p: p.integers("n"), "a list of integers for n"),
        ("n = 1", lambda p: p.vectors("n"), "a list of lists of integers for n"),
        ("n = [1]", lambda p: p.vectors("n"), "a list of lists of integers for n"),
        ("n = 1", lambda p: p.nested("n"), "{...} for n"),
        ("n = 1", lambda p: p.attribute_of("n"), "an attribute or an alias for n"),
        ("n = 1", lambda p: p.paddings(), "paddings such as [32:+4]"),
        ("n = 1", lambda p: p.integer("m"), "a parameter m in #ttg.x<...>"),
        ("", lambda p: p.integer("m"), "came only: none; add m = ..."),
        ("n = 1", lambda p: p.finish(), "only known parameters of #ttg.x"),
        (
            "CTAsPerCGA = [1]",
            lambda p: p.cga(),
            "a parameter CTASplitNum in #ttg.x<...>",
        ),
    ],
)
def test_mistakes_are_located(
    fields: str, read: Callable[[Parameters], object], expected: str
) -> None:
    with pytest.raises(ParseError) as caught:
        read(parameters(fields))
    assert str(caught.value).startswith("line 1, column ")
    assert expected in str(caught.value)


def test_both_spellings_of_a_cluster() -> None:
    assert parameters("CGALayout = [[0, 1]]").cga() == Cga(bases=((0, 1),))
    lists = "CTAsPerCGA = [2, 2], CTASplitNum = [2, 1], CTAOrder = [1, 0]"
    assert parameters(lists).cga() == Cga(bases=((0, 0), (1, 0)))


def test_lists_of_a_cluster_that_contradict_each_other() -> None:
    lists = "CTAsPerCGA = [1, 2], CTASplitNum = [2, 1], CTAOrder = [1, 0]"
    with pytest.raises(EncodingError):
        parameters(lists).cga()


def test_the_name_of_an_unknown_parameter_is_located() -> None:
    given = parameters("n = 1,\n  m = 2")
    given.integer("n")
    with pytest.raises(ParseError, match=r"line 2, column 3: .*m is none of: n"):
        given.finish()
