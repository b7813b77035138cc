"""Flat offsets and merged axes."""

from typing import Any

import pytest
import torch

from compiler.codegen.cpp.nest import coefficient, depends, flatten
from compiler.ir.index import add, digit, floordiv, mul
from compiler.ir.kernel import Store
from compiler.ir.scalar import apply, cast, from_index, load

ROW, COL, TOP = digit("i"), digit("j"), digit("k")


def copying(kernel: Any, x: torch.Tensor, o: torch.Tensor) -> Any:
    value = load("x", (ROW, COL, TOP), "float32")
    stage = Store("o", (ROW, COL, TOP), value, inner=False)
    extents = dict(zip("ijk", x.shape, strict=True))
    return flatten(kernel("copy", {"x": x, "o": o}, [stage], extents))


def test_contiguous_axes_are_one(kernel: Any) -> None:
    nest = copying(kernel, torch.zeros(4, 5, 6), torch.zeros(4, 5, 6))
    assert [repr(axis.extent) for axis in nest.outer] == ["120"]


@pytest.mark.parametrize(
    ("strides", "count"), [((30, 6, 1), 1), ((1, 4, 20), 2), ((60, 6, 1), 2)]
)
def test_axes_merge_where_both_arrays_step_alike(
    strides: tuple[int, ...], count: int, kernel: Any
) -> None:
    x = torch.zeros(500).as_strided((4, 5, 6), strides)
    nest = copying(kernel, x, torch.zeros(4, 5, 6))
    merged = 3 if strides == (1, 4, 20) else count
    assert len(nest.outer) == merged


def test_axes_of_one_element_go(kernel: Any) -> None:
    nest = copying(kernel, torch.zeros(1, 7, 1), torch.zeros(1, 7, 1))
    assert [repr(axis.extent) for axis in nest.outer] == ["7"]


def test_a_digit_that_is_a_value_keeps_its_axis(kernel: Any) -> None:
    value = cast(from_index(COL, "int64"), "float32")
    value = apply("add", value, load("x", (ROW, COL), "float32"))
    stage = Store("o", (ROW, COL), value, inner=False)
    x = torch.zeros(4, 5)
    nest = flatten(kernel("rows", {"x": x, "o": x}, [stage], {"i": 4, "j": 5}))
    assert len(nest.outer) == 2


def test_steps() -> None:
    offset = add(mul(ROW, 8), COL, 3)
    assert coefficient(offset, ROW) == 8
    assert coefficient(offset, TOP) == 0
    assert coefficient(floordiv(ROW, 2), ROW) is None
    assert depends(load("x", (mul(ROW, 2),), "float32"), ROW)
