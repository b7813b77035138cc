"""Which weights and activations meet in one matrix instruction.

``out[m, n] = sum over k of x[m, k] * w[n, k]`` is computed as out^T = w x^T: the weight
is the left operand, whose 16 (or, for wgmma, 64) rows are output features, so that few
rows of activations waste little. Within an instruction the order of k is free, as long
as both operands agree. The bits of k are given to the fragment's bits so that

- the lowest ones are registers: a lane reads neighbouring activations at once;
- the four lanes along k continue, so that their reads join;
- an instruction stays within one block of scales, so that its result can be scaled.

The fragment's bits are those of k in the instruction's own order: the pair in a 32-bit
register, two lane bits, the half (k + 8), then the number of the instruction.
"""

from typing import Final

from algebra import LinearLayout
from algebra.dims import LANE, REGISTER
from algebra.encodings import DotOperand, NvidiaMma
from algebra.errors import OutOfRangeError
from compiler.mixed.memory_order import MemoryOrder, derive

ROWS: Final = 16
"""Output features of one instruction and warp."""

DEPTH: Final = 16
"""Elements along k of one instruction of 16-bit operands."""

LANES: Final = 32
LOAD_BITS: Final = 128
K, N = "dim1", "dim0"

_MMA: Final = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
_WGMMA: Final = NvidiaMma(
    version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16)
)


def slab(block: int) -> int:
    """Return how many neighbouring k a warp reads of a row of activations at once.

    32 (16 bytes a lane), or 16 where blocks of scales are that short.

    Args:
        block: Elements along k that share a scale.

    Raises:
        OutOfRangeError: ``block`` is no multiple of 16.
    """
    if block < DEPTH or block % DEPTH:
        raise OutOfRangeError(
            f"blocks of scales must be multiples of {DEPTH} long, got block={block}; "
            "repeat the scales of longer blocks"
        )
    return DEPTH if block % (2 * DEPTH) else 2 * DEPTH


def k_order(block: int, bits: int) -> tuple[int, ...]:
    """Return the bit of k that each fragment bit of k stands for.

    Args:
        block: Elements along k that share a scale.
        bits: Number of bits.

    Example:
        >>> k_order(128, 6)
        (0, 3, 4, 1, 2, 5)
        >>> k_order(16, 6)
        (0, 2, 3, 1, 4, 5)
    """
    first = (0, 3, 4, 1, 2) if slab(block) == 2 * DEPTH else (0, 2, 3, 1, 4)
    return (*first, *range(5, bits))[:bits]


def reorder_k(layout: LinearLayout, block: int, dim: str = K) -> LinearLayout:
    """Return an operand's layout with k in the order that ``k_order`` gives.

    Args:
        layout: From places to the instruction's own k.
        block: Elements along k that share a scale.
        dim: Name of the dim k.
    """
    bits = layout.get_out_dim_size_log2(dim)
    images = {dim: [{dim: 1 << b} for b in k_order(block, bits)]}
    for name in layout.out_names:
        if name != dim:
            size = layout.get_out_dim_size_log2(name)
            images[name] = [{name: 1 << b} for b in range(size)]
    names = layout.out_names
    map = LinearLayout.from_bases(
        {
            name: [[vector.get(n, 0) for n in names] for vector in images[name]]
            for name in names
        },
        dict(layout.out_dims),
    )
    return layout.compose(map)


def weight_fragment(depth: int, block: int, *, wgmma: bool = False) -> LinearLayout:
    """Return where the weight's elements must be: (dim0, dim1) = (n, k).

    Args:
        depth: Elements along k.
        block: Elements along k that share a scale.
        wgmma: Whether it is the register operand of wgmma (four warps, 64 rows) rather
            than of mma (one warp, 16 rows).
    """
    parent, rows = (_WGMMA, 4 * ROWS) if wgmma else (_MMA, ROWS)
    operand = DotOperand(op_idx=0, parent=parent, k_width=2)
    return reorder_k(operand.to_linear_layout([rows, depth]), block)


def activation_fragment(depth: int, block: int, rows: int = 8) -> LinearLayout:
    """Return where activations must be for mma: (dim0, dim1) = (k, m)."""
    operand = DotOperand(op_idx=1, parent=_MMA, k_width=2)
    return reorder_k(operand.to_linear_layout([depth, rows]), block, "dim0")


def unit_depth(element_bits: int) -> int:
    """Return the elements along k of 16 rows that a warp reads in one load.

    Example:
        >>> unit_depth(4), unit_depth(8)
        (64, 32)
    """
    return LANES * LOAD_BITS // element_bits // ROWS


def weight_order(element_bits: int, block: int) -> MemoryOrder:
    """Return the order of one unit of weights: 16 rows, ``unit_depth`` along k.

    Args:
        element_bits: 4 or 8 [bits].
        block: Elements along k that share a scale.
    """
    depth = unit_depth(element_bits)
    return derive(weight_fragment(depth, block), element_bits, load_bits=LOAD_BITS)


def scale_fragment(groups: int) -> LinearLayout:
    """Return where scales must be: (dim0, dim1) = (n, group).

    A scale multiplies the accumulators of its row, so it must be in their lanes: the
    rows of the result's layout, once for each group.
    """
    rows = _MMA.to_linear_layout([ROWS, 8]).sublayout([REGISTER, LANE], ["dim0"])
    rows = rows.remove_zero_bases_along_dim(REGISTER)
    return rows * LinearLayout.identity_1d(groups, REGISTER, K)


def scale_groups(scale_bits: int, group: int) -> int:
    """Return how many groups' scales of a row lie together.

    As many as 128 input features have, in 16 bytes for two rows at most.

    Example:
        >>> scale_groups(16, 128), scale_groups(8, 32), scale_groups(8, 16)
        (1, 4, 8)
    """
    return max(1, min(LOAD_BITS // (2 * scale_bits), 128 // group))


def scale_order(scale_bits: int, groups: int) -> MemoryOrder:
    """Return the order of the scales of 16 rows and ``groups`` groups.

    Args:
        scale_bits: 8 or 16 [bits].
        groups: Groups whose scales lie together: ``scale_groups``.

    Example:
        >>> scale_order(8, 4).layout.bases["offset"][:4]  # row + 8, two of groups, row
        ((8, 0), (0, 1), (0, 2), (1, 0))
    """
    return derive(
        scale_fragment(groups),
        scale_bits,
        target_bits=scale_bits,
        load_bits=2 * groups * scale_bits,
    )
