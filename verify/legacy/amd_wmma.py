"""AMD WMMA (RDNA, 32 lanes): results, and operands in registers.

Sixteen lanes cover the fast dim of a 16 x 16 tile. In version 1 the two halves of the
warp hold alternating rows, in versions 2 and 3 the upper and the lower eight rows.
Where the tiles of a block go was ``warps_per_cta`` at the pinned commit, columns
fastest; it has since become one vector a bit (``placement``), of which that is a case.

Register numbers of operands run along K first, as in the upstream loop nest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .arithmetic import Extent, Index, ceil_div
from .model import Digit, DistributedModel
from .upstream import upstream

LANES = 32
RESULT = upstream("emitBaseIndexForWmmaLayout, emitWmmaOffsetForCTA")
OPERAND = upstream(
    "computeTensorElemMappingInBlockWmma1, computeTensorElemMappingInBlockWmma2",
    "third_party/amd/lib/TritonAMDGPUToLLVM/ConvertLayoutOpToLLVM/"
    "SharedToDotOperandWMMA.cpp",
)
MIXED = -1
"""Dim of a loop that may move along several dims."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which tile a bit of the register number and of the warp leads to.

    Attributes:
        register: One vector over the dims a bit, counted in tiles.
        warp: One vector over the dims a bit, counted in tiles.
    """

    register: tuple[tuple[int, ...], ...] = ()
    warp: tuple[tuple[int, ...], ...] = ()

    def extent(self, dim: int) -> int:
        """Return how many tiles along a dim the vectors reach."""
        reach = max((v[dim] for v in self.register + self.warp), default=0)
        return 1 << reach.bit_length()

    def without(self, dim: int) -> "Placement":
        """Return the placement for a tensor that all tiles along ``dim`` share."""
        cut = [
            tuple((*v[:dim], 0, *v[dim + 1 :]) for v in part)
            for part in (self.register, self.warp)
        ]
        return Placement(tuple(v for v in cut[0] if any(v)), cut[1])


def warps_of(warps_per_cta: Sequence[int]) -> Placement:
    """Return the placement that a list of warps per dim stands for, columns fastest.

    Example:
        >>> warps_of([2, 4]).warp
        ((0, 1), (0, 2), (1, 0))
    """
    vectors = []
    for dim in reversed(range(len(warps_per_cta))):
        step = 1
        while step < warps_per_cta[dim]:
            vector = [0] * len(warps_per_cta)
            vector[dim] = step
            vectors.append(tuple(vector))
            step *= 2
    return Placement((), tuple(vectors))


def amd_wmma(
    shape: Sequence[Extent],
    version: int,
    is_transposed: bool,
    placement: Placement,
    instr_shape: Sequence[int] = (16, 16, 16),
) -> DistributedModel:
    """Return the index formula of a WMMA result.

    Args:
        shape: Tensor shape of one block, rank 2 or 3.
        version: 1 RDNA3, 2 RDNA4, 3 gfx1250.
        is_transposed: Whether a lane's registers run along columns.
        placement: Where the tiles of a block go.
        instr_shape: Rows, columns and K of the instruction.

    Example:
        >>> amd_wmma([16, 16], 1, False, Placement()).position(3, 17, 0)
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
    return _placed(shape, size, digits, inside, placement, RESULT, [n, m])


def amd_wmma_operand(
    shape: Sequence[Extent],
    version: int,
    placement: Placement,
    instr_shape: Sequence[int],
    op_idx: int,
    k_width: int,
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
        >>> model = amd_wmma_operand([16, 16], 2, Placement(), [16, 16, 16], 0, 8)
        >>> model.position(3, 17, 0)
        [1, 11]

    Source: see ``OPERAND``.
    """
    rank = len(shape)
    k_dim, free = (rank - 1, rank - 2) if op_idx == 0 else (rank - 2, rank - 1)
    rounds = max(1, instr_shape[2] // (2 * k_width))
    halves = 1 if version == 1 else 2
    k_tile = halves * k_width * rounds
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


def _placed(
    shape: Sequence[Extent],
    size: Sequence[Extent],
    digits: tuple[Digit, ...],
    inside: Callable[[Sequence[Index], Index], list[Index]],
    placement: Placement,
    source: str,
    matrix: list[int],
) -> DistributedModel:
    """Put a tile at its places and repeat it over the tensor, ``matrix[0]`` fastest."""
    rank = len(shape)
    order = matrix + list(reversed(range(rank - 2)))
    per_tile = [size[d] * placement.extent(d) for d in range(rank)]
    own = len(digits)
    chosen = own + len(placement.register)

    def locate(counters: Sequence[Index], lane: Index, warp: Index) -> list[Index]:
        place = inside(counters[:own], lane)
        bits = list(zip(counters[own:chosen], placement.register, strict=True))
        for vector in placement.warp:
            bits.append((warp % 2, vector))
            warp = warp // 2
        coordinates: list[Index] = [0] * rank
        for tile, d in zip(counters[chosen:], order, strict=True):
            tile_id: Index = 0
            for bit, vector in bits:
                tile_id = tile_id ^ _times(bit, vector[d])
            at = place[d] + tile_id * size[d] + tile * per_tile[d]
            coordinates[d] = at % shape[d]
        return coordinates

    return DistributedModel(
        shape=tuple(shape),
        digits=(
            *digits,
            *(Digit(MIXED, 2) for _ in placement.register),
            *(Digit(d, ceil_div(shape[d], per_tile[d])) for d in order),
        ),
        lanes=LANES,
        warps=1 << len(placement.warp),
        locate=locate,
        source=source,
    )


def _times(bit: Index, number: int) -> Index:
    """Return ``bit * number`` for a bit, as a sum of shifted copies."""
    total: Index = 0
    step = 1
    while step <= number:
        if number & step:
            total = total + bit * step
        step *= 2
    return total
