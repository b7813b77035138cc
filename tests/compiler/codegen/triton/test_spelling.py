"""Types, constants and names in Triton's spelling."""

import math

import pytest

from compiler.codegen.triton.spelling import atom, constant, identifier, neutral


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (True, "bool", "tl.full((), True, tl.int1)"),
        (-3, "int32", "-3"),
        (3, "uint8", "tl.full((), 3, tl.uint8)"),
        (0.1, "float32", "0.1"),
        (-0.0, "float32", "-0.0"),
        (math.inf, "float32", 'float("inf")'),
        (math.nan, "float32", 'tl.full((), float("nan"), tl.float32)'),
        (1e-40, "float32", "tl.full((), 1e-40, tl.float32)"),
        (0.5, "bfloat16", "tl.full((), 0.5, tl.bfloat16)"),
    ],
)
def test_constants(value: object, dtype: str, text: str) -> None:
    assert constant(value, dtype) == text


def test_names_are_fresh_and_legal() -> None:
    taken: set[str] = set()
    wishes = ["r", "for", "1st", "a::b", "a::b", ""]
    found = [identifier(wish, taken) for wish in wishes]
    assert found == ["r_", "for_", "_1st", "a_b", "a_b_2", "value"]
    assert all(name.isidentifier() for name in found)


def test_atoms_bind_tightest() -> None:
    assert atom("x") == "x" and atom("tl.exp(a + b)") == "tl.exp(a + b)"
    assert atom("-x") == "(-x)" and atom("f(a) * g(b)") == "(f(a) * g(b))"


@pytest.mark.parametrize(
    ("reducer", "dtype", "text"),
    [
        ("sum", "float32", "0.0"),
        ("product", "int32", "1"),
        ("maximum", "float32", 'float("-inf")'),
        ("minimum", "uint8", "tl.full((), 255, tl.uint8)"),
        ("argmax", "int32", str(-(2**31))),
        ("all", "bool", "tl.full((), True, tl.int1)"),
    ],
)
def test_neutral_elements(reducer: str, dtype: str, text: str) -> None:
    assert neutral(reducer, dtype) == text
