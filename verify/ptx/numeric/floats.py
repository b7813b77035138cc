"""Bits of registers as numbers and back, with the rounding of the hardware."""

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


def from_bits(bits: Bits, kind: str) -> Floats:
    """Return what bit patterns mean.

    Args:
        bits: Patterns in the low bits.
        kind: ``"f32"``, ``"f64"``, ``"f16"``, ``"bf16"`` or ``"tf32"``.

    Example:
        >>> from_bits(np.array([0x3F80], np.uint64), "bf16").tolist()
        [1.0]
    """
    if kind == "f64":
        return bits.view(np.float64).copy()
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    words = bits.astype(np.uint32)
    if kind == "bf16":
        words = words << np.uint32(16)
    elif kind == "tf32":
        words = words & np.uint32(0xFFFFE000)
    with np.errstate(invalid="ignore"):
        return words.view(np.float32).astype(np.float64)


def to_bits(values: Floats, kind: str) -> Bits:
    """Return bit patterns of numbers, rounded to nearest, ties to even.

    Example:
        >>> hex(to_bits(np.array([-2.0]), "f16")[0])
        '0xc000'
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "f64":
            return values.view(np.uint64).copy()
        if kind == "f16":
            return values.astype(np.float16).view(np.uint16).astype(np.uint64)
        if kind == "f32":
            return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return _bf16_bits(values)


def _bf16_bits(values: Floats) -> Bits:
    finite = np.isfinite(values) & (values != 0)
    _, exponent = np.frexp(np.where(finite, values, 1.0))
    # 8 significant bits, fewer below the smallest normal number
    last = np.maximum(exponent - 8, -133)
    rounded = np.ldexp(np.rint(np.ldexp(values, -last)), last)
    kept = np.where(finite, rounded, values)
    with np.errstate(over="ignore", invalid="ignore"):
        words = kept.astype(np.float32).view(np.uint32)
    return (words >> np.uint32(16)).astype(np.uint64)


def halves(bits: Bits, kind: str) -> tuple[Floats, Floats]:
    """Return the numbers in the low and the high half of 32-bit registers."""
    low = bits & np.uint64(0xFFFF)
    return from_bits(low, kind), from_bits(bits >> np.uint64(16), kind)


def from_halves(low: Floats, high: Floats, kind: str) -> Bits:
    """Return 32-bit registers with these numbers: the inverse of ``halves``."""
    return to_bits(low, kind) | to_bits(high, kind) << np.uint64(16)
