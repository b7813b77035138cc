"""Where layouts come from: what suits a load, a store, or a matrix instruction.

A coalesced layout gives each thread a vector of neighbours in memory, neighbouring
lanes neighbouring vectors, and spreads what is left over lanes, warps and registers.
How much of a line a warp takes, and whether warps or registers come next, is open: all
choices are candidates, the cheapest accesses first.
"""

from collections.abc import Iterator

from algebra.layout import LinearLayout

from .access import Access
from .laws import bits_of, layout_of


def coalesced(
    access: Access, warp_bits: int, lane_bits: int, most: int = 8
) -> list[LinearLayout]:
    """Return layouts for a load or store, the cheapest first.

    Law: each of them is surjective, and each place bit selects at most one index bit.

    Args:
        access: What is loaded or stored.
        warp_bits: Log2 of the warps of a block [bits].
        lane_bits: Log2 of the lanes of a warp [bits].
        most: How many are wanted at most.
    """
    found: dict[tuple[int, ...], LinearLayout] = {}
    for register, lane, warp in _splits(access, warp_bits, lane_bits):
        layout = layout_of(
            access.shape,
            register,
            [*lane, *[0] * (lane_bits - len(lane))],
            [*warp, *[0] * (warp_bits - len(warp))],
        )
        found.setdefault((len(register), *layout.columns), layout)
    ranked = sorted(found.values(), key=access.cost)
    return ranked[:most]


def _splits(
    access: Access, warp_bits: int, lane_bits: int
) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield register, lane and warp columns."""
    total = sum(bits_of(access.shape))
    order = sorted(range(total), key=lambda bit: (access.steps[bit] or 1 << 60, bit))
    line = access.line()
    rest = [bit for bit in order if bit not in line]
    widest = access.aligned.bit_length() - 1
    most = min(widest, len(line))
    for vector in range(most, max(-1, min(widest - 3, most - 1)), -1):
        left = line[vector:]
        for along in range(min(lane_bits, len(left)), -1, -1):
            inside, beyond = left[:along], left[along:]
            across = rest[: lane_bits - along]
            lanes = inside + across
            others = rest[len(across) :]
            if len(lanes) < lane_bits:
                lanes += beyond[: lane_bits - len(lanes)]
                beyond = [bit for bit in beyond if bit not in lanes]
            for pool in (others + beyond, beyond + others, (others + beyond)[::-1]):
                warps = pool[:warp_bits]
                kept = [bit for bit in beyond + others if bit not in warps]
                yield (
                    [1 << bit for bit in line[:vector] + kept],
                    [1 << bit for bit in lanes],
                    [1 << bit for bit in warps],
                )
