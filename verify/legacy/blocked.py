"""Blocked: every thread owns a small tile, tiles repeat over the tensor.

Numbers that only repeat an element: until Triton 3.8 a thread whose tile is larger
than the tensor keeps the repeated registers; since 3.9 they are left out, which here
is a loop over ``min(size_per_thread, shape)``.
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index, ceil_div, delinearize, product, smaller
from .model import Digit, DistributedModel
from .upstream import upstream

SOURCE = upstream("emitBaseIndexWithinCTAForBlockedLayout, emitOffsetForBlockedLayout")


def blocked(
    shape: Sequence[Extent],
    size_per_thread: Sequence[Extent],
    threads_per_warp: Sequence[Extent],
    warps_per_cta: Sequence[Extent],
    order: Sequence[int],
    *,
    keep_repeated_registers: bool = False,
) -> DistributedModel:
    """Return the index formula of a blocked layout.

    Args:
        shape: Tensor shape of one block.
        size_per_thread: Tile of one thread, per dim [elements].
        threads_per_warp: Threads per dim.
        warps_per_cta: Warps per dim.
        order: Dims, the fastest first.
        keep_repeated_registers: Number registers as Triton 3.8 and older do.

    Example:
        >>> model = blocked([8, 8], [1, 2], [8, 4], [1, 1], [1, 0])
        >>> model.position(1, 5, 0)
        [1, 3]

    Source: see ``SOURCE``.
    """
    rank = len(shape)
    per_warp = [size_per_thread[k] * threads_per_warp[k] for k in range(rank)]
    per_tile = [per_warp[k] * warps_per_cta[k] for k in range(rank)]
    owned = [
        size_per_thread[k]
        if keep_repeated_registers
        else smaller(size_per_thread[k], shape[k])
        for k in range(rank)
    ]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        thread_ids = delinearize(lane, threads_per_warp, order)
        warp_ids = delinearize(warp, warps_per_cta, order)
        coordinates: list[Index] = [0] * rank
        for place, k in enumerate(order):
            element, tile = counters[place], counters[rank + place]
            warp_id = warp_ids[k] % ceil_div(shape[k], per_warp[k])
            thread_id = thread_ids[k] % ceil_div(shape[k], size_per_thread[k])
            base = (thread_id + warp_id * threads_per_warp[k]) * size_per_thread[k]
            coordinates[k] = base + (tile * per_tile[k] + element) % shape[k]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            *(Digit(k, owned[k]) for k in order),
            *(Digit(k, ceil_div(shape[k], per_tile[k])) for k in order),
        ),
        lanes=product(threads_per_warp),
        warps=product(warps_per_cta),
        locate=locate,
        source=SOURCE,
    )
