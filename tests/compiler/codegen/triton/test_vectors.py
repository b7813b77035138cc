"""Neighbours that one instruction cannot move are not given to one thread."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.codegen.triton.tile import tiles_apart
from compiler.codegen.triton.vectors import neighbours
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.node import Buffer
from compiler.ir.scalar import apply, cast, load, local
from compiler.runtime.triton_kernel import TritonKernel

X, Y = digit("i"), digit("j")
Make = Callable[..., Kernel]


def padded_copy(make_kernel: Make, columns: int, step: int) -> Kernel:
    """Return a copy of rows into memory with another step between rows."""
    shape = (4096, columns)
    stages = [Store("out", (X, Y), load("a", (X, Y), "bfloat16"), False)]
    arrays = {"a": ("bfloat16", shape), "out": ("bfloat16", shape)}
    kernel = make_kernel(stages, arrays, {X: shape[0], Y: columns})
    out: Buffer = kernel.buffers["out"]
    wider = replace(out, strides=(index(step), index(1)))
    return replace(kernel, buffers={**kernel.buffers, "out": wider})


@pytest.mark.parametrize(
    ("columns", "step", "group"),
    [(50257, 50264, 1), (50258, 50264, 2), (50260, 50264, None), (50304, 50312, None)],
)
def test_neighbours_of_rows(
    make_kernel: Make, columns: int, step: int, group: int | None
) -> None:
    found = neighbours(tiles_apart(plan(padded_copy(make_kernel, columns, step))))
    assert found == ({} if group is None else {"x": group})


def test_a_loop_over_odd_rows_has_its_lanes_take_turns(make_kernel: Make) -> None:
    value = cast(load("a", (X, Y), "bfloat16"), "float32")
    weighted = apply("mul", value, load("w", (Y,), "float32"))
    stages = [
        Reduction(("s",), "sum", (weighted,), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {
        "a": ("bfloat16", (512, 50257)),
        "w": ("float32", (50257,)),
        "out": ("float32", (512,)),
    }
    kernel = make_kernel(stages, arrays, {X: 512}, {Y: 50257})
    assert neighbours(plan(kernel)) == {"r": 1}
    even = make_kernel(
        stages,
        {**arrays, "a": ("bfloat16", (512, 50304)), "w": ("float32", (50304,))},
        {X: 512},
        {Y: 50304},
    )
    assert neighbours(plan(even)) == {}


def test_threads_get_one_neighbour_each(make_kernel: Make) -> None:
    printed = print_kernel(padded_copy(make_kernel, 50257, 50264))
    assert "tl.max_contiguous(tl.multiple_of(x, [1]), [1])" in printed.source
    text = TritonKernel(printed).compile(arch=90).asm["ttgir"]
    layouts = re.findall(r"sizePerThread = \[(\d+)\]", text)
    assert set(layouts) == {"1"}
