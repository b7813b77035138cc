"""The Triton kernel in Triton's interpreter, against the loop.

And h as an operand of the matrix unit, which the kernel does without: a step of the
recurrence leaves h as an accumulator and needs it as the left operand. The layouts
differ by a permutation of the columns, which the rows of B could take once, as long as
warps divide the batch only.
"""

import pytest
import torch
from torch import Tensor

from algebra import LinearLayout
from algebra.encodings import DotOperand, NvidiaMma
from algebra.verdict import Proved
from compiler.convert import plan
from manifolds.charts import SO
from manifolds.recurrent.launch import Cut, launch
from manifolds.recurrent.loop import backward_loop, forward_loop

OPERAND_COLUMN = (2, 4, 1)
"""Column that each bit of an operand's K index reads, in each group of 8 for TF32."""

CASES = {
    "one row a program": (5, 3, 3, Cut(1, 16, 16, 1, 1, rows=1)),
    "rows in turn, one missing": (5, 3, 3, Cut(1, 16, 16, 1, 1, rows=2)),
    "three tiles": (41, 2, 2, Cut(3, 16, 16, 1, 1, rows=1)),
    "columns shared by two": (20, 3, 2, Cut(1, 32, 16, 2, 1, rows=2)),
    "three tiles, shared": (60, 2, 2, Cut(3, 32, 16, 2, 1, rows=1)),
}


def draw(n: int, batch: int, steps: int) -> tuple[Tensor, ...]:
    return (
        torch.randn(steps, batch, n),
        torch.randn(batch, n),
        SO().sample((n, n)),
        torch.randn(n) / 3,
        torch.randn(steps, batch, n),
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if "shared by" in name else [])
        for name in CASES
    ],
)
def test_both_scans_are_the_loop(name: str) -> None:
    n, batch, steps, chosen = CASES[name]
    x, start, weight, bias, gradient = draw(n, batch, steps)
    sizes = (batch,) * steps
    states = forward_loop(x.flatten(0, 1), start, weight, bias, sizes)
    found, _ = launch(x, start, weight, bias, None, chosen=chosen, interpret=True)
    torch.testing.assert_close(found.flatten(0, 1), states, rtol=2e-6, atol=5e-6)
    wanted, to_bias = backward_loop(gradient.flatten(0, 1), states, weight, bias, sizes)
    before, sums = launch(
        gradient,
        torch.zeros_like(start),
        weight.T,
        bias,
        states.view_as(x),
        chosen=chosen,
        interpret=True,
    )
    torch.testing.assert_close(before.flatten(0, 1), wanted, rtol=2e-6, atol=5e-6)
    torch.testing.assert_close(sums, to_bias, rtol=2e-6, atol=1e-5)


def test_nan_stays_in_its_row_and_zero_is_zero() -> None:
    x, start, weight, bias, gradient = draw(5, 2, 2)
    x[0, 1, 2] = torch.nan
    x[0, 0] = -(start[0] @ weight)
    x[0, 0, 3] = 0
    start[0] = 0
    x[0, 0] = 0
    chosen = Cut(1, 16, 16, 1, 1, rows=1)
    states, _ = launch(x, start, weight, bias + 1, None, chosen=chosen, interpret=True)
    assert not states[0, 0].any() and states[0, 1, 2].isnan()
    assert states[1, 1].isnan().all() and not states[:, 0].isnan().any()
    before, _ = launch(
        gradient,
        torch.zeros_like(start),
        weight.T,
        bias,
        states,
        chosen=chosen,
        interpret=True,
    )
    assert not before[0, 0].any() and before[1, 1].isnan().all()


def layouts(size: int, warps: tuple[int, int]) -> tuple[LinearLayout, LinearLayout]:
    mma = NvidiaMma(version=(2, 0), warps_per_cta=warps, instr_shape=(16, 8))
    operand = DotOperand(op_idx=0, parent=mma, k_width=1)
    shape = (64, size)
    return mma.to_linear_layout(shape), operand.to_linear_layout(shape)


def permuted(layout: LinearLayout) -> LinearLayout:
    """The same with K indices replaced by the columns that they read."""

    def column(k: int) -> int:
        high = k & ~7
        return high | sum(OPERAND_COLUMN[bit] for bit in range(3) if k >> bit & 1)

    bases = {
        dim: [(row, column(k)) for row, k in vectors]
        for dim, vectors in layout.bases.items()
    }
    return LinearLayout.from_bases(bases, dict(layout.out_dims))


def exchanges(src: LinearLayout, dst: LinearLayout) -> bool:
    """Whether a conversion moves anything between threads."""
    counts = plan(src, dst, 32).counts
    return any(counts.get(name, 0) for name in ("shfl", "st.shared", "ld.shared"))


@pytest.mark.parametrize("size", [8, 64, 256])
def test_permuted_rows_leave_nothing_to_exchange(size: int) -> None:
    accumulator, operand = layouts(size, (4, 1))
    assert exchanges(accumulator, operand)
    planned = plan(accumulator, permuted(operand), 32)
    assert not exchanges(accumulator, permuted(operand)), planned.counts
    assert isinstance(planned.prove(), Proved)


def test_warps_along_the_columns_must_exchange() -> None:
    """They do for 190 columns, which are too many for one warp."""
    accumulator, operand = layouts(64, (1, 4))
    assert exchanges(accumulator, permuted(operand))


def test_permuted_rows_change_no_product() -> None:
    order = torch.arange(24).view(3, 8)
    chosen = [
        sum(OPERAND_COLUMN[bit] for bit in range(3) if k >> bit & 1) for k in range(8)
    ]
    columns = order[:, chosen].flatten()
    h, weight = torch.randn(2, 24, 24, dtype=torch.float64)
    torch.testing.assert_close(h[:, columns] @ weight[columns], h @ weight)
