"""The grammar of attributes, without any knowledge of encodings."""

import pytest

from algebra.errors import ParseError
from algebra.ttgir.reader import (
    MAX_DEPTH,
    MAX_DIGITS,
    PADDINGS,
    Attribute,
    read_attributes,
)


def plain(value: object) -> object:
    """Return a value without its tokens."""
    if isinstance(value, Attribute):
        return (value.token.text, {n: plain(f.value) for n, f in value.fields.items()})
    if isinstance(value, dict):
        return {name: plain(field.value) for name, field in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a.b", ("#a.b", {})),
        ("#a.b<>", ("#a.b", {})),
        ("#a.b<{}>", ("#a.b", {})),
        ("#a.b<x = 1>", ("#a.b", {"x": 1})),
        ("#a.b<{x = -1, y = true}>", ("#a.b", {"x": -1, "y": True})),
        ("#a.b<{x = []}, y = false>", ("#a.b", {"x": [], "y": False})),
        ("#a.b<{x = [[1, 2], []]}>", ("#a.b", {"x": [[1, 2], []]})),
        ("#a.b<{x = {y = [1]}}>", ("#a.b", {"x": {"y": [1]}})),
        ("#a.b<{x = #c.d<y = 2>}>", ("#a.b", {"x": ("#c.d", {"y": 2})})),
        ("#a.b<[32:+4] {x = 1}>", ("#a.b", {PADDINGS: [(32, 4)], "x": 1})),
        ("#a.b<[1:+2, 4:+8]>", ("#a.b", {PADDINGS: [(1, 2), (4, 8)]})),
    ],
)
def test_values(text: str, expected: object) -> None:
    (attribute,) = read_attributes(text)
    assert plain(attribute) == expected
    assert attribute.has_body == ("<" in text)


def test_aliases_stand_for_what_they_name() -> None:
    text = "#x = #a.b<n = 1>\n#y = #a.c<{p = #x}>\n#y1 = #y"
    assert [plain(a) for a in read_attributes(text)] == [
        ("#a.b", {"n": 1}),
        ("#a.c", {"p": ("#a.b", {"n": 1})}),
        ("#a.c", {"p": ("#a.b", {"n": 1})}),
    ]


def test_a_dump_is_read_up_to_its_first_operation() -> None:
    text = """
    // -----// IR Dump Before Something //----- //
    #x = #a.b<n = 1>
    #loc = loc("k.py":1:0)
    #loc1 = loc("f"(#loc))
    #loc2 = loc(unknown)
    #y = #a.b<n = 2>
    module attributes {"ttg.num-warps" = 4 : i32} {
      %0 = tt.load %arg0 : tensor<4x!tt.ptr<f32>, #x> loc(#loc1)
    }
    #loc3 = loc(
    """
    assert [plain(a) for a in read_attributes(text)] == [
        ("#a.b", {"n": 1}),
        ("#a.b", {"n": 2}),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "expected", "came"),
    [
        ("blocked", 1, 1, "an attribute such as #ttg.blocked<{...}>", "'blocked'"),
        ("#a.b 7", 1, 6, "an attribute such as #ttg.blocked<{...}>", "'7'"),
        ("#x", 1, 1, "an alias that is defined above", "'#x'"),
        ("#x = loc(1)\n#x", 2, 1, "an alias that is defined above", "'#x'"),
        ("#x = 7", 1, 6, "an attribute such as #ttg.blocked<{...}>", "'7'"),
        ("#x = foo", 1, 6, "an attribute such as #ttg.blocked<{...}>", "'foo'"),
        ("#x = #a.b\n#x = #a.b", 2, 1, "each alias defined once", "'#x'"),
        ("#x = loc(1", 1, 11, "')'", "end of text"),
        ("#a.b<x = 1", 1, 11, "',' or '>'", "end of text"),
        ("#a.b<x 1>", 1, 8, "'='", "'1'"),
        ("#a.b<x = >", 1, 10, "an integer, true, false, [...], {...} or #...", "'>'"),
        ("#a.b<x = y>", 1, 10, "an integer, true, false, [...], {...} or #...", "'y'"),
        ("#a.b<1>", 1, 6, "a parameter name", "'1'"),
        ("#a.b<x = 1, >", 1, 13, "another entry after ','", "'>'"),
        ("#a.b<x = 1 y = 2>", 1, 12, "',' or '>'", "'y'"),
        ("#a.b<x = [1 2]>", 1, 13, "',' or ']'", "'2'"),
        ("#a.b<x = 1, x = 2>", 1, 13, "each parameter once", "'x'"),
        ("#a.b<[4]>", 1, 8, "':'", "']'"),
        ("#a.b<[4:2]>", 1, 9, "'+'", "'2'"),
        ("#a.b<[x]>", 1, 7, "an interval, as in [32:+4]", "'x'"),
        ("#a.b<[4:+]>", 1, 10, "a padding, as in [32:+4]", "']'"),
    ],
)
def test_malformed(text: str, line: int, column: int, expected: str, came: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_attributes(text)
    assert caught.value.facts == {
        "line": line,
        "column": column,
        "expected": expected,
        "came": came,
    }


def test_an_unknown_alias_lists_the_known_ones() -> None:
    with pytest.raises(ParseError, match="defined above: #x; paste its line #y = "):
        read_attributes("#x = #a.b\n#y")


def test_nothing_is_found_in_nothing() -> None:
    assert read_attributes(" // nothing\n") == ()


@pytest.mark.parametrize("opening", ["#a.b<{x = ", "#a.b<{x = [[[[["])
def test_too_many_levels_of_brackets(opening: str) -> None:
    with pytest.raises(ParseError, match="levels of brackets"):
        read_attributes(opening + "[" * 100_000)
    with pytest.raises(ParseError, match="levels of brackets"):
        read_attributes("#a.b<{x = " * 100_000)


def test_levels_of_brackets_that_are_enough() -> None:
    lists = MAX_DEPTH - 2
    text = "#a.b<{x = " + "[" * lists + "]" * lists + "}>"
    assert len(read_attributes(text + text)) == 2


def test_digits() -> None:
    (attribute,) = read_attributes(f"#a.b<x = {'1' * MAX_DIGITS}>")
    assert attribute.fields["x"].value == int("1" * MAX_DIGITS)
    with pytest.raises(ParseError, match="an integer of at most"):
        read_attributes(f"#a.b<x = {'1' * 100_000}>")


def test_nothing_is_read_below_the_header_of_a_long_dump() -> None:
    text = "#x = #a.b<n = 1>\nmodule {" + "[" * 1_000_000
    assert len(read_attributes(text)) == 1
