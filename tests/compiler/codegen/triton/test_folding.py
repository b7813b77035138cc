"""Rows in registers, and sums of columns over the rows of a chunk."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from compiler.codegen.triton.candidates import candidates
from compiler.codegen.triton.folding import WIDEST
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.errors import BuildError
from compiler.ir.evaluate import run_kernel
from compiler.ir.index import add, constant_value, digit, mul
from compiler.ir.kernel import Kernel, Reduction, Store, folded_axes
from compiler.ir.scalar import apply, load, local
from compiler.runtime.triton_kernel import TritonKernel

C, K, R = digit("c"), digit("k"), digit("j")
FLOAT = "float32"
Make = Callable[..., Kernel]


def chunked(
    make: Make, chunks: int, rows: int, length: int, reducer: str = "sum"
) -> Kernel:
    """Return ``out = a * sum(a)`` by rows, and the chunks' sums of its columns."""
    row = add(mul(C, rows), K)
    value = load("a", (row, R), FLOAT)
    out = apply("mul", value, local("s", FLOAT))
    stages = [
        Reduction(("s",), "sum", (value,), (FLOAT,)),
        Store("out", (row, R), out, True),
        Reduction(("t",), reducer, (out,), (FLOAT,), folded=True),
        Store("sums", (C, R), local("t", FLOAT), True, folded=True),
    ]
    arrays = {
        "a": (FLOAT, (chunks * rows, length)),
        "out": (FLOAT, (chunks * rows, length)),
        "sums": (FLOAT, (chunks, length)),
    }
    kernel: Kernel = make(stages, arrays, {C: chunks, K: rows}, {R: length})
    return kernel


def arrays_of(kernel: Kernel) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(len(kernel.buffers["a"].shape))
    found = {}
    for name, buffer in kernel.buffers.items():
        shape = [constant_value(extent) or 0 for extent in buffer.shape]
        found[name] = torch.full(shape, torch.nan)
    found["a"] = torch.randn(found["a"].shape, generator=generator)
    return found


def exact(a: torch.Tensor, chunks: int) -> dict[str, torch.Tensor]:
    out = a.double() * a.double().sum(1, keepdim=True)
    return {"out": out, "sums": out.view(chunks, -1, a.shape[1]).sum(1)}


def on_cpu(kernel: Kernel) -> Kernel:
    buffers = {n: replace(b, device="cpu") for n, b in kernel.buffers.items()}
    return replace(kernel, buffers=buffers)


def check(found: dict[str, torch.Tensor], chunks: int) -> None:
    for name, wanted in exact(found["a"], chunks).items():
        error = (found[name].double() - wanted).norm() / wanted.norm()
        assert error < 1e-6, name


@pytest.mark.parametrize(
    ("chunks", "rows", "length", "block"),
    [(2, 8, 24, 2), (3, 5, 32, 2), (2, 12, 20, None), (1, 3, 1, 1)],
    ids=str,
)
def test_printed_kernels(
    make_kernel: Make, chunks: int, rows: int, length: int, block: int | None
) -> None:
    kernel = chunked(make_kernel, chunks, rows, length)
    chosen = plan(kernel)
    if block is not None:
        assert chosen.folded is not None
        fewer = replace(chosen.folded, block=block)
        chosen = replace(chosen, folded=fewer, tile=(fewer, *chosen.tile[1:]))
    built = TritonKernel(print_kernel(kernel, chosen), interpret=True)
    arrays = arrays_of(kernel)
    built(*(arrays[name] for name in built.parameters))
    check(arrays, chunks)


def test_the_evaluator_agrees(make_kernel: Make) -> None:
    kernel = on_cpu(chunked(make_kernel, 3, 5, 7))
    arrays = arrays_of(kernel)
    run_kernel(kernel, arrays, {})
    check(arrays, 3)


def test_folded_axes_are_those_that_no_folded_store_has(make_kernel: Make) -> None:
    kernel = chunked(make_kernel, 3, 5, 7)
    assert [axis.digit for axis in folded_axes(kernel.outer, kernel.stages)] == [K]
    assert folded_axes(kernel.outer, kernel.stages[:2]) == ()


@pytest.mark.parametrize(
    ("length", "rows", "warps", "stages"),
    [
        (96, 16, 8, 1),
        (768, 2, 8, 2),
        (1024, 2, 8, 2),
        (4096, 1, 16, 2),
        (8192, 1, 16, 2),
    ],
)
def test_tiles(
    make_kernel: Make, length: int, rows: int, warps: int, stages: int
) -> None:
    chosen = plan(chunked(make_kernel, 256, 32, length))
    assert chosen.folded is not None
    assert chosen.folded.block == rows
    assert (chosen.num_warps, chosen.num_stages) == (warps, stages)
    assert constant_value(chosen.grid) == 256
    loop = f"num_stages={stages}"
    source = print_kernel(chunked(make_kernel, 256, 32, length)).source
    assert (loop in source) is (stages > 1)


def test_other_tiles_keep_their_loop(make_kernel: Make) -> None:
    for other in candidates(plan(chunked(make_kernel, 4, 32, 1024))):
        assert other.folded is other.tile[0]
        assert constant_value(other.grid) == 4


def test_what_does_not_fit_is_refused(make_kernel: Make) -> None:
    with pytest.raises(BuildError, match="registers hold"):
        plan(chunked(make_kernel, 4, 32, WIDEST + 1))
    with pytest.raises(BuildError, match="not maximum"):
        print_kernel(chunked(make_kernel, 4, 32, 64, "maximum"))
