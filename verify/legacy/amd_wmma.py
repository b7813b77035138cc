"""AMD WMMA (RDNA, 32 lanes): results, and operands in registers.

Sixteen lanes cover the fast dim of a 16 x 16 tile. In version 1 the two halves of the
warp hold alternating rows, in versions 2 and 3 the upper and the lower eight rows.
Where the tiles of a block go was ``warps_per_cta`` at the pinned commit, columns
fastest (``WarpGrid``); it has since become one vector a bit (``Placement``), of which
that is a case.

Register numbers of operands run along K first, as in the upstream loop nest.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .arithmetic import Extent, Index, ceil_div
from .model import Digit, DistributedModel
from .placement import Places
from .upstream import upstream

LANES = 32
RESULT = upstream("emitBaseIndexForWmmaLayout, emitWmmaOffsetForCTA")
OPERAND = upstream(
    "computeTensorElemMappingInBlockWmma1, computeTensorElemMappingInBlockWmma2",
    "third_party/amd/lib/TritonAMDGPUToLLVM/ConvertLayoutOpToLLVM/"
    "SharedToDotOperandWMMA.cpp",
    "1020b048de325f6a50df77d284569cf2153580f5",
)


def amd_wmma(
    shape: Sequence[Extent],
    version: int,
    is_transposed: bool,
    placement: Places,
    instr_shape: Sequence[int] = (16, 16, 16),
    columns: int | None = None,
) -> DistributedModel:
    """Return the index formula of a WMMA result.

    Args:
        shape: Tensor shape of one block, rank 2 or 3.
        version: 1 RDNA3, 2 RDNA4, 3 gfx1250.
        is_transposed: Whether a lane's registers run along columns.
        placement: Where the tiles of a block go.
        instr_shape: Rows, columns and K of the instruction.
        columns: Columns of the whole tensor: number registers along all of them before
            the other dims, as until Triton 3.6. Default: the places of a block come
            before repetition.

    Example:
        >>> from .placement import WarpGrid
        >>> amd_wmma([16, 16], 1, False, WarpGrid((1, 1))).position(3, 17, 0)
        [7, 1]

    Source: see ``RESULT``.
    """
    rank = len(shape)
    m, n = rank - 2, rank - 1
    fast, slow = (m, n) if is_transposed else (n, m)
    size: list[Extent] = [1] * rank
    # transposed, the 32 x 16 instruction has its long side along columns
    size[slow], size[fast] = instr_shape[:2]

    def inside(counters: Sequence[Index], lane: Index) -> list[Index]:
        element, half = counters
        place: list[Index] = [0] * rank
        place[fast] = lane % 16
        if version == 1:
            place[slow] = lane // 16 + element * 2 + half * 16
        else:
            place[slow] = lane // 16 * 8 + element + half * 16
        return place

    digits = (Digit(slow, 8), Digit(slow, instr_shape[0] // 16))
    model = _placed(shape, size, digits, inside, placement, RESULT, [n, m])
    if columns is None:
        return model
    along_n = len(placement.digits) - len(placement.without(n).digits)
    repeats = Digit(n, ceil_div(columns, size[n] * placement.extent(n)))
    return _columns_first(
        model, repeats, len(digits) + along_n, len(digits) + len(placement.digits)
    )


def amd_wmma_operand(
    shape: Sequence[Extent],
    version: int,
    placement: Places,
    instr_shape: Sequence[int],
    op_idx: int,
    k_width: Extent,
    *,
    is_transposed: bool = False,
    depth: int | None = None,
) -> DistributedModel:
    """Return the index formula of an operand of WMMA in registers.

    Args:
        shape: Shape of the operand, one block.
        version: 1 RDNA3 (both halves of the warp hold the same), 2 RDNA4, 3 gfx1250.
        placement: Where the tiles of the result's block go.
        instr_shape: Rows, columns and K of the instruction.
        op_idx: 0 for A (rows by K), 1 for B (K by columns).
        k_width: Elements along K that lie together in a lane.
        is_transposed: Whether the result is.
        depth: K of the whole tensor: number registers along all of it first, as until
            Triton 3.7. Default: the places of a block come before repetition.

    Example:
        >>> from .placement import WarpGrid
        >>> model = amd_wmma_operand([16, 16], 2, WarpGrid((1, 1)), [16, 16, 16], 0, 8)
        >>> model.position(3, 17, 0)
        [1, 11]

    Source: see ``OPERAND``.
    """
    rank = len(shape)
    k_dim, free = (rank - 1, rank - 2) if op_idx == 0 else (rank - 2, rank - 1)
    rounds = ceil_div(instr_shape[2], 2 * k_width)
    halves = 1 if version == 1 else 2
    k_tile: Extent = halves * k_width * rounds
    k_tiles = 1
    if depth is not None:
        k_tiles = max(1, depth // max(instr_shape[2], 2 * k_width))
    high_size = instr_shape[1 - op_idx if is_transposed else op_idx]
    size: list[Extent] = [1] * rank
    size[k_dim] = k_tile * k_tiles
    size[free] = high_size

    def inside(counters: Sequence[Index], lane: Index) -> list[Index]:
        element, turn, k_tile_id, high = counters
        place: list[Index] = [0] * rank
        place[free] = lane % 16 + high * 16
        place[k_dim] = element + turn * (halves * k_width) + k_tile_id * k_tile
        if halves == 2:
            place[k_dim] = place[k_dim] + lane // 16 * k_width
        return place

    digits = (
        Digit(k_dim, k_width),
        Digit(k_dim, rounds),
        Digit(k_dim, k_tiles),
        Digit(free, high_size // 16),
    )
    own = placement.without(k_dim)
    return _placed(shape, size, digits, inside, own, OPERAND, [k_dim, free])


def _columns_first(
    model: DistributedModel, repeats: Digit, place: int, old: int
) -> DistributedModel:
    """Move the loop over columns from the place ``old`` inwards, as ``repeats``."""
    others = [*model.digits[:old], *model.digits[old + 1 :]]

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        rest = [*counters[:place], *counters[place + 1 :]]
        return model.locate([*rest[:old], counters[place], *rest[old:]], lane, warp)

    digits = (*others[:place], repeats, *others[place:])
    return replace(model, digits=digits, locate=locate)


def _placed(
    shape: Sequence[Extent],
    size: Sequence[Extent],
    digits: tuple[Digit, ...],
    inside: Callable[[Sequence[Index], Index], list[Index]],
    placement: Places,
    source: str,
    matrix: list[int],
) -> DistributedModel:
    """Put a tile at its places and repeat it over the tensor, ``matrix[0]`` fastest."""
    rank = len(shape)
    order = matrix + list(reversed(range(rank - 2)))
    per_tile = [size[d] * placement.extent(d) for d in range(rank)]
    own = len(digits)
    chosen = own + len(placement.digits)

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        place = inside(counters[:own], lane)
        tiles = placement.tiles(counters[own:chosen], warp, rank)
        coordinates: list[Index] = [0] * rank
        for tile, d in zip(counters[chosen:], order, strict=True):
            at = place[d] + tiles[d] * size[d] + tile * per_tile[d]
            coordinates[d] = at % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            *digits,
            *placement.digits,
            *(Digit(d, ceil_div(shape[d], per_tile[d])) for d in order),
        ),
        lanes=LANES,
        warps=placement.warps,
        locate=locate,
        source=source,
    )
