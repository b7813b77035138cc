"""Reductions made plain, and what is kept of a row."""

from typing import Any

import torch

from compiler.codegen.cpp.nest import Let, flatten
from compiler.codegen.cpp.stages import expanded, is_inner, kept_values
from compiler.ir.index import digit
from compiler.ir.kernel import Reduction, Store
from compiler.ir.scalar import apply, load, local

ROW, COL = digit("i"), digit("j")
X = load("x", (ROW, COL), "float32")


def softmax(kernel: Any, columns: int) -> Any:
    power = apply("exp", apply("sub", X, local("m", "float32")))
    stages = [
        Reduction(("m", "s"), "online_softmax", (X,), ("float32", "float32")),
        Store(
            "o", (ROW, COL), apply("truediv", power, local("s", "float32")), inner=True
        ),
    ]
    x = torch.zeros(3, columns)
    return flatten(
        kernel("softmax", {"x": x, "o": x}, stages, {"i": 3}, {"j": columns})
    )


def test_softmax_of_a_short_row_is_two_passes_that_share_the_exponentials(
    kernel: Any,
) -> None:
    nest = expanded(softmax(kernel, 100))
    reducers = [s.reducer for s in nest.stages if isinstance(s, Reduction)]
    assert reducers == ["maximum", "sum"]
    assert [value.op for value in kept_values(nest)] == ["exp"]


def test_a_long_row_is_read_once(kernel: Any) -> None:
    nest = expanded(softmax(kernel, 1 << 20))
    reducers = [s.reducer for s in nest.stages if isinstance(s, Reduction)]
    assert reducers == ["online_softmax"]
    assert kept_values(nest) == []


def test_welford_of_a_short_row_is_mean_then_squares(kernel: Any) -> None:
    names = ("mean", "squares", "count")
    stages = [
        Reduction(names, "welford", (X,), ("float32",) * 3),
        Store("o", (ROW,), local("squares", "float32"), inner=False),
    ]
    tensors = {"x": torch.zeros(3, 8), "o": torch.zeros(3)}
    nest = expanded(flatten(kernel("var", tensors, stages, {"i": 3}, {"j": 8})))
    assert [s.name for s in nest.stages if isinstance(s, Let)] == ["mean", "count"]
    assert [is_inner(s) for s in nest.stages] == [True, False, True, False, False]
