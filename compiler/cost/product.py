"""What products of matrices cost: by instruction, and as calls of a library."""

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Library:
    """How fast a library multiplies matrices, by how their rows are aligned.

    Attributes:
        rates: Bytes that all addresses and steps between rows are multiples of -> rate
            of large products of 16-bit numbers [operations/s].
        bandwidth: Of a copy, read and written [bytes/s].
        launch: Products shorter than this are left alone [s].
        origin: As in :class:`~compiler.cost.device.Constant`.
    """

    rates: Mapping[int, float]
    bandwidth: float
    launch: float
    origin: str

    def seconds(self, operations: int, alignment: int) -> float:
        """Return how long a product takes [s].

        Args:
            operations: Multiplications and additions [operations].
            alignment: A key of ``rates`` [bytes].

        Example:
            >>> LIBRARY.seconds(2 * 8192 * 768 * 50257, 2) > 0.006
            True
        """
        return operations / self.rates[alignment]

    def copying(self, moved: int) -> float:
        """Return how long a copy takes that moves some bytes [s]."""
        return moved / self.bandwidth


# None of these was measured alone. gpt2 takes 5.4 ms less on an H200 where its
# vocabulary of 50257 is padded (benchmarks/results/fusing_gpu.json: Inductor's against
# this compiler's, which did not pad yet), most of it in one product of 8192 x 768 x
# 50257: about 100e12 operations/s with rows aligned to 2 bytes, if it takes 600e12 with
# others. 4 bytes are taken for as slow; by the rate of 8 bytes nothing is copied.
LIBRARY = Library({2: 1e14, 4: 1e14, 8: 6e14, 16: 6e14}, 3.3e12, 5e-6, "assumed")
"""cuBLAS on an H200."""
