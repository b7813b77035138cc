"""Texts of reducers: neutral elements, joins."""

import pytest

from compiler.codegen.cpp.accumulate import accumulator, combined, extreme, neutral
from compiler.ir.node import REDUCERS


@pytest.mark.parametrize("reducer", REDUCERS)
def test_each_reducer_has_as_many_results_as_it_says(reducer: str) -> None:
    dtype = "bool" if reducer in ("any", "all") else "float32"
    if reducer == "xor":
        dtype = "int32"
    made = accumulator(reducer, dtype, small=True)
    assert len(made.types) == len(made.start)
    assert len(made.finish(["a", "b", "c"][: len(made.types)])) == REDUCERS[reducer][1]


def test_only_sums_of_floats_have_totals() -> None:
    assert accumulator("sum", "float32", small=True).fold == "f64"
    assert accumulator("sum", "int64", small=True).fold is None
    assert accumulator("maximum", "float32", small=True).fold is None


def test_neutral_elements() -> None:
    assert neutral("all", "bool") == "true"
    assert neutral("product", "float64") == "0x1p0"
    assert extreme(True, "uint8") == "(u8)255"
    assert neutral("maximum", "float32") == "-__builtin_inff()"


def test_narrow_sums_wrap() -> None:
    assert combined("sum", "uint8", "a", "b") == "(u8)(a + b)"


def test_places_take_64_bits_where_32_may_not_do() -> None:
    assert accumulator("argmax", "float32", small=False).types == ("f32", "i64")
