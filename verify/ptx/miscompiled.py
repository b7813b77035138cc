"""Conversions that a released Triton compiles to wrong PTX: found here, kept as cases.

See docs/found.md for what happens in each.
"""

from dataclasses import dataclass
from typing import Final

from .random_conversions import Conversion, Encoding


@dataclass(frozen=True, slots=True)
class Miscompiled:
    """A conversion and who gets it wrong.

    Attributes:
        title: What goes wrong.
        releases: Wheels whose PTX is refuted.
        right_in: Wheels whose PTX is proved.
        conversion: The case.
    """

    title: str
    releases: tuple[str, ...]
    right_in: tuple[str, ...]
    conversion: Conversion


def _flat(register: list[int], lane: list[int]) -> Encoding:
    """Return a layout of one warp over one dim."""
    return {
        "kind": "linear",
        "register": [[step] for step in register],
        "lane": [[step] for step in lane],
        "warp": [],
        "block": [],
        "shape": [1 << len(register + lane)],
    }


def _blocked(own: list[int], lanes: list[int], order: list[int]) -> Encoding:
    """Return a blocked layout of one warp."""
    return {
        "kind": "blocked",
        "size_per_thread": own,
        "threads_per_warp": lanes,
        "warps_per_cta": [1, 1],
        "order": order,
    }


MISCOMPILED: Final = (
    Miscompiled(
        "bytes swapped twice",
        ("3.6.0", "3.7.1"),
        ("3.8.0", "3.9.0"),
        Conversion(
            _flat([1, 2, 4], [8, 16, 32, 64, 128]),
            _flat([2, 1, 8], [4, 16, 32, 64, 128]),
            (256,),
            8,
            1,
        ),
    ),
    Miscompiled(
        "bytes swapped twice, between blocked layouts",
        ("3.6.0", "3.7.1"),
        ("3.8.0", "3.9.0"),
        Conversion(
            _blocked([4, 2], [4, 8], [1, 0]),
            _blocked([2, 4], [8, 4], [0, 1]),
            (16, 16),
            8,
            1,
        ),
    ),
    Miscompiled(
        "bytes swapped twice, from a matrix instruction's result",
        ("3.6.0", "3.7.1"),
        ("3.8.0", "3.9.0"),
        Conversion(
            {
                "kind": "nvidia_mma",
                "version": [2, 0],
                "warps_per_cta": [1, 4],
                "instr_shape": [16, 8],
            },
            {
                "kind": "linear",
                "register": [[8, 0], [0, 1], [4, 0]],
                "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [16, 0]],
                "warp": [[0, 8], [0, 16]],
                "block": [],
                "shape": [32, 32],
            },
            (32, 32),
            8,
            4,
        ),
    ),
)
