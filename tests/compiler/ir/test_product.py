"""Products of matrices as reductions: what is one, and what it evaluates to."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from compiler.ir.check import program_faults
from compiler.ir.check_schedule import kernel_faults
from compiler.ir.evaluate import run_kernel, run_program
from compiler.ir.expression import make
from compiler.ir.index import add, contiguous_strides, digit, index, mul
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.node import Axis, Buffer, Product, Program, Tiling
from compiler.ir.product import factors_of, stages_of, sum_of
from compiler.ir.scalar import apply, cast, constant, load

ROW, COLUMN, TERM = digit("i"), digit("j"), digit("k")
M, N, T = 5, 7, 6
TILING = Tiling(16, 16, 16, 4, 2)


def array(name: str, dtype: str, *shape: int) -> Buffer:
    extents = tuple(map(index, shape))
    return Buffer(name, dtype, extents, "cpu", contiguous_strides(extents))


def product(dtype: str = "bfloat16") -> Product:
    """The product, doubled, and the product turned, rounded."""
    total = make("local", (), "float32", "s")
    return Product(
        (array("out", "float32", M, N), array("turned", dtype, N, M)),
        (Axis(ROW, index(M)), Axis(COLUMN, index(N))),
        Axis(TERM, index(T)),
        load("a", (ROW, TERM), dtype),
        load("b", (TERM, COLUMN), dtype),
        "s",
        ((ROW, COLUMN), (COLUMN, ROW)),
        (apply("mul", total, constant(2.0, "float32")), cast(total, dtype)),
        TILING,
    )


def program(node: Product, dtype: str = "bfloat16") -> Program:
    inputs = array("a", dtype, M, T), array("b", dtype, T, N)
    return Program(inputs, (node,), ("out", "turned"))


def kernel(node: Product, dtype: str = "bfloat16") -> Kernel:
    arrays = (*program(node, dtype).inputs, *node.buffers)
    named = {b.name: b for b in arrays if isinstance(b, Buffer)}
    return Kernel("k", node.axes, (node.term,), stages_of(node), named, product=TILING)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_product_is_a_sum_of_products_in_float32(dtype: str) -> None:
    node = product(dtype)
    assert not list(program_faults(program(node, dtype)))
    assert not list(kernel_faults(kernel(node, dtype), frozenset()))
    a, b = (torch.randn(*shape).to(getattr(torch, dtype)) for shape in ((M, T), (T, N)))
    right = a.double() @ b.double()
    out, turned = run_program(program(node, dtype), [a, b])
    assert isinstance(out, torch.Tensor) and isinstance(turned, torch.Tensor)
    torch.testing.assert_close(out.double(), 2 * right, atol=1e-5, rtol=1e-5)
    assert turned.dtype == a.dtype and turned.shape == (N, M)
    torch.testing.assert_close(turned.T.double(), right, atol=2e-2, rtol=1e-2)
    tensors = {"a": a, "b": b, "out": torch.zeros(M, N)}
    tensors["turned"] = torch.zeros(N, M, dtype=a.dtype)
    run_kernel(kernel(node, dtype), tensors, {})  # by factors, not point by point
    torch.testing.assert_close(tensors["out"], out, atol=1e-5, rtol=1e-5)


def test_rows_and_columns_are_told_by_what_reads_them() -> None:
    found = factors_of(kernel(product()))
    assert found is not None and found.result == "s"
    assert [axis.digit for axis in found.rows] == [ROW]
    assert [axis.digit for axis in found.columns] == [COLUMN]
    assert found.term.digit is TERM
    assert sum_of(product()) is make("local", (), "float32", "s")


def test_axes_may_be_in_any_order_and_rows_be_several() -> None:
    h = digit("h")
    total = make("local", (), "float32", "s")
    node = Product(
        (array("out", "float32", 2, N, 3),),
        (Axis(h, index(2)), Axis(COLUMN, index(N)), Axis(ROW, index(3))),
        Axis(TERM, index(T)),
        load("a", (add(mul(h, 3), ROW), TERM), "float16"),
        load("b", (TERM, COLUMN), "float16"),
        "s",
        ((h, COLUMN, ROW),),
        (total,),
        TILING,
    )
    made = kernel(node, "float16")
    a, b = torch.randn(6, T).half(), torch.randn(T, N).half()
    arrays = {"a": array("a", "float16", 6, T), "b": array("b", "float16", T, N)}
    arrays["out"] = node.buffers[0]
    tensors = {"a": a, "b": b, "out": torch.zeros(2, N, 3)}
    run_kernel(replace(made, buffers=arrays), tensors, {})
    right = (a.float() @ b.float()).view(2, 3, N).transpose(1, 2)
    torch.testing.assert_close(tensors["out"], right)
    found = factors_of(made)
    assert found is not None and [axis.digit for axis in found.rows] == [h, ROW]


def changed(**parts: Any) -> Kernel:
    return kernel(replace(product(), **parts))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            changed(left=load("a", (ROW, COLUMN), "bfloat16")), id="terms in one factor"
        ),
        pytest.param(
            changed(right=load("b", (TERM, ROW), "bfloat16")), id="an axis in both"
        ),
        pytest.param(
            replace(
                kernel(product()), inner=(Axis(TERM, index(2)), Axis(ROW, index(3)))
            ),
            id="two axes of terms",
        ),
        pytest.param(
            kernel(product("float32"), "float32"), id="factors of single precision"
        ),
        pytest.param(
            replace(kernel(product()), stages=kernel(product()).stages[1:]),
            id="no sum",
        ),
        pytest.param(
            replace(
                kernel(product()),
                stages=(
                    Reduction(
                        ("s",),
                        "maximum",
                        (
                            apply(
                                "mul",
                                cast(load("a", (ROW, TERM), "bfloat16"), "float32"),
                                cast(load("b", (TERM, COLUMN), "bfloat16"), "float32"),
                            ),
                        ),
                        ("float32",),
                    ),
                ),
            ),
            id="no sum but a maximum",
        ),
        pytest.param(
            replace(
                kernel(product()),
                stages=(
                    *kernel(product()).stages,
                    Store("out", (ROW, TERM), constant(0.0, "float32"), True),
                ),
            ),
            id="a store for each term",
        ),
    ],
)
def test_others_are_no_products(other: Kernel) -> None:
    assert factors_of(other) is None
    faults = list(kernel_faults(other, frozenset()))
    assert "it is said to be a product of matrices, and is none" in faults


def test_faults_of_a_product_are_found() -> None:
    good = product()
    wrong = replace(good, left=cast(good.left, "float32"), values=good.values[::-1])
    text = "; ".join(program_faults(program(wrong)))
    assert "no load of a half type" in text
    assert "a value of bfloat16 for out of float32" in text
    shifted = replace(good, targets=((add(ROW, 1), COLUMN), (COLUMN, ROW)))
    assert "leaves out" in "; ".join(program_faults(program(shifted)))
    mixed = replace(good, left=load("a", (ROW, TERM), "float16"))
    assert "multiplies float16 by bfloat16" in "; ".join(program_faults(program(mixed)))
