"""Tiles of reductions, chosen from strides and sizes."""

from collections.abc import Callable
from math import nan

import torch

from compiler.codegen.triton.flat import flattened
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.codegen.triton.reduction_plan import PERSISTENT, _plan_beside
from compiler.codegen.triton.tile import Plan
from compiler.ir.index import constant_value, digit, index, mod
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.node import Axis
from compiler.ir.scalar import apply, cast, load, local
from compiler.runtime.triton_kernel import TritonKernel

X, Y, Z = digit("i"), digit("j"), digit("k")
Make = Callable[..., Kernel]


def summed(make_kernel: Make, rows: int, length: int, columns: bool = False) -> Plan:
    place = (Y, X) if columns else (X, Y)
    shape = (length, rows) if columns else (rows, length)
    stages = [
        Reduction(("s",), "sum", (load("a", place, "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", shape), "out": ("float32", (rows,))}
    return plan(make_kernel(stages, arrays, {X: rows}, {Y: length}))


def test_rows_are_persistent_up_to_a_length(make_kernel: Make) -> None:
    assert summed(make_kernel, 4096, PERSISTENT).persistent
    long = summed(make_kernel, 4096, PERSISTENT + 1)
    assert not long.persistent and long.reduced is not None
    assert constant_value(long.grid) == 4096


def test_short_rows_share_a_program(make_kernel: Make) -> None:
    chosen = summed(make_kernel, 1 << 16, 64)
    assert [axis.name for axis in chosen.tile] == ["x", "r"]
    assert chosen.tile[0].block > 1 and chosen.tile[1].block == 64


def test_columns_are_read_in_lines(make_kernel: Make) -> None:
    chosen = summed(make_kernel, 8192, 4096, columns=True)
    x, r = chosen.tile
    assert x.block * 4 >= 64 and not chosen.persistent
    assert chosen.reduced is r


def test_a_remainder_of_a_long_axis_keeps_tiles_inside_its_period(
    make_kernel: Make,
) -> None:
    stages = [
        Reduction(
            ("s",), "sum", (load("a", (X, mod(Y, 2048)), "float32"),), ("float32",)
        ),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", (64, 2048)), "out": ("float32", (64,))}
    chosen = plan(make_kernel(stages, arrays, {X: 64}, {Y: 40960}))
    assert chosen.reduced is not None and chosen.reduced.block == 2048


def turned_sum(make_kernel: Make, batch: int, rows: int, length: int) -> Kernel:
    """Return sums of products of rows and columns, and each product over its sum.

    ``a`` has the elements of a row adjacent, ``b`` and the result those of a column.
    """
    straight, turned = (X, Y, Z), (X, Z, Y)
    a, b = load("a", straight, "float32"), load("b", turned, "float32")
    value = apply("mul", a, b)
    stages = [
        Reduction(("s",), "sum", (value,), ("float32",)),
        Store("sums", (X, Y), local("s", "float32"), False),
        Store("out", turned, apply("mul", a, local("s", "float32")), True),
    ]
    arrays = {
        "a": ("float32", (batch, rows, length)),
        "b": ("float32", (batch, length, rows)),
        "sums": ("float32", (batch, rows)),
        "out": ("float32", (batch, length, rows)),
    }
    return make_kernel(stages, arrays, {X: batch, Y: rows}, {Z: length})


def test_rows_across_memory_share_a_program(make_kernel: Make) -> None:
    chosen = plan(turned_sum(make_kernel, 64, 196, 768))
    x, r = chosen.tile
    assert chosen.persistent and chosen.reduced is r and r.block == 1024
    assert x.block * 4 == 32  # bytes of a sector
    assert constant_value(chosen.grid) == 64 * 25  # no tile has rows of two batches
    for batch, length in ((2, 768), (64, 4096)):  # few programs, too long for registers
        assert not plan(turned_sum(make_kernel, batch, 196, length)).persistent


def test_rows_that_share_a_program_are_summed_right(make_kernel: Make) -> None:
    kernel = turned_sum(make_kernel, 2, 19, 24)
    alone = plan(kernel)
    beside = _plan_beside(
        flattened(kernel), Axis(Z, index(24)), rows=8
    )  # a tile with a rest in both dims
    assert alone != beside and beside.tile[0].block == 8
    generator = torch.Generator().manual_seed(3)
    a = torch.randn(2, 19, 24, generator=generator)
    b = torch.randn(2, 24, 19, generator=generator)
    found = {"a": a, "b": b}
    found["sums"], found["out"] = torch.full((2, 19), nan), torch.full((2, 24, 19), nan)
    built = TritonKernel(print_kernel(kernel, beside), interpret=True)
    built(*(found[name] for name in built.parameters))
    sums = (a.double() * b.double().mT).sum(2)
    assert (found["sums"] - sums).abs().max() < 1e-5
    out = (a.double() * sums[..., None]).mT
    assert (found["out"] - out).norm() < 1e-6 * out.norm()


def test_a_vector_along_rows_makes_no_row_of_a_column(make_kernel: Make) -> None:
    a = cast(load("a", (X, Z, Y), "bfloat16"), "float32")
    value = apply("mul", a, load("w", (Z,), "float32"))
    stages = [
        Reduction(("s",), "sum", (value,), ("float32",)),
        Store("out", (X, Y), local("s", "float32"), False),
    ]
    arrays = {
        "a": ("bfloat16", (128, 384, 196)),
        "w": ("float32", (384,)),
        "out": ("float32", (128, 196)),
    }
    kernel = make_kernel(stages, arrays, {X: 128, Y: 196}, {Z: 384})
    x, _ = plan(kernel).tile
    assert x.block == 64  # a line of memory
