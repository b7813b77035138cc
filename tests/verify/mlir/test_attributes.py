from typing import Any

import pytest

from algebra.errors import ParseError
from verify.mlir.attributes import (
    Dense,
    HexFloat,
    number,
    read_bare_value,
    read_dictionary,
    read_value,
)
from verify.mlir.cursor import Cursor
from verify.mlir.types import ScalarType, TensorType


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64 : i32", 64),
        ("-1", -1),
        ("true", True),
        ('"ca"', "ca"),
        ("array<i32: 1, 0>", (1, 0)),
        ("array<i32>", ()),
        ("[1, [2, 3]]", (1, (2, 3))),
        ("1.500000e+00 : f32", 1.5),
        ("0xFF800000 : f32", HexFloat(0xFF800000)),
        ("dense<0>", Dense(0)),
        (
            "dense<[1, 2]> : tensor<2xi32>",
            Dense((1, 2), TensorType((2,), ScalarType("i32"))),
        ),
        ("#ttg.blocked<{a = 1}>", "#ttg.blocked<{a=1}>"),
        ("{a = 1, b}", {"a": 1, "b": True}),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = read_value(Cursor(text))
    if isinstance(value, str) and value.startswith("#"):
        assert str(found).replace(" ", "") == value
    else:
        assert found == value


def test_names_with_dashes() -> None:
    text = '{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}'
    assert read_dictionary(Cursor(text)) == {
        "ttg.num-warps": 4,
        "ttg.target": "cuda:90",
    }


@pytest.mark.parametrize("text", ["{a = }", "{= 1}", "[1", "dense<1", "{a = 1"])
def test_malformed_values_are_errors(text: str) -> None:
    with pytest.raises(ParseError, match="expected"):
        read_value(Cursor(text))


def test_a_bare_value_leaves_the_type() -> None:
    cursor = Cursor("none : f32")
    assert read_bare_value(cursor) == "none" and cursor.at(":")


def test_numbers() -> None:
    assert (number("7"), number("2.5"), number("0x10")) == (7, 2.5, HexFloat(16))
