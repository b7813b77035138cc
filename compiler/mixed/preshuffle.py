"""The public function: pack a weight in the order derived for the kernel."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from .pack import PackedWeight


def preshuffle(
    weight: "torch.Tensor",
    scales: "torch.Tensor",
    zeros: "torch.Tensor | None" = None,
    *,
    format: str,
    group: int | None = None,
    dtype: "torch.dtype | None" = None,
    alpha: float = 1.0,
    halves: bool = False,
) -> "PackedWeight":
    """Pack a quantised weight for ``quantised_matmul``, in the order derived for it.

    The weight means ``alpha * scale * (code - zero)`` for int4 (zero is 8 where no zero
    points are given), ``alpha * scale * value`` for the other formats.

    Args:
        weight: Codes, row-major [n, k]: one a byte (uint8, int8 or a float8 dtype), or
            two a byte with ``halves`` or dtype float4_e2m1fn_x2, the first in the low
            half [n, k / 2].
        scales: [n, k / group]: floats of any width, rounded to ``dtype`` (int4, int8,
            fp8); uint8 or float8_e8m0fnu codes, 2 ** (code - 127), for mxfp4; uint8 or
            float8_e4m3fn for nvfp4.
        zeros: Zero points of int4 weights, 0 to 15, integers [n, k / group].
        format: ``"int4"``, ``"int8"``, ``"fp8e4m3"``, ``"fp8e5m2"``, ``"mxfp4"`` or
            ``"nvfp4"``.
        group: Input features that share a scale; None takes it from the scales' shape.
            mxfp4 has 32, nvfp4 16; else a power of two from 32 up, or k.
        dtype: Of the activations: torch.bfloat16 (None) or torch.float16.
        alpha: Factor of the whole weight, as nvfp4's second scale.
        halves: Whether 4-bit codes come two a byte.

    Returns:
        The packed weight, on the same device.

    Raises:
        OutOfRangeError: An unknown format or dtype, a code of more than 4 bits, a zero
            point past 15, a scale or weight that is infinite or NaN.
        DimMismatchError: Shapes that do not fit each other or the kernel's units.
        NotATensorError: An argument is no tensor of the types above.

    Example:
        >>> import torch
        >>> codes = torch.randint(0, 16, (32, 128), dtype=torch.uint8)
        >>> packed = preshuffle(codes, torch.ones(32, 1), format="int4")
        >>> bool((packed.unpack()[0] == codes).all())
        True
    """
    # torch is loaded on the first call, not by `import compiler`
    import torch

    from .pack import pack_weight

    return pack_weight(
        weight, scales, zeros, format, group, dtype or torch.bfloat16, alpha, halves
    )
