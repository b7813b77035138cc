"""The conversions that are timed: the published microbenchmark's ten, and random ones.

The ten are those of Deep-Learning-Profiling-Tools/convert-layout-bench (test.mlir),
read as layouts; the random ones are drawn as ``verify.ptx.random_conversions`` draws
them, without those that only rename registers.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from algebra import LinearLayout
from algebra.encodings import Blocked, NvidiaMma, Slice
from compiler.convert import plan
from verify.ptx.random_conversions import random_conversion

RELEASE = "3.6"
FREE = ("no-op", "registers")


@dataclass(frozen=True, slots=True)
class Case:
    """A conversion to time.

    Attributes:
        name: What it is.
        src: Source layout.
        dst: Destination layout.
        element_bits: Size of an element [bits].
        shape: Of the tensor [elements].
    """

    name: str
    src: LinearLayout
    dst: LinearLayout
    element_bits: int


def blocked(*parameters: list[int]) -> Blocked:
    """Return a blocked encoding from its four lists."""
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


def published() -> list[Case]:
    """Return the ten cases of the microbenchmark."""
    half = NvidiaMma(version=(3, 0), warps_per_cta=(8, 1), instr_shape=(16, 256, 16))
    byte = NvidiaMma(version=(3, 0), warps_per_cta=(8, 1), instr_shape=(16, 256, 32))
    eight, four = (blocked([n], [32], [4], [0]) for n in (8, 4))
    line = blocked([1], [32], [8], [0])
    rows = blocked([1, 16], [8, 4], [4, 1], [1, 0])
    columns = blocked([16, 1], [4, 8], [1, 4], [0, 1])
    high = blocked([8, 1], [16, 2], [1, 8], [0, 1])
    wide = blocked([1, 8], [1, 32], [8, 1], [1, 0])
    bytes_wide = blocked([1, 16], [2, 16], [8, 1], [1, 0])
    listed: list[tuple[str, Any, Any, list[int], int]] = [
        ("1024 f16 [8] -> [4]", eight, four, [1024], 16),
        ("128x256 f16 wgmma -> [8,1]", half, high, [128, 256], 16),
        ("64x64 f8 [1,16] -> [16,1]", rows, columns, [64, 64], 8),
        ("128x256 f8e5m2 wgmma -> [1,16]", byte, bytes_wide, [128, 256], 8),
        ("256 f32 -> slice of f16 wgmma", line, Slice(dim=0, parent=half), [256], 32),
        ("128x256 f16 wgmma -> [1,8]", half, wide, [128, 256], 16),
        ("256 f32 -> slice of f8 wgmma", line, Slice(dim=0, parent=byte), [256], 32),
        ("128x256 f8e4m3 wgmma -> [1,16]", byte, bytes_wide, [128, 256], 8),
        ("1024 f8 [8] -> [4]", eight, four, [1024], 8),
        ("64x64 i8 [1,16] -> [16,1]", rows, columns, [64, 64], 8),
    ]
    return [
        Case(
            name,
            src.to_linear_layout(shape, RELEASE),
            dst.to_linear_layout(shape, RELEASE),
            bits,
        )
        for name, src, dst, shape, bits in listed
    ]


def drawn(seed: int, count: int) -> list[Case]:
    """Return random conversions that move something between threads.

    Args:
        seed: Same seed, same cases.
        count: Number of cases.
    """
    rng = Random(seed)
    found: list[Case] = []
    while len(found) < count:
        conversion = random_conversion(rng)
        src, dst = conversion.layouts(RELEASE)
        if plan(src, dst, conversion.element_bits).way in FREE:
            continue
        name = f"random {len(found)}: {conversion.kind}, {conversion.shape}"
        found.append(Case(name, src, dst, conversion.element_bits))
    return found
