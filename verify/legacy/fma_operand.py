"""Operand of a dot on plain FMA units: blocked, with all of K in every thread.

Numbering of registers: elements of a thread's tile first, then its tiles, both in the
blocked order, like ``emitOffsetForBlockedLayout``. (The upstream loader at the pinned
commit numbers them dim by dim, ``linearize`` over elements per thread; positions are
the same set, and the values are renumbered when the conversion ends.)
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, product
from .model import Digit, DistributedModel
from .upstream import upstream

SOURCE = upstream(
    "loadFMAOp",
    "lib/Conversion/TritonGPUToLLVM/ConvertLayoutOpToLLVM/SharedToDotOperandFMA.cpp",
    "03f3ebbda290597291a3fb509e5e4e10dd02dcfa",
)


def fma_operand(
    shape: Sequence[Extent],
    size_per_thread: Sequence[Extent],
    threads_per_warp: Sequence[Extent],
    warps_per_cta: Sequence[Extent],
    order: Sequence[int],
    op_idx: int,
) -> DistributedModel:
    """Return the index formula of a dot operand whose parent is blocked.

    Args:
        shape: Shape of the operand, one block.
        size_per_thread: Tile of one thread of the parent, per dim [elements].
        threads_per_warp: Threads of the parent per dim.
        warps_per_cta: Warps of the parent per dim.
        order: Dims, the fastest first.
        op_idx: 0 for A (rows by K), 1 for B (K by columns).

    Example:
        >>> model = fma_operand([4, 8], [1, 1], [4, 8], [1, 1], [1, 0], 0)
        >>> model.position(3, 9, 0)
        [1, 3]

    Source: see ``SOURCE``.
    """
    rank = len(shape)
    k_dim = rank - 1 if op_idx == 0 else rank - 2
    owned = list(size_per_thread)
    owned[k_dim] = shape[k_dim]
    per_tile = [
        shape[d]
        if d == k_dim
        else size_per_thread[d] * threads_per_warp[d] * warps_per_cta[d]
        for d in range(rank)
    ]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        lane_ids = delinearize(lane, threads_per_warp, order)
        warp_ids = delinearize(warp, warps_per_cta, order)
        coordinates: list[Index] = [0] * rank
        for place, d in enumerate(order):
            element, tile = counters[place], counters[rank + place]
            if d == k_dim:
                coordinates[d] = element
                continue
            thread_id = lane_ids[d] + warp_ids[d] * threads_per_warp[d]
            first = thread_id * size_per_thread[d]
            coordinates[d] = (first + tile * per_tile[d] + element) % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            *(Digit(d, owned[d]) for d in order),
            *(Digit(d, ceil_div(shape[d], per_tile[d])) for d in order),
        ),
        lanes=product(threads_per_warp),
        warps=product(warps_per_cta),
        locate=locate,
        source=SOURCE,
    )
