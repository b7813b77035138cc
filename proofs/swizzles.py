"""Theorems about instances: the memory chosen for a conversion cannot be improved.

For each conversion the certificate of ``algebra.swizzle`` is checked: the conflicts are
counted lane by lane, and the wavefronts of all accesses together meet a lower bound
that holds for every memory layout.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from algebra import LinearLayout, transpose_linear_layout
from algebra.encodings import Blocked, DotOperand, NvidiaMma
from algebra.swizzle import swizzle_for
from algebra.verdict import Proved, Refuted, Verdict

from .theorem import Theorem

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Conversion:
    """Access patterns of one tile in shared memory.

    Attributes:
        name: What is converted, in snake_case.
        words: The same for people.
        patterns: Returns the layouts that store or load the tile.
        element_bits: Size of an element [bits].
    """

    name: str
    words: str
    patterns: Callable[[], Sequence[LinearLayout]]
    element_bits: int


def _rows(per_thread: int, lanes: Shape, warps: int = 4) -> Blocked:
    return Blocked(
        size_per_thread=(1, per_thread),
        threads_per_warp=lanes,
        warps_per_cta=(warps, 1),
        order=(1, 0),
    )


def _columns(per_thread: int, lanes: Shape, warps: int = 4) -> Blocked:
    return Blocked(
        size_per_thread=(per_thread, 1),
        threads_per_warp=lanes,
        warps_per_cta=(1, warps),
        order=(0, 1),
    )


def _hopper(columns: int, warps: int = 4) -> NvidiaMma:
    return NvidiaMma(
        version=(3, 0), warps_per_cta=(warps, 1), instr_shape=(16, columns, 16)
    )


AMPERE = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
OPERAND_A = DotOperand(op_idx=0, k_width=2, parent=AMPERE)
OPERAND_B = DotOperand(op_idx=1, k_width=2, parent=AMPERE)


def _of(shape: Shape, *encodings: Any) -> Callable[[], list[LinearLayout]]:
    return lambda: [encoding.to_linear_layout(shape) for encoding in encodings]


def _stored_and_read_both_ways() -> list[LinearLayout]:
    """B is stored by rows and read as an operand, as it is and transposed."""
    stored = _rows(8, (4, 8)).to_linear_layout((64, 64))
    read = OPERAND_B.to_linear_layout((64, 64))
    return [stored, read, transpose_linear_layout(read, (1, 0))]


CONVERSIONS = (
    Conversion(
        "wgmma_result_to_rows_in_half_precision",
        "fp16 64 x 64, wgmma result -> 16-byte rows",
        _of((64, 64), _hopper(64), _rows(8, (4, 8))),
        16,
    ),
    Conversion(
        "wgmma_result_to_rows_in_single_precision",
        "fp32 64 x 64, wgmma result -> 16-byte rows",
        _of((64, 64), _hopper(64), _rows(4, (2, 16))),
        32,
    ),
    Conversion(
        "wgmma_result_to_columns",
        "fp16 128 x 256, wgmma result of 8 warps -> 16-byte columns",
        _of((128, 256), _hopper(256, 8), _columns(8, (16, 2), 8)),
        16,
    ),
    Conversion(
        "byte_transpose",
        "int8 64 x 64, 16-byte rows -> 16-byte columns",
        _of((64, 64), _rows(16, (8, 4)), _columns(16, (4, 8))),
        8,
    ),
    Conversion(
        "large_byte_transpose",
        "fp8 128 x 128, 16-byte rows -> 16-byte columns",
        _of((128, 128), _rows(16, (4, 8)), _columns(16, (8, 4))),
        8,
    ),
    Conversion(
        "half_precision_transpose",
        "fp16 128 x 128, 16-byte rows -> 16-byte columns",
        _of((128, 128), _rows(8, (2, 16)), _columns(8, (16, 2))),
        16,
    ),
    Conversion(
        "single_precision_transpose",
        "fp32 128 x 128, 16-byte rows -> 16-byte columns",
        _of((128, 128), _rows(4, (1, 32)), _columns(4, (32, 1))),
        32,
    ),
    Conversion(
        "double_precision_transpose",
        "fp64 32 x 32 of one warp, columns -> rows",
        _of((32, 32), _columns(32, (1, 32), 1), _rows(32, (32, 1), 1)),
        64,
    ),
    Conversion(
        "rows_to_a_operand",
        "fp16 64 x 64, 16-byte rows -> operand A of mma",
        _of((64, 64), _rows(8, (4, 8)), OPERAND_A),
        16,
    ),
    Conversion(
        "operand_read_as_it_is_and_transposed",
        "fp16 64 x 64, stored by rows, read as operand B and as its transpose",
        _stored_and_read_both_ways,
        16,
    ),
)


def check(conversion: Conversion, timeout: float) -> Verdict:
    """Choose a memory, and check the certificate that nothing is better.

    Args:
        conversion: One of ``CONVERSIONS``.
        timeout: Not needed: the check is bounded.

    Returns:
        ``Proved`` with the wavefronts and the conflicts of each access, or what the
        certificate's own check says.

    Example:
        >>> check(CONVERSIONS[0], 1.0).method
        'certificate of the swizzle'
    """
    swizzling = swizzle_for(conversion.patterns(), conversion.element_bits)
    if any(swizzling.conflicts):
        return Refuted({"conflicts": swizzling.conflicts, "memory": swizzling.memory})
    verdict = swizzling.certificate.check()
    if not isinstance(verdict, Proved):
        return verdict
    facts = (("conflicts", swizzling.conflicts), *verdict.facts)
    return Proved("certificate of the swizzle", facts)


def theorems() -> list[Theorem]:
    """Return one theorem for each conversion."""
    return [
        Theorem(
            name=f"swizzle_is_optimal_for_{conversion.name}",
            statement=(
                f"{conversion.words}: the memory layout chosen has no bank conflict, "
                "and no layout needs fewer wavefronts."
            ),
            scope="one instance, all lanes and registers",
            method="certificate: lane-by-lane count and lower bound",
            source="algebra.swizzle.swizzle_for; theorem low_offsets_are_nested",
            check=partial(check, conversion),
        )
        for conversion in CONVERSIONS
    ]
