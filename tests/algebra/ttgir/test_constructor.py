"""The constructor's own spelling: parsed, never evaluated."""

import pytest

from algebra.encodings import Blocked, Slice, SwizzledShared
from algebra.errors import ParseError
from algebra.ttgir.constructor import parse_constructor

TEXT = (
    "Blocked(size_per_thread=(1, 8), threads_per_warp=[4, 8], "
    "warps_per_cta=(4, 1), order=[1, 0])"
)


def test_lists_and_tuples_nested_calls_and_blanks() -> None:
    blocked = parse_constructor(TEXT)
    assert isinstance(blocked, Blocked)
    text = f"\n  Slice(\n dim=0,\n parent={TEXT},\n)  "
    assert parse_constructor(text) == Slice(dim=0, parent=blocked)


def test_a_cluster() -> None:
    text = TEXT.replace("])", "], cga=Cga(bases=[[1, 0]]))")
    assert parse_constructor(text).cga.bases == ((1, 0),)


def test_strings_and_flags() -> None:
    text = "TensorMemoryScales(block_rep_order='k_then_mn')"
    assert repr(parse_constructor(text)).startswith("TensorMemoryScales(block_rep")
    text = "NvmmaShared(swizzle_byte_width=32, element_bit_width=16, transposed=True)"
    assert "transposed=True" in repr(parse_constructor(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a call such as Blocked(...)"),
        ("Blocked(", "a call such as Blocked(...)"),
        ("Blocked(\0)", "a call such as Blocked(...)"),
        ("7", "expected an encoding, came 7; wrap it in the call of an encoding"),
        ("Cga(bases=[])", "expected an encoding, came Cga(bases=[])"),
        ("Bloked(order=[1, 0])", "expected one of AmdMfma, AmdRotatingShared"),
        ("__import__('os')", "expected one of AmdMfma"),
        ("Slice(dim=1.5)", "expected an integer, True, False, a list or a call"),
        ("Slice(dim=-1)", "expected an integer, True, False, a list or a call"),
        ("Slice(dim=x)", "expected an integer, True, False, a list or a call"),
        ("Slice(dim={(): 1})", "names in quotes before each colon"),
        ("Slice(dim=0x)", "a call such as Blocked(...)"),
        ("Slice(dim=" + "(" * 1000, "a call such as Blocked(...)"),
        ("Slice(dim=" + "-" * 10_000 + "1)", "a call "),
        ("Slice" + ".x" * 900 + "()", "a call with fewer levels of brackets"),
        ("Slice(dim=" + "x" * 10_000 + ")", "came " + "x" * 60 + "..."),
        ("Slice(dim={**x})", "expected an integer, True, False, a list or a call"),
        ("Slice(**{'dim': 1})", "expected name=value, came {'dim': 1}; ** is not read"),
        ("Slice(dim={'a': 1}, parent=0)", "arguments that Slice takes"),
        ("Slice(dim=1)", "arguments that Slice takes"),
        ("Slice(dim=1, parent=2)", "arguments that Slice takes"),
        ("Slice(1, 2)", "arguments that Slice takes"),
        (TEXT.replace("[1, 0]", "[1, 1]"), "to be a permutation"),
        ("LinearLayout.from_bases({'x': [[1]]}, {'y': 2})", "expected an encoding"),
        ("LinearLayout.empty()", "expected one of AmdMfma"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_constructor(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("line ")


def test_positions() -> None:
    with pytest.raises(ParseError) as caught:
        parse_constructor("SwizzledShared(\n  vec=None)")
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (2, 7)
    expected = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(0,))
    assert parse_constructor(repr(expected)) == expected
