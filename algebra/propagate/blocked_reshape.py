"""When the reshape of a blocked encoding is a blocked encoding again, and which one.

A reshape merges runs of dims and cuts each merged run into new dims. Blocked stays
blocked if, in each run, the last dim is the fastest in the encoding's order too, and
if threads, lanes and warps fill the run from its fast end without gaps.
"""

from collections.abc import Sequence
from math import prod

from algebra.arguments import expect_integers
from algebra.encodings import Blocked, Cga
from algebra.encodings.parameters import power, shape_bits
from algebra.errors import DimMismatchError

Run = tuple[list[int], list[int]]


def runs(src_shape: Sequence[int], dst_shape: Sequence[int]) -> list[Run]:
    """Cut a reshape into the smallest runs of dims that are merged and cut again.

    Dims of size 1 go with the run before them, or with the first one.

    Law: the runs list all dims of both shapes in order, and both sides of a run have
    the same product.

    Args:
        src_shape: Old sizes [elements].
        dst_shape: New sizes [elements], same product.

    Returns:
        For each run the old dims and the new dims.

    Raises:
        DimMismatchError: another number of elements.

    Example:
        >>> runs([4, 4, 4], [2, 2, 8, 2])
        [([0], [0, 1]), ([1, 2], [2, 3])]

    Source: Triton ``getReshapeDecomposition``.
    """
    src_shape = expect_integers("src_shape", src_shape)
    dst_shape = expect_integers("dst_shape", dst_shape)
    if prod(src_shape) != prod(dst_shape):
        raise DimMismatchError(
            f"reshape keeps the number of elements, got src_shape={list(src_shape)}, "
            f"dst_shape={list(dst_shape)}; change a size of the new shape",
            needed=prod(src_shape),
            got=prod(dst_shape),
        )
    found: list[Run] = []
    src, dst = 0, 0
    while src < len(src_shape) or dst < len(dst_shape):
        old: list[int] = []
        new: list[int] = []
        old_size = new_size = 1
        while src < len(src_shape) and (
            old_size == 1 or old_size < new_size or src_shape[src] == 1
        ):
            old_size *= src_shape[src]
            old.append(src)
            src += 1
            while dst < len(dst_shape) and new_size < old_size:
                new_size *= dst_shape[dst]
                new.append(dst)
                dst += 1
        while dst < len(dst_shape) and dst_shape[dst] == 1:
            new.append(dst)
            dst += 1
        found.append((old, new))
    return found


def reshape_blocked(
    encoding: Blocked, src_shape: Sequence[int], dst_shape: Sequence[int]
) -> Blocked | None:
    """Return the blocked encoding after a reshape that moves nothing, if there is one.

    Law: the linear layout of the result at ``dst_shape`` is the reshaped linear layout
    of ``encoding`` at ``src_shape``.

    Args:
        encoding: Encoding before.
        src_shape: Sizes before [elements], powers of two.
        dst_shape: Sizes after [elements], powers of two with the same product.

    Returns:
        None where no blocked encoding is known to fit; the linear one always does.
        (Upstream also returns the default encoding for a default one of more CTAs
        than elements, which breaks the law.)

    Raises:
        DimMismatchError: another number of elements.

    Example:
        >>> rows = Blocked(
        ...     size_per_thread=[4],
        ...     threads_per_warp=[32],
        ...     warps_per_cta=[1],
        ...     order=[0],
        ... )
        >>> reshape_blocked(rows, [128], [16, 8]).threads_per_warp
        (16, 2)

    Source: Triton ``inferReshapeOpLegacyEncoding``.
    """
    src_shape = expect_integers("src_shape", src_shape)
    dst_shape = expect_integers("dst_shape", dst_shape)
    parts = runs(src_shape, dst_shape)
    if tuple(src_shape) == tuple(dst_shape):
        return encoding
    if not dst_shape:
        return None
    totals = (prod(encoding.warps_per_cta), prod(encoding.threads_per_warp))
    ctas = 1 << len(encoding.cga.bases)
    fits = ctas <= prod(src_shape)
    if fits and encoding == default_blocked(src_shape, *totals, ctas):
        return default_blocked(dst_shape, *totals, ctas)
    if ctas > 1:
        return None
    speed = {dim: place for place, dim in enumerate(encoding.order)}
    if not all(_is_row_major(old, speed) for old, _ in parts):
        return None
    levels = (
        encoding.size_per_thread,
        encoding.threads_per_warp,
        encoding.warps_per_cta,
    )
    if not all(_fills(old, src_shape, levels) for old, _ in parts):
        return None
    filled = _fill(parts, dst_shape, levels)
    by_speed = sorted(parts, key=lambda run: speed[run[0][0]])
    return Blocked(
        size_per_thread=filled[0],
        threads_per_warp=filled[1],
        warps_per_cta=filled[2],
        order=tuple(dim for _, new in by_speed for dim in reversed(new)),
    )


def default_blocked(
    shape: Sequence[int], warps: int, threads: int, ctas: int = 1
) -> Blocked:
    """Return the encoding that Triton gives a tensor before it knows better.

    One element a thread, the last dim the fastest, threads and warps spread from the
    fast dims on, CTAs from the slow ones.

    Args:
        shape: Sizes [elements], powers of two.
        warps: Warps of a CTA.
        threads: Threads of a warp.
        ctas: CTAs of a cluster.

    Raises:
        EncodingError: a tensor without dims, or a number that is not an integer.
        NotPowerOfTwoError: a size or a number is not a power of two.

    Example:
        >>> default_blocked([16, 16], warps=4, threads=32).warps_per_cta
        (4, 1)

    Source: Triton ``getDefaultBlockedEncoding``.
    """
    shape = expect_integers("shape", shape)
    shape_bits("default_blocked", shape, max(len(shape), 1))
    for name, count in (("warps", warps), ("threads", threads), ("ctas", ctas)):
        power("default_blocked", name, count)
    rank = len(shape)
    order = tuple(reversed(range(rank)))
    split = [1] * rank
    left = ctas
    for dim in reversed(order):
        split[dim] = max(1, min(left, shape[dim]))
        left //= split[dim]
    ctas_per_cga = list(split)
    ctas_per_cga[rank - 1] *= left
    lanes, waves = [1] * rank, [1] * rank
    left_lanes, left_waves = threads, warps
    for dim in order[:-1]:
        places = min(left_lanes * left_waves, max(1, shape[dim] // split[dim]))
        lanes[dim] = min(places, left_lanes)
        waves[dim] = min(places // lanes[dim], left_waves)
        left_lanes //= lanes[dim]
        left_waves //= waves[dim]
    lanes[0], waves[0] = left_lanes, left_waves
    return Blocked(
        size_per_thread=(1,) * rank,
        threads_per_warp=tuple(lanes),
        warps_per_cta=tuple(waves),
        order=order,
        cga=Cga.from_split(ctas_per_cga, split, order),
    )


def _is_row_major(old: Sequence[int], speed: dict[int, int]) -> bool:
    """Say whether the dims of a run follow each other, the last one the fastest."""
    places = [speed[dim] for dim in reversed(old)]
    return places == list(range(places[0], places[0] + len(places)))


def _fills(
    old: Sequence[int], shape: Sequence[int], levels: Sequence[Sequence[int]]
) -> bool:
    """Say whether the levels fill a run from its fast end without gaps.

    More than the shape is allowed in the slowest dim only.
    """
    left = {dim: shape[dim] for dim in old}
    for level in levels:
        for place in reversed(range(len(old))):
            dim = old[place]
            if level[dim] == 1:
                continue
            if any(left[faster] != 1 for faster in old[place + 1 :]):
                return False
            left[dim] //= level[dim]
            if left[dim] == 0 and place > 0:
                return False
    return True


def _fill(
    parts: Sequence[Run], shape: Sequence[int], levels: Sequence[Sequence[int]]
) -> list[tuple[int, ...]]:
    """Spread what each level has in a run over its new dims, the last one first."""
    left = list(shape)
    filled = []
    for level in levels:
        sizes = [1] * len(shape)
        for old, new in parts:
            todo = prod(level[dim] for dim in old)
            for dim in reversed(new):
                sizes[dim] = min(todo, left[dim])
                todo //= sizes[dim]
                left[dim] //= sizes[dim]
            sizes[new[0]] *= todo
        filled.append(tuple(sizes))
    return filled
