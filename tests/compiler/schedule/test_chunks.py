"""What chunks gave is put together to what the whole gives."""

import pytest
import torch

from compiler.ir.evaluate import run_program
from compiler.ir.index import contiguous_strides, digit, index
from compiler.ir.node import REDUCERS, Axis, Buffer, Program, Reduce
from compiler.ir.scalar import load
from compiler.schedule.chunks import CUTTABLE, in_chunks
from compiler.schedule.refine import split_axis

A, R, S = digit("i0"), digit("r0"), digit("r1")
ROWS = (Axis(A, index(3)),)


def array(name: str, dtype: str, *shape: int) -> Buffer:
    extents = tuple(map(index, shape))
    return Buffer(name, dtype, extents, "cpu", contiguous_strides(shape))


def reduction(reducer: str, dtype: str) -> Reduce:
    """Return a reduction of (3, 4, 12) over its last two axes."""
    results = REDUCERS[reducer][1]
    made = "int64" if reducer.startswith("arg") else dtype
    buffers = tuple(array(f"y{n}", made, 3) for n in range(results))
    axes = (Axis(R, index(4)), Axis(S, index(12)))
    return Reduce(buffers, ROWS, axes, reducer, (load("x", (A, R, S), dtype),))


def both(
    reducer: str, x: torch.Tensor, across: bool
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return what the whole gives and what chunks of 1 or of 1/3 of a row give."""
    dtype = str(x.dtype).removeprefix("torch.")
    node = reduction(reducer, dtype)
    names = tuple(b.name for b in node.buffers)
    inputs = (array("x", dtype, *x.shape),)
    shared, rest, moved = [node.reduced[0]], [node.reduced[1]], {}
    if across:
        parts, value = split_axis(node.reduced[1], [4])
        shared, rest, moved = [*shared, parts[0]], [parts[1]], {S: value}
    cut = in_chunks(node, shared, rest, moved, {})
    assert len(cut) >= 2
    out = []
    for nodes in ((node,), cut):
        found = run_program(Program(inputs, nodes, names), [x])
        out.append([t for t in found if isinstance(t, torch.Tensor)])
    return out[0], out[1]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("reducer", [r for r in CUTTABLE if REDUCERS[r][1] == 1])
def test_integers_agree_exactly(reducer: str, across: bool) -> None:
    x = torch.randint(-3, 4, (3, 4, 12), generator=torch.Generator().manual_seed(0))
    values = x.bool() if reducer in ("any", "all") else x
    whole, parts = both(reducer, values, across)
    assert torch.equal(whole[0], parts[0])


@pytest.mark.parametrize("reducer", ["welford", "online_softmax", "sum", "maximum"])
def test_floats_agree_to_rounding(reducer: str) -> None:
    x = torch.randn(3, 4, 12, generator=torch.Generator().manual_seed(0)) * 3 + 100
    whole, parts = both(reducer, x, True)
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("reducer", ["argmax", "argmin"])
def test_the_first_nan_is_the_greatest_and_the_smallest(reducer: str) -> None:
    x = torch.randint(0, 3, (3, 4, 12)).float()
    x[1, 2, 5] = x[1, 3, 0] = x[2, 0, 0] = torch.nan
    whole, parts = both(reducer, x, True)
    assert torch.equal(whole[0], parts[0])
    assert parts[0][1:].tolist() == [29, 0]


def test_masked_chunks_add_nothing() -> None:
    x = torch.randn(3, 4, 12)
    x[0, :3] = x[1] = -torch.inf
    x[2, 1, 3] = torch.nan
    whole, parts = both("online_softmax", x, False)
    assert torch.equal(whole[0][:2], parts[0][:2])
    torch.testing.assert_close(whole[1], parts[1], equal_nan=True)
    assert parts[1][2].isnan()
