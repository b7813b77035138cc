"""Where the tiles of a block go: by warps per dim, or by one vector a bit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .arithmetic import Extent, Index, delinearize, product
from .model import Digit

MIXED = -1
"""Dim of a loop that may move along several dims."""


class Places(Protocol):
    """Which tile a register and a warp work on."""

    @property
    def digits(self) -> tuple[Digit, ...]:
        """Loops over the tiles of one warp."""
        ...

    @property
    def warps(self) -> Extent:
        """Number of warps."""
        ...

    def extent(self, dim: int) -> Extent:
        """Return how many tiles lie along a dim."""
        ...

    def without(self, dim: int) -> "Places":
        """Return the places in a tensor that all tiles along a dim share."""
        ...

    def tiles(self, counters: Sequence[Index], warp: Index, rank: int) -> list[Index]:
        """Return the tile per dim for loop counters and a warp."""
        ...


@dataclass(frozen=True, slots=True)
class WarpGrid:
    """A grid of warps, columns fastest: the form at the pinned commit.

    Attributes:
        warps_per_cta: Warps per dim.
        shared: Dims whose warps hold the same.
    """

    warps_per_cta: tuple[Extent, ...]
    shared: tuple[int, ...] = ()

    @property
    def digits(self) -> tuple[Digit, ...]:
        """No loops: a warp has one tile."""
        return ()

    @property
    def warps(self) -> Extent:
        """Number of warps."""
        return product(self.warps_per_cta)

    def extent(self, dim: int) -> Extent:
        """Return how many tiles lie along a dim."""
        return 1 if dim in self.shared else self.warps_per_cta[dim]

    def without(self, dim: int) -> "WarpGrid":
        """Return the grid in a tensor that all warps along a dim share."""
        return WarpGrid(self.warps_per_cta, (*self.shared, dim))

    def tiles(self, counters: Sequence[Index], warp: Index, rank: int) -> list[Index]:
        """Return the tile per dim."""
        ids = delinearize(warp, self.warps_per_cta, list(reversed(range(rank))))
        zero = warp % 1
        return [zero if d in self.shared else ids[d] for d in range(rank)]


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

    @property
    def digits(self) -> tuple[Digit, ...]:
        """One loop of two tiles for each vector of ``register``."""
        return tuple(Digit(MIXED, 2) for _ in self.register)

    @property
    def warps(self) -> int:
        """Number of warps."""
        return 1 << len(self.warp)

    def without(self, dim: int) -> "Placement":
        """Return the placement for a tensor that all tiles along ``dim`` share."""
        cut = [
            tuple((*v[:dim], 0, *v[dim + 1 :]) for v in part)
            for part in (self.register, self.warp)
        ]
        return Placement(tuple(v for v in cut[0] if any(v)), cut[1])

    def tiles(self, counters: Sequence[Index], warp: Index, rank: int) -> list[Index]:
        """Return the tile per dim."""
        bits = list(zip(counters, self.register, strict=True))
        for vector in self.warp:
            bits.append((warp % 2, vector))
            warp = warp // 2
        ids: list[Index] = [0] * rank
        for bit, vector in bits:
            for d in range(rank):
                ids[d] = ids[d] ^ _times(bit, vector[d])
        return ids


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


def _times(bit: Index, number: int) -> Index:
    """Return ``bit * number`` for a bit, as a sum of shifted copies."""
    total: Index = 0
    step = 1
    while step <= number:
        if number & step:
            total = total + bit * step
        step *= 2
    return total
