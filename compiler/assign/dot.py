"""Matrix products: where matrix instructions want operands and results.

mma (version 2) reads both factors from registers, in its fragments. wgmma (version 3)
reads the second factor from shared memory, and the first from there or from registers.
A factor in memory may come from registers in any layout: storing it costs what its bank
conflicts cost, and all threads see it after a barrier.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from algebra import bank_conflicts
from algebra.encodings import DotOperand, NvidiaMma, NvmmaShared
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from compiler.cost import Device
from compiler.cost.product import product_cost
from compiler.ir.scalar import bits
from compiler.ir.tile import TileDot

from .laws import compact

ACCUMULATED = (("float16", "float32"), ("bfloat16", "float32"))
"""Types of factors and result that wgmma is taken for."""
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
    if warp_bits < 2 or m < 64 or n < 8 or k < 16:
        return
    cost = product_cost((m, n, k), bits(a.dtype), "wgmma", 1 << warp_bits)
    for along_m in range(2, warp_bits + 1):
        warps = (1 << along_m, 1 << warp_bits - along_m)
        columns = min(n // warps[1], 256)
        if warps[0] * 16 > m or columns < 8:
            continue
        parent = NvidiaMma(
            version=(3, 0), warps_per_cta=warps, instr_shape=(16, columns, 16)
        )
        result = parent.to_linear_layout(c.shape)
        yield DotChoice((None, None, result), result, parent, 2, cost)
        left = DotOperand(op_idx=0, parent=parent, k_width=2)
        registers = left.to_linear_layout(a.shape)
        yield DotChoice((registers, None, result), result, parent, 2, cost)


def memory_of(
    layout: LinearLayout, shape: tuple[int, ...], element_bits: int
) -> tuple[NvmmaShared, int]:
    """Return where to store a factor, and the wavefronts that this takes a warp.

    Of the row-major and the column-major swizzled layout that matrix instructions
    read, the one with fewer wavefronts.

    Args:
        layout: Of the factor in registers.
        shape: Of the factor [elements].
        element_bits: Size of an element [bits].
    """
    best: tuple[NvmmaShared, int] | None = None
    held = compact(layout)
    words = max(1, (1 << held.in_bits[0]) * element_bits // 32)
    for turned in (False, True):
        line = shape[0 if turned else -1] * element_bits // 8
        width = next((w for w in (128, 64, 32) if line % w == 0), 0)
        found = NvmmaShared(
            swizzle_byte_width=width,
            element_bit_width=element_bits,
            rank=2,
            transposed=turned,
        )
        try:
            extra = bank_conflicts(held, found.to_linear_layout(shape), element_bits)
        except LayoutError:
            extra = 7
        wavefronts = words * (1 + extra)
        if best is None or wavefronts < best[1]:
            best = found, wavefronts
    assert best is not None, "two are tried"
    return best


def memory_cost(
    layout: LinearLayout, shape: tuple[int, ...], element_bits: int, device: Device
) -> float:
    """Return what storing a factor to memory takes [cycles]."""
    wavefronts = memory_of(layout, shape, element_bits)[1]
    waits = device.latency("pass") + device.latency("bar.sync")
    barrier = 2 * device.cycles("bar.sync")
    return wavefronts * device.cycles("wavefronts") + barrier + waits / RESIDENT_WARPS
