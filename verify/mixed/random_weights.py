"""Random quantised weights of each format."""

import torch

from compiler.mixed.formats import weight_format
from compiler.mixed.pack import PackedWeight
from compiler.mixed.preshuffle import preshuffle

FLOAT8 = {"fp8e4m3": torch.float8_e4m3fn, "fp8e5m2": torch.float8_e5m2}


def random_weight(
    format: str,
    n: int,
    k: int,
    group: int,
    dtype: torch.dtype = torch.bfloat16,
    *,
    zeros: bool = False,
    seed: int = 0,
    device: str = "cpu",
) -> PackedWeight:
    """Return a packed weight with random codes, scales and zero points.

    Products with activations of unit variance stay in the range of float16.

    Args:
        format: Name of the format.
        n: Output features.
        k: Input features.
        group: Input features that share a scale.
        dtype: Of the activations.
        zeros: Whether int4 weights have zero points.
        seed: Of the generator.
        device: Where it is made.

    Example:
        >>> random_weight("int8", 16, 64, 64).problem.n
        16
    """
    kind = weight_format(format)
    generator = torch.Generator(device).manual_seed(seed)

    def integers(low: int, high: int, *shape: int) -> torch.Tensor:
        made = torch.randint(low, high, shape, generator=generator, device=device)
        return made.to(torch.uint8)

    groups = k // group
    if format in FLOAT8:
        normal = torch.randn(n, k, generator=generator, device=device)
        codes = normal.to(FLOAT8[format])
    else:
        codes = integers(0, 1 << kind.bits, n, k)
    if kind.scale == "float":
        scales = torch.rand(n, groups, generator=generator, device=device) + 0.5
        scales /= 64 if format == "int8" else 4
    elif kind.scale == "e8m0":
        scales = integers(118, 128, n, groups)
    else:
        scales = integers(0, 64, n, groups)
    return preshuffle(
        codes,
        scales,
        integers(0, 16, n, groups) if zeros else None,
        format=format,
        group=group,
        dtype=dtype,
        alpha=0.5,
    )
