"""Where the instructions of one CTA go, for AMD's WMMA."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from algebra.errors import UnsupportedLayoutError

from .parameters import integer, integers, known_keys, powers, vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class CtaLayout:
    """A layout from (register, warp) to the tensor, counted in instructions.

    Attributes:
        register: One vector over the tensor dims for each bit of a warp's repetition.
        warp: One vector over the tensor dims for each bit of the warp's number.

    Raises:
        EncodingError: not lists of vectors of one length.

    Example:
        >>> CtaLayout.from_warps([2, 4], [2, 1])
        CtaLayout(register=((1, 0),), warp=((0, 1), (0, 2), (2, 0)))
    """

    kind: ClassVar[str] = "cta_layout"
    register: tuple[tuple[int, ...], ...] = ()
    warp: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        for name in ("register", "warp"):
            given = vectors(self.kind, name, getattr(self, name), None)
            object.__setattr__(self, name, given)

    @classmethod
    def from_warps(
        cls, warps_per_cta: Sequence[int], tiles_per_warp: Sequence[int] = ()
    ) -> "CtaLayout":
        """Return the layout that two lists stand for, the last dim first.

        Args:
            warps_per_cta: Warps along each tensor dim.
            tiles_per_warp: Instructions of a warp along each dim; default 1 each.

        Raises:
            EncodingError: lists of different lengths.
            NotPowerOfTwoError: an entry is not a power of two.
        """
        warps = powers(cls.kind, "warps_per_cta", warps_per_cta)
        rank = len(warps)
        default = tiles_per_warp or (1,) * rank
        tiles = powers(cls.kind, "tiles_per_warp", default, rank)
        register: list[tuple[int, ...]] = []
        warp: list[tuple[int, ...]] = []
        for dim in reversed(range(rank)):
            step = 1
            for bases, size in ((register, tiles[dim]), (warp, warps[dim])):
                for _ in range(size.bit_length() - 1):
                    bases.append((0,) * dim + (step,) + (0,) * (rank - 1 - dim))
                    step *= 2
        return cls(register=tuple(register), warp=tuple(warp))

    def to_warps(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the two lists that stand for this layout: ``from_warps`` undone.

        Args:
            rank: Number of tensor dims.

        Returns:
            Warps along each tensor dim, and instructions of a warp along each dim.

        Raises:
            UnsupportedLayoutError: two lists cannot say it; has ``cta_layout``.

        Example:
            >>> CtaLayout.from_warps([2, 4], [2, 1]).to_warps(2)
            ((2, 4), (2, 1))
        """
        self._check_rank(rank)
        warps, tiles = (
            tuple(1 << sum(basis[dim] > 0 for basis in bases) for dim in range(rank))
            for bases in (self.warp, self.register)
        )
        if CtaLayout.from_warps(warps, tiles) != self:
            raise UnsupportedLayoutError(
                "amd_wmma of release 3.6 needs a cta_layout that warps_per_cta and "
                f"tiles_per_warp can say, got cta_layout={self}; take a later release",
                cta_layout=self,
            )
        return warps, tiles

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "CtaLayout":
        """Return the layout of a golden object; ``to_dict`` is its inverse.

        Raises:
            EncodingError: unknown keys, or not lists of vectors.
        """
        known_keys(cls.kind, given, ("register", "warp"))
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the golden form."""
        return {
            "register": [list(vector) for vector in self.register],
            "warp": [list(vector) for vector in self.warp],
        }

    def _check_rank(self, rank: int) -> None:
        integer(self.kind, "rank", rank)
        for basis in self.register + self.warp:
            integers(self.kind, "a vector", basis, rank)

    def sizes(self, rank: int) -> list[int]:
        """Return how far the vectors reach along each tensor dim [instructions]."""
        bases = self.register + self.warp
        self._check_rank(rank)
        return [
            1 << max((basis[dim] for basis in bases), default=0).bit_length()
            for dim in range(rank)
        ]


NO_CTA_LAYOUT = CtaLayout()
"""One warp that does one instruction."""
