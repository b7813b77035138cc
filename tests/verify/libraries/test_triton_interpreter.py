"""Answers against values known from elsewhere; the interpreter runs in a campaign."""

from typing import Any

import pytest

from verify.libraries.operation import UndefinedError
from verify.libraries.triton_interpreter import TRITON_INTERPRETER


@pytest.mark.parametrize(
    ("name", "dtype", "x", "y", "wanted"),
    [
        ("floor_divide", "int32", (-7, 7), (2, -2), [-3, -3]),
        ("remainder", "int32", (-7, 7), (2, -2), [-1, 1]),
        ("umulhi", "int32", (-7, 5), (2, 1), [1, 0]),
        ("maximum", "float32", ("nan", 1.0), (1.0, 2.0), [1.0, 2.0]),
        ("to_bfloat16", "float32", (24.4375,), (0.0,), [24.5]),
        ("to_float8e5", "float32", (-1.998,), (0.0,), [-2.0]),
        ("cumsum_reverse", "int8", (1, 2, 3, 4), (0, 0, 0, 0), [10, 9, 7, 4]),
        ("argmax", "int32", (3, 9, 9, 1), (0, 0, 0, 0), [1]),
        ("interleave", "int32", (1, 2), (3, 4), [1, 3, 2, 4]),
        ("trans", "int32", (1, 2), (3, 4), [1, 2, 3, 4]),
        ("histogram", "int32", (1, 2, 1, -1), (0, 0, 0, 0), [0, 2, 1, 1]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_answers(name: str, dtype: str, x: Any, y: Any, wanted: list[Any]) -> None:
    operation = TRITON_INTERPRETER.named(name)
    assert operation.expected(dtype, (x, y)) == wanted


@pytest.mark.parametrize(
    "data",
    [((1, 2, 3), (1, 2, 3)), ((1,), (1, 2)), (1, 2), ((300,), (0,))],
    ids=["no power of two", "lengths", "numbers", "range"],
)
def test_what_is_no_vector_is_refused(data: Any) -> None:
    with pytest.raises(UndefinedError):
        TRITON_INTERPRETER.named("shift_right").expected("int8", data)


def test_sources_are_python() -> None:
    for operation in TRITON_INTERPRETER.operations:
        compile(operation.source, operation.name, "exec")
