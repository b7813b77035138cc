"""Layouts given by their bases: in registers and in shared memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from algebra.dims import BLOCK, LANE, OFFSET, REGISTER, WARP, dim_name
from algebra.errors import EncodingError
from algebra.layout import LinearLayout

from .cga import Cga
from .parameters import (
    allocated,
    check_no_view,
    check_release,
    integer,
    power,
    powers,
    shape_bits,
    vectors,
)

Vectors = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """A distributed layout given by the images of its hardware bits.

    Attributes:
        register: One vector over the tensor dims for each register bit.
        lane: The same for each lane bit.
        warp: The same for each warp bit.
        block: The same for each bit of the CTA's number.
        shape: Sizes that the bases reach [elements]; default: what they reach.

    Raises:
        EncodingError: vectors of different lengths, or none and no shape.
        BasisError: a basis lies outside of the shape.
        NotSurjectiveError: the bases do not reach the whole shape.

    Example:
        >>> linear = Linear(register=[[1]], lane=[[2], [4]], warp=[], block=[])
        >>> linear.to_linear_layout([8]).bases["lane"]
        ((2,), (4,))

    Source: Triton ``LinearEncodingAttr`` and ``GenericLinearEncodingAttr``; the former
        allows permutation matrices with zeros only.
    """

    kind: ClassVar[str] = "linear"
    register: Vectors
    lane: Vectors
    warp: Vectors
    block: Vectors = ()
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        bases = {
            REGISTER: self.register,
            LANE: self.lane,
            WARP: self.warp,
            BLOCK: self.block,
        }
        checked, shape = check_bases(self.kind, bases, self.shape)
        for name, basis in checked.items():
            object.__setattr__(self, name, basis)
        object.__setattr__(self, "shape", shape)

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len(self.shape)

    @property
    def cga(self) -> Cga:
        """The split over CTAs, in parts of one CTA; zero where it cannot be told."""
        return block_split(self.block, self.register + self.lane + self.warp, self.rank)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (register, lane, warp, block); see ``Encoding``.

        A larger shape is reached by more registers, along the dim of the first
        register basis first. For a smaller one, components outside of it become zero,
        and registers whose basis has become zero are dropped.
        """
        check_release(release)
        check_no_view(self.kind, shape, alloc_shape)
        bits = shape_bits(self.kind, shape, self.rank)
        register = list(self.register)
        for dim in self._order():
            vector = [0] * self.rank
            step = self.shape[dim]
            while step < shape[dim]:
                vector[dim] = step
                register.append(tuple(vector))
                step *= 2
        bases = {
            REGISTER: [
                clipped
                for basis in register
                if any(clipped := clip(basis, shape)) or not any(basis)
            ],
            LANE: [clip(basis, shape) for basis in self.lane],
            WARP: [clip(basis, shape) for basis in self.warp],
            BLOCK: [clip(basis, shape) for basis in self.block],
        }
        return LinearLayout.from_bases(
            bases,
            {dim_name(dim): 1 << size for dim, size in enumerate(bits)},
            require_surjective=False,
        )

    def _order(self) -> list[int]:
        """Return the tensor dims as the register bases visit them, then the others."""
        visited = [
            dim
            for basis in self.register
            for dim, component in enumerate(basis)
            if component
        ]
        return list(dict.fromkeys(visited + list(range(self.rank))[::-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLinear:
    """A layout of shared memory given by the images of its offset bits.

    Attributes:
        offset: One vector over the tensor dims for each bit of the offset.
        block: The same for each bit of the CTA's number.
        alignment: Alignment of the first element, a power of two [bytes].

    Raises:
        EncodingError: vectors of different lengths, or none.
        NotPowerOfTwoError: ``alignment`` is not one.
        BasisError: a basis lies outside of the shape.
        NotSurjectiveError: the bases do not reach the whole shape.

    Example:
        >>> shared = SharedLinear(offset=[[0, 1], [1, 1]])
        >>> shared.to_linear_layout([2, 2]).bases["offset"]
        ((0, 1), (1, 1))

    Source: Triton ``SharedLinearEncodingAttr``.
    """

    kind: ClassVar[str] = "shared_linear"
    offset: Vectors
    block: Vectors = ()
    alignment: int = 16

    def __post_init__(self) -> None:
        power(self.kind, "alignment", self.alignment)
        bases = {OFFSET: self.offset, BLOCK: self.block}
        checked, _ = check_bases(self.kind, bases, ())
        for name, basis in checked.items():
            object.__setattr__(self, name, basis)

    @property
    def rank(self) -> int:
        """Number of tensor dims."""
        return len((self.offset + self.block)[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes that the bases reach [elements]."""
        return reach(self.offset + self.block)

    @property
    def cga(self) -> Cga:
        """The split over CTAs, in parts of one CTA; zero where it cannot be told."""
        return block_split(self.block, self.offset, self.rank)

    def to_linear_layout(
        self,
        shape: Sequence[int],
        release: str = "3.9",
        alloc_shape: Sequence[int] | None = None,
        element_bits: int | None = None,
    ) -> LinearLayout:
        """Return the map from (offset, block); see ``Encoding``.

        Raises:
            EncodingError: the bases reach another shape.
        """
        check_release(release)
        whole = allocated(shape, alloc_shape)
        check_exact(self.kind, whole, self.shape)
        return LinearLayout.from_bases(
            {OFFSET: self.offset, BLOCK: self.block},
            {dim_name(dim): size for dim, size in enumerate(self.shape)},
        )


def reach(bases: Vectors) -> tuple[int, ...]:
    """Return the smallest sizes that hold all vectors [elements].

    Example:
        >>> reach(((0, 1), (4, 0)))
        (8, 2)
    """
    return tuple(1 << max(along).bit_length() for along in zip(*bases, strict=True))


def check_exact(kind: str, shape: Sequence[int], needed: Sequence[int]) -> None:
    """Reject a shape that is not the one that the bases reach.

    Raises:
        EncodingError: they differ; has both.
        NotPowerOfTwoError: a size is not a power of two.
    """
    shape_bits(kind, shape, len(needed))
    if tuple(shape) != tuple(needed):
        raise EncodingError(
            f"{kind} is the layout of one shape, {list(needed)}, got "
            f"shape={list(shape)}; give that shape or other bases",
            shape=tuple(shape),
            needed=tuple(needed),
        )


def check_bases(
    kind: str, bases: Mapping[str, object], shape: Sequence[int]
) -> tuple[dict[str, Vectors], tuple[int, ...]]:
    """Check bases; return them as tuples, and the shape that they reach.

    Raises:
        EncodingError: vectors of different lengths, or none and no shape.
        NotPowerOfTwoError: a size is not a power of two.
        NotSurjectiveError: the bases do not reach ``shape``.
    """
    given_sizes = powers(kind, "shape", shape)
    rank = len(given_sizes) or None
    checked: dict[str, Vectors] = {}
    for name, given in bases.items():
        checked[name] = vectors(kind, name, given, rank)
        rank = len(checked[name][0]) if checked[name] else rank
    if rank is None:
        raise EncodingError(
            f"{kind} needs at least one basis or a shape to know its rank, got none; "
            "give the shape",
        )
    integer(kind, "rank", rank, low=1)
    everything = tuple(basis for part in checked.values() for basis in part)
    sizes = given_sizes or reach(everything)
    out_dims = {dim_name(dim): size for dim, size in enumerate(sizes)}
    LinearLayout.from_bases(checked, out_dims)
    return checked, sizes


def block_split(block: Vectors, inside: Vectors, rank: int) -> Cga:
    """Return the bases of the CTA's number, counted in parts of one CTA.

    A component that does not lie above all bases of one CTA is no such count and
    becomes zero.
    """
    part = reach(inside) if inside else (1,) * rank
    return Cga(
        bases=tuple(
            tuple(step // size for step, size in zip(basis, part, strict=True))
            for basis in block
        )
    )


def clip(basis: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Return the vector without the components that lie outside ``shape``."""
    return tuple(
        step if step < size else 0 for step, size in zip(basis, shape, strict=True)
    )
