"""Matrix products: the layouts that matrix instructions ask of operands and results."""

from dataclasses import dataclass

from algebra.encodings import DotOperand, NvidiaMma
from algebra.layout import LinearLayout
from compiler.ir.scalar import bits
from compiler.ir.tile import TileDot


@dataclass(frozen=True, slots=True)
class DotChoice:
    """Layouts of a product.

    Attributes:
        operands: Of both factors and of what is added.
        result: Of the result.
        parent: Encoding of the result.
        k_width: Neighbours along K that a thread holds of an operand [elements].
    """

    operands: tuple[LinearLayout, LinearLayout, LinearLayout]
    result: LinearLayout
    parent: NvidiaMma
    k_width: int


def dot_choices(step: TileDot, warp_bits: int) -> list[DotChoice]:
    """Return layouts for mma (version 2), one for each way to spread warps.

    Args:
        step: A product.
        warp_bits: Log2 of the warps of a block [bits].
    """
    a, b, c = step.operands
    width = 32 // bits(a.dtype)
    found = []
    for along_m in range(warp_bits + 1):
        warps = (1 << along_m, 1 << warp_bits - along_m)
        if warps[0] * 16 > max(16, a.shape[0]) or warps[1] * 8 > max(8, b.shape[1]):
            continue
        parent = NvidiaMma(version=(2, 0), warps_per_cta=warps, instr_shape=(16, 8))
        left = DotOperand(op_idx=0, parent=parent, k_width=width)
        right = DotOperand(op_idx=1, parent=parent, k_width=width)
        result = parent.to_linear_layout(c.shape)
        operands = (
            left.to_linear_layout(a.shape),
            right.to_linear_layout(b.shape),
            result,
        )
        found.append(DotChoice(operands, result, parent, width))
    return found
