"""h as an operand of the matrix unit: with B's rows permuted, no conversion remains.

A step of the recurrence leaves h as an accumulator and needs it as the left operand.
The layouts differ by a permutation of the columns, which the rows of B can take once,
as long as warps divide the batch only. (The kernel that is used multiplies without the
matrix unit.)
"""

import pytest
import torch

from algebra import LinearLayout
from algebra.encodings import DotOperand, NvidiaMma
from algebra.verdict import Proved
from compiler.convert import plan

EIGHT = (2, 4, 1)
"""Column that each bit of an operand's K index reads, in each group of 8 for TF32."""


def layouts(size: int, warps: tuple[int, int]) -> tuple[LinearLayout, LinearLayout]:
    mma = NvidiaMma(version=(2, 0), warps_per_cta=warps, instr_shape=(16, 8))
    operand = DotOperand(op_idx=0, parent=mma, k_width=1)
    shape = (64, size)
    return mma.to_linear_layout(shape), operand.to_linear_layout(shape)


def permuted(layout: LinearLayout) -> LinearLayout:
    """The same with K indices replaced by the columns that they read."""

    def column(k: int) -> int:
        high = k & ~7
        return high | sum(EIGHT[bit] for bit in range(3) if k >> bit & 1)

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
    chosen = [sum(EIGHT[bit] for bit in range(3) if k >> bit & 1) for k in range(8)]
    columns = order[:, chosen].flatten()
    h, weight = torch.randn(2, 24, 24, dtype=torch.float64)
    torch.testing.assert_close(h[:, columns] @ weight[columns], h @ weight)
