"""Many kernels at once; errors."""

from typing import Any

import pytest
import torch

from compiler.codegen.cpp import build, print_kernel
from compiler.ir.index import digit
from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.scalar import apply, constant, load, local
from compiler.options import Options

ROW, COL = digit("i"), digit("j")


def scaling(kernel: Any, number: int) -> Any:
    x = load("x", (ROW,), "float32")
    value = apply("mul", x, constant(float(number), "float32"))
    tensors = {"x": torch.ones(10), "o": torch.zeros(10)}
    return kernel(
        f"scale_{number}", tensors, [Store("o", (ROW,), value, False)], {"i": 10}
    )


def test_kernels_of_several_libraries_keep_their_names(kernel: Any) -> None:
    built = build([scaling(kernel, n) for n in range(14)])
    for number in range(14):
        out = torch.zeros(10)
        built[f"scale_{number}"](torch.ones(10), out)
        assert (out == number).all()


def test_the_exact_mode_calls_the_scalar_functions(kernel: Any) -> None:
    value = apply("log", load("x", (ROW,), "float32"))
    tensors = {"x": torch.rand(1000) + 1e-3, "o": torch.zeros(1000)}
    made = kernel("logs", tensors, [Store("o", (ROW,), value, False)], {"i": 1000})
    built = build([made], Options(fast_math=False))["logs"]
    built(tensors["x"], tensors["o"])
    right = tensors["x"].double().log()
    step = torch.finfo(torch.float32).eps
    assert ((tensors["o"].double() - right).abs() <= right.abs() * step + 1e-12).all()


def test_a_scan_that_a_reduction_reads_is_refused(kernel: Any) -> None:
    x = load("x", (ROW, COL), "float32")
    stages = [
        Prefix(("p",), "sum", x, ("float32",)),
        Reduction(("s",), "sum", (local("p", "float32"),), ("float32",)),
        Store("o", (ROW,), local("s", "float32"), False),
    ]
    tensors = {"x": torch.zeros(3, 4), "o": torch.zeros(3)}
    made = kernel("twice", tensors, stages, {"i": 3}, {"j": 4})
    with pytest.raises(NotImplementedError):
        print_kernel(made)
