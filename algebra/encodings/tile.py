"""The tail that all conversions share: one CTA's tile, repeated over the tensor.

An encoding describes a tile: pieces of identity, laid one after the other, each from
some bits of a hardware index to the next free bits of a tensor dim. Then

1. the CTAs of a cluster split the tensor (``Cga``);
2. what the tile lacks of the part of one CTA is repeated, in registers or offsets;
3. what it has too much becomes zero: several threads hold the same element;
4. the CTA's bits are put on top.

``Tile`` does 2 and 3 while the pieces come, on columns that are already packed for
``LinearLayout.from_columns``: a piece of 5 bits costs 5 list appends and no matrix.

Source: Triton ``combineCtaCgaWithShape``, ``identityStandardND``,
``ensureLayoutNotSmallerThan``, ``ensureLayoutNotLargerThan``.
"""

from collections.abc import Iterable, Sequence

from algebra.dims import BLOCK, LANE, REGISTER, WARP, dim_name
from algebra.layout import LinearLayout

from .cga import Cga

DISTRIBUTED = (REGISTER, LANE, WARP)


class Tile:
    """One CTA's part of a layout, while it grows.

    Attributes:
        limits: For each tensor dim, the bits of it that one CTA holds.
        shape_bits: For each tensor dim, the bits of it.
        filled: For each tensor dim, the bits that have been laid so far.
        shifts: For each tensor dim, where its bits start in a packed column.
    """

    __slots__ = ("_block", "_columns", "filled", "limits", "shape_bits", "shifts")

    def __init__(
        self,
        shape_bits: Sequence[int],
        cga: Cga,
        in_dims: Iterable[str] = DISTRIBUTED,
    ) -> None:
        """Start with nothing laid.

        Args:
            shape_bits: Exponents of the sizes of the tensor.
            cga: How the CTAs of a cluster split it.
            in_dims: Hardware dims of one CTA; the first takes the repetitions.
        """
        self.shape_bits = shape_bits
        self.shifts: list[int] = []
        shift = 0
        for bits in shape_bits:
            self.shifts.append(shift)
            shift += bits
        self.limits, block = cga.split(shape_bits)
        self._block = [
            sum(
                component << shift + limit
                for component, shift, limit in zip(
                    basis, self.shifts, self.limits, strict=True
                )
            )
            for basis in block
        ]
        self.filled = [0] * len(shape_bits)
        self._columns: dict[str, list[int]] = {in_dim: [] for in_dim in in_dims}

    def identity(self, in_dim: str, dim: int, size: int) -> None:
        """Lay ``size`` positions of ``in_dim`` along tensor dim ``dim``.

        Args:
            in_dim: Hardware dim whose next bits are used.
            dim: Tensor dim whose next bits are reached; bits beyond the part of one
                CTA are not, they are zero columns.
            size: A power of two [elements].
        """
        columns = self._columns[in_dim]
        start = self.filled[dim]
        stop = start + size.bit_length() - 1
        limit = self.limits[dim]
        column = 1 << self.shifts[dim] + start
        for bit in range(start, stop):
            columns.append(column if bit < limit else 0)
            column <<= 1
        self.filled[dim] = stop

    def zeros(self, in_dim: str, size: int) -> None:
        """Let ``size`` positions of ``in_dim`` hold the same elements (broadcast)."""
        self._columns[in_dim].extend([0] * (size.bit_length() - 1))

    def standard(
        self,
        in_dim: str,
        sizes: Sequence[int],
        order: Iterable[int],
        broadcast: int | None = None,
    ) -> None:
        """Lay ``sizes[d]`` positions along each tensor dim d, in ``order``.

        Args:
            in_dim: Hardware dim.
            sizes: One power of two for each tensor dim.
            order: Tensor dims, the fastest first.
            broadcast: Tensor dim along which the positions hold the same elements.
        """
        for dim in order:
            if dim == broadcast:
                self.zeros(in_dim, sizes[dim])
            else:
                self.identity(in_dim, dim, sizes[dim])

    def vector(self, in_dim: str, components: Sequence[int]) -> None:
        """Lay one bit of ``in_dim`` along several tensor dims at once.

        A component that lies outside the part of one CTA is replaced by zero. The
        caller says with ``cover`` how far the vectors reached.
        """
        column = 0
        for component, limit, shift in zip(
            components, self.limits, self.shifts, strict=True
        ):
            if not component >> limit:
                column |= component << shift
        self._columns[in_dim].append(column)

    def cover(self, dim: int, size: int) -> None:
        """Say that tensor dim ``dim`` has been reached up to ``size`` [elements]."""
        self.filled[dim] = size.bit_length() - 1

    def repeat(self, in_dim: str, order: Iterable[int]) -> None:
        """Fill each tensor dim, in ``order``, up to the part of one CTA."""
        for dim in order:
            missing = self.limits[dim] - self.filled[dim]
            if missing > 0:
                self.identity(in_dim, dim, 1 << missing)

    def drop_zeros(self, in_dim: str) -> None:
        """Forget the bits of ``in_dim`` that reach nothing new."""
        self._columns[in_dim] = [column for column in self._columns[in_dim] if column]

    def move(self, source: str, target: str, index: int) -> None:
        """Move bit ``index`` of ``source`` to the end of ``target``.

        Where ``source`` has no such bit, the new one is a zero: a broadcast.
        """
        columns = self._columns[source]
        moved = columns.pop(index) if index < len(columns) else 0
        self._columns[target].append(moved)

    def exchange(self, one: str, index: int, other: str, place: int) -> None:
        """Exchange bit ``index`` of ``one`` and bit ``place`` of ``other``."""
        left, right = self._columns[one], self._columns[other]
        left[index], right[place] = right[place], left[index]

    def width(self, in_dim: str) -> int:
        """Return the number of bits of ``in_dim`` so far."""
        return len(self._columns[in_dim])

    def finish(self, order: Iterable[int]) -> LinearLayout:
        """Repeat over the part of one CTA, put the CTA's bits on top.

        Args:
            order: Tensor dims in the order in which the tile is repeated.

        Returns:
            Layout from the hardware dims and ``block`` to ``dim0``, ``dim1``, ...
        """
        self.repeat(next(iter(self._columns)), order)
        in_bits = {in_dim: len(columns) for in_dim, columns in self._columns.items()}
        in_bits[BLOCK] = len(self._block)
        columns = [column for part in self._columns.values() for column in part]
        columns += self._block
        out_bits = {dim_name(dim): bits for dim, bits in enumerate(self.shape_bits)}
        return LinearLayout.from_columns(in_bits, out_bits, columns)
