"""What matrix instructions cost: multiply-adds over what a multiprocessor does."""

from collections.abc import Mapping

from .device import Constant

MULTIPLY_ADDS: Mapping[str, Constant] = {
    "wgmma": Constant(2048.0, "assumed"),
    "mma": Constant(1280.0, "assumed"),
}
"""Instruction -> multiply-adds of 16-bit numbers in a cycle of a multiprocessor."""


def product_cost(
    shape: tuple[int, int, int], element_bits: int, instruction: str, warps: int
) -> float:
    """Return the cycles of a multiprocessor for one warp's share of a product.

    Args:
        shape: M, N, K [elements].
        element_bits: Of the factors [bits].
        instruction: A key of ``MULTIPLY_ADDS``.
        warps: Warps that share it.

    Example:
        >>> product_cost((64, 64, 64), 16, "wgmma", 4)
        32.0
    """
    m, n, k = shape
    rate = MULTIPLY_ADDS[instruction].cycles * 16 / element_bits
    return m * n * k / rate / warps
