"""Matrix products: where matrix instructions want operands and results.

mma (version 2) reads both factors from registers, in its fragments. wgmma (version 3)
reads the second factor from shared memory, and the first from there or from registers.
A factor in memory may come from registers in any layout: storing it costs what its bank
conflicts cost, and all threads see it after a barrier. Factors of 8 bits are read with
neighbours along K next to each other in memory; of others, either way.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from algebra import bank_conflicts
from algebra.bank_conflicts import shared_access
from algebra.contiguity import largest_vectorisation
from algebra.encodings import DotOperand, NvidiaMma, NvmmaShared
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from compiler.cost import Device
from compiler.cost.product import product_cost
from compiler.ir.expression import NARROW_TYPES
from compiler.ir.scalar import bits
from compiler.ir.tile import TileDot

from .laws import compact

ACCUMULATED = tuple(
    (factor, "float32") for factor in ("float16", "bfloat16", *NARROW_TYPES)
)
"""Types of factors and result that wgmma is taken for."""
DEPTH_BITS = 256
"""Of one instruction along K [bits]."""
RESIDENT_WARPS = 16


@dataclass(frozen=True, slots=True)
class DotChoice:
    """Layouts of a product.

    Attributes:
        operands: Of both factors and of what is added; None for a factor that is read
            from shared memory, so may lie anyhow in registers.
        result: Of the result.
        parent: Encoding of the result.
        k_width: Neighbours along K that a thread holds of a factor in registers
            [elements].
        cost: Of the instructions [cycles].
    """

    operands: tuple[LinearLayout | None, LinearLayout | None, LinearLayout]
    result: LinearLayout
    parent: NvidiaMma
    k_width: int
    cost: float

    @property
    def instruction(self) -> str:
        """``"mma"`` or ``"wgmma"``."""
        return "wgmma" if self.parent.version[0] == 3 else "mma"


def dot_choices(
    step: TileDot, warp_bits: int, device: Device | None = None
) -> list[DotChoice]:
    """Return the layouts of all instructions that can do a product.

    Args:
        step: A product.
        warp_bits: Log2 of the warps of a block [bits].
        device: Where it runs; None: anywhere, so mma only.
    """
    found = list(_mma(step, warp_bits))
    if device is not None and device.name == "sm_90":
        found += _wgmma(step, warp_bits)
    return found


def _sizes(step: TileDot) -> tuple[int, int, int]:
    a, b, _ = step.operands
    return a.shape[0], b.shape[1], a.shape[1]


def _mma(step: TileDot, warp_bits: int) -> Iterator[DotChoice]:
    a, b, c = step.operands
    if a.dtype in NARROW_TYPES:
        return
    m, n, _ = _sizes(step)
    width = 32 // bits(a.dtype)
    cost = product_cost(_sizes(step), bits(a.dtype), "mma", 1 << warp_bits)
    for along_m in range(warp_bits + 1):
        warps = (1 << along_m, 1 << warp_bits - along_m)
        if warps[0] * 16 > max(16, m) or warps[1] * 8 > max(8, n):
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
        yield DotChoice(operands, result, parent, width, cost)


def _wgmma(step: TileDot, warp_bits: int) -> Iterator[DotChoice]:
    a, b, c = step.operands
    m, n, k = _sizes(step)
    if (a.dtype, c.dtype) not in ACCUMULATED or b.dtype != a.dtype:
        return
    depth, width = DEPTH_BITS // bits(a.dtype), 32 // bits(a.dtype)
    if warp_bits < 2 or m < 64 or n < 8 or k < depth:
        return
    cost = product_cost((m, n, k), bits(a.dtype), "wgmma", 1 << warp_bits)
    for along_m in range(2, warp_bits + 1):
        warps = (1 << along_m, 1 << warp_bits - along_m)
        columns = min(n // warps[1], 256)
        if warps[0] * 16 > m or columns < 8:
            continue
        parent = NvidiaMma(
            version=(3, 0), warps_per_cta=warps, instr_shape=(16, columns, depth)
        )
        result = parent.to_linear_layout(c.shape)
        yield DotChoice((None, None, result), result, parent, width, cost)
        left = DotOperand(op_idx=0, parent=parent, k_width=width)
        registers = left.to_linear_layout(a.shape)
        yield DotChoice((registers, None, result), result, parent, width, cost)


def orientations(number: int, element_bits: int) -> tuple[bool, ...]:
    """Return how a factor may lie in memory: rows (False) or columns (True) whole.

    Args:
        number: 0 or 1, the first or the second factor.
        element_bits: Size of an element [bits].

    Example:
        >>> orientations(1, 16), orientations(1, 8)
        ((False, True), (True,))
    """
    return (number == 1,) if element_bits == 8 else (False, True)


def memory_of(
    layout: LinearLayout, shape: tuple[int, ...], element_bits: int, number: int
) -> tuple[NvmmaShared, int]:
    """Return where to store a factor, and the wavefronts that this takes a warp.

    Of the row-major and the column-major swizzled layout that matrix instructions
    read, the one with fewer wavefronts.

    Args:
        layout: Of the factor in registers.
        shape: Of the factor [elements].
        element_bits: Size of an element [bits].
        number: Which factor it is, 0 or 1.
    """
    best: tuple[NvmmaShared, int] | None = None
    held = compact(layout)
    for turned in orientations(number, element_bits):
        line = shape[0 if turned else -1] * element_bits // 8
        width = next((w for w in (128, 64, 32) if line % w == 0), 0)
        found = NvmmaShared(
            swizzle_byte_width=width,
            element_bit_width=element_bits,
            rank=2,
            transposed=turned,
        )
        lies = found.to_linear_layout(shape)
        try:
            extra = bank_conflicts(held, lies, element_bits)
            access = shared_access(held, lies)
            together = largest_vectorisation(access, element_bits).elements
        except LayoutError:
            extra, together = 7, 1
        words = max(1, together * element_bits // 32)
        wavefronts = (1 << held.in_bits[0]) // together * words * (1 + extra)
        if best is None or wavefronts < best[1]:
            best = found, wavefronts
    assert best is not None, "one at least is tried"
    return best


def memory_cost(
    layout: LinearLayout,
    shape: tuple[int, ...],
    element_bits: int,
    number: int,
    device: Device,
) -> float:
    """Return what storing a factor to memory takes [cycles]."""
    wavefronts = memory_of(layout, shape, element_bits, number)[1]
    # a fence before the product reads memory is taken for a third barrier
    waits = device.latency("pass") + 2 * device.latency("bar.sync")
    barrier = 3 * device.cycles("bar.sync")
    return wavefronts * device.cycles("wavefronts") + barrier + waits / RESIDENT_WARPS
