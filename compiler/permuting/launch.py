"""The choice of tile, warps and compiled kernel for a permutation on a GPU."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .index_map import IndexMap
from .tile_plan import TilePlan, plan_tile

RANK: Final = 14
"""Axes of the kernel's in-tile transpose; shorter ones are padded with ones."""

_LINE_BITS: Final = {1: 7, 2: 7, 4: 6, 8: 5}
"""Log2 of the line for each width: 128 to 256 bytes [elements]."""

_TILE_BITS: Final = {1: 13, 2: 12, 4: 12, 8: 11}
"""Log2 of the smallest tile for each width [elements]."""

_VECTOR_BYTES: Final = 16
_ELEMENTS_PER_WARP: Final = 512
_MAX_WARPS: Final = 16


@dataclass(frozen=True, slots=True)
class Launch:
    """A plan with the constants that select a compiled kernel.

    Attributes:
        plan: The tile plan.
        low_bits: Program bits that the low address tables cover.
        addresses: All tables in one list.
        constants: Value of each constant of the kernel.
        num_warps: Warps of a program.
    """

    plan: TilePlan
    low_bits: int
    addresses: list[int]
    constants: dict[str, Any]
    num_warps: int

    @property
    def address_bits(self) -> int:
        """Width of the narrowest signed integer that holds every address [bits]."""
        return 32 if self.plan.map.bits <= 31 else 64


@lru_cache(maxsize=256)
def plan_launch(map: IndexMap, element_bytes: int) -> Launch:
    """Plan a permutation of elements of 1, 2, 4 or 8 bytes.

    Example:
        >>> launch = plan_launch(IndexMap((2, 1)), 4)
        >>> launch.constants["SHAPE"][-2:], launch.constants["AXES"][-2:]
        ((2, 2), (13, 12))
        >>> launch.num_warps
        1
    """
    plan = plan_tile(
        map,
        line_bits=_LINE_BITS[element_bytes],
        vector_bits=(_VECTOR_BYTES // element_bytes).bit_length() - 1,
        tile_bits=_TILE_BITS[element_bytes],
    )
    addresses, low_bits = plan.tables()
    shape, axes = plan.transpose
    padding = RANK - len(shape)
    assert padding >= 0, "a tile has at most two lines' bits"
    tile_bits = len(plan.source)
    constants = {
        "SOURCE_COLUMN_BITS": plan.source_columns,
        "SOURCE_ROW_BITS": tile_bits - plan.source_columns,
        "TARGET_COLUMN_BITS": plan.target_columns,
        "TARGET_ROW_BITS": tile_bits - plan.target_columns,
        "SOURCE_VECTOR": 1 << plan.source_vector,
        "TARGET_VECTOR": 1 << plan.target_vector,
        "SHAPE": (1,) * padding + shape,
        "AXES": (*range(padding), *(padding + axis for axis in axes)),
    }
    num_warps = min(max((1 << tile_bits) // _ELEMENTS_PER_WARP, 1), _MAX_WARPS)
    return Launch(plan, low_bits, addresses, constants, num_warps)
