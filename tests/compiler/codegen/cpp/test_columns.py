"""Reductions down columns, with stages that follow at every row."""

from typing import Any

import pytest
import torch

from compiler.codegen.cpp import print_kernel
from compiler.ir.index import digit
from compiler.ir.kernel import Reduction, Store
from compiler.ir.scalar import apply, load, local

BATCH, ROW, COL = digit("i"), digit("r"), digit("c")


def softmax(kernel: Any, batch: int, rows: int, columns: int) -> Any:
    x = load("x", (BATCH, ROW, COL), "float32")
    most, total = local("m", "float32"), local("s", "float32")
    power = apply("exp", apply("sub", x, most))
    stages = [
        Reduction(("m",), "maximum", (x,), ("float32",)),
        Reduction(("s",), "sum", (power,), ("float32",)),
        Store("o", (BATCH, ROW, COL), apply("truediv", power, total), inner=True),
        Store("totals", (BATCH, COL), total, inner=False),
    ]
    tensors = {
        "x": torch.randn(batch, rows, columns),
        "o": torch.zeros(batch, rows, columns),
        "totals": torch.zeros(batch, columns),
    }
    name = f"softmax_{batch}_{rows}_{columns}"
    outer = {"i": batch, "c": columns}
    return kernel(name, tensors, stages, outer, {"r": rows}), tensors


@pytest.mark.parametrize("shape", [(2, 5, 70), (1, 300, 600), (1, 5000, 9), (3, 1, 64)])
def test_softmax_down_columns(
    shape: tuple[int, int, int], same: Any, kernel: Any
) -> None:
    same([softmax(kernel, *shape)], ulps=64)


def test_rows_are_shared_out_where_columns_are_few(kernel: Any) -> None:
    many, few = softmax(kernel, 64, 64, 512)[0], softmax(kernel, 1, 9000, 16)[0]
    assert "collapse(2)" in print_kernel(many).text
    assert "* 16 + l]" in print_kernel(few).text
