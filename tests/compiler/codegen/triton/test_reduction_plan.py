"""Tiles of reductions, chosen from strides and sizes."""

from collections.abc import Callable

from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.reduction_plan import PERSISTENT
from compiler.codegen.triton.tile import Plan
from compiler.ir.index import constant_value, digit, mod
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.scalar import load, local

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
