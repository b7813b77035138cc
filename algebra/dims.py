"""The names of hardware and tensor dims, in one place.

A distributed layout maps (register, lane, warp, block) to (dim0, dim1, ...); a shared
one maps (offset, block). Source: Triton's ``kRegister, kLane, kWarp, kBlock,
kOffset`` and ``standardOutDimNames``.
"""

from collections.abc import Sequence

from .arguments import expect_integers
from .errors import ArgumentError

REGISTER = "register"
LANE = "lane"
WARP = "warp"
BLOCK = "block"
OFFSET = "offset"
INDEX = "index"
HARDWARE_DIMS = (REGISTER, LANE, WARP, BLOCK)
MAX_RANK = 1 << 16


def dim_name(position: int) -> str:
    """Return the name of tensor dim ``position``.

    Example:
        >>> dim_name(1)
        'dim1'
    """
    return f"dim{position}"


def standard_out_dim_names(rank: int) -> tuple[str, ...]:
    """Return ``("dim0", ..., "dim{rank-1}")``.

    Example:
        >>> standard_out_dim_names(2)
        ('dim0', 'dim1')
    """
    if not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
        raise ArgumentError(
            f"rank needs to be an int in [0, {MAX_RANK}], got rank={rank!r}; "
            "give the number of tensor dims",
            argument="rank",
            value=rank,
        )
    return tuple(map(dim_name, range(rank)))


def standard_out_dim_pairs(shape: Sequence[int]) -> dict[str, int]:
    """Return tensor dims with their sizes [elements], dim0 first.

    Example:
        >>> standard_out_dim_pairs([4, 8])
        {'dim0': 4, 'dim1': 8}
    """
    shape = expect_integers("shape", shape)
    return dict(zip(standard_out_dim_names(len(shape)), shape, strict=True))
