"""LinearLayout: a tensor layout as a matrix over F2.

Take a 4 x 4 tensor that 4 lanes hold, each in 4 registers, so that lane l, register r
holds some element (row, col). Say where four single bits go: register 1 holds
(0, 1), register 2 holds (0, 2), lane 1 holds (1, 1), lane 2 holds (2, 2). Every other
place follows by one rule, ``L(a xor b) = L(a) xor L(b)``: register 3 of lane 0 holds
(0, 1) xor (0, 2) = (0, 3), register 1 of lane 3 holds (0, 1) xor (1, 1) xor (2, 2) =
(3, 2). Writing down the columns held by each lane gives 0123, 1032, 2301, 3210: the
swizzle that keeps a 4 x 4 transpose free of bank conflicts. Its four *bases* say
all of it.

So a layout is a linear map from named index bits to named coordinate bits. A map from
hardware to tensor, and not back, because one element may live in several places: a
broadcast is a basis that is zero, and the other direction would be a relation.

Six layouts to know, with ``x`` the input: identity ``x -> x``; zeros ``x -> 0``; the
2-D identity ``(x, y) -> (x, y)``; transpose ``(x, y) -> (y, x)``; strided ``x -> 4 x``;
broadcast ``(lane, warp) -> lane``.

Storage: all bases in one tuple ``columns`` of ints; an image packs the coordinates
with the first out-dim in the low bits (minor to major), and the in-dims follow each
other in the same way. Composition is then a matrix product, equality of layouts is
equality of tuples, and nothing is limited to 64 bits.

What a linear layout cannot say: sizes that are not powers of two, padding, and
additions that carry. For an xor constant there is ``AffineLayout``.

The idea and the vocabulary are those of Triton's ``LinearLayout``
(include/triton/Tools/LinearLayout.h; K. Zhou et al., "Linear Layouts", ASPLOS 2026).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NoReturn, final

from . import bases as basis_vectors
from . import division, gauss, inversion, relabel
from .arguments import expect_integers, expect_layout, expect_names, expect_sizes
from .bits import log2
from .errors import (
    ArgumentError,
    BasisError,
    DimMismatchError,
    LayoutError,
    NotInvertibleError,
    NotPowerOfTwoError,
    NotSurjectiveError,
    OutOfRangeError,
)
from .units import UNIT_SETS, UNITS, images_of_units

Vector = tuple[int, ...]


@final
class LinearLayout:
    """An F2-linear map from named input dims to named output dims.

    Law: ``L(a xor b) == L(a) xor L(b)`` with xor dim by dim; so ``L`` is given by its
    bases, the images of the powers of two. Theorem ``additive_map_is_a_layout``.

    Immutable and hashable. Equality is ordered and sees out-dim sizes, as upstream;
    see ``equal_ignoring_out_dim_sizes``. Make one with ``from_bases``,
    ``from_columns``, ``identity_1d``, ``strided_1d``, ``zeros_1d`` or ``empty``.

    Attributes:
        in_names: Input dims, minor to major.
        in_bits: Log2 of each input dim's size [bits].
        out_names: Output dims, minor to major.
        out_bits: Log2 of each output dim's size [bits].
        columns: Image of each input bit, packed with the first out-dim lowest.

    Example:
        >>> swizzle = LinearLayout.from_bases(
        ...     {"register": [[0, 1], [0, 2]], "lane": [[1, 1], [2, 2]]},
        ...     {"dim0": 4, "dim1": 4},
        ... )
        >>> swizzle.apply({"register": 1, "lane": 3})
        {'dim0': 3, 'dim1': 2}
    """

    __slots__ = ("columns", "in_bits", "in_names", "out_bits", "out_names")

    in_names: tuple[str, ...]
    in_bits: tuple[int, ...]
    out_names: tuple[str, ...]
    out_bits: tuple[int, ...]
    columns: tuple[int, ...]

    def __init__(self) -> None:
        """Refuse: a layout is made by one of its class methods."""
        raise ArgumentError(
            "LinearLayout() takes no arguments; use LinearLayout.from_bases(bases, "
            "out_dims), LinearLayout.empty(), identity_1d, strided_1d or zeros_1d"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"LinearLayout is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"LinearLayout is immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (
            self.in_names,
            self.in_bits,
            self.out_names,
            self.out_bits,
            self.columns,
        )

    @classmethod
    def from_bases(
        cls,
        bases: Mapping[str, Sequence[Sequence[int]]],
        out_dims: Mapping[str, int] | Iterable[str],
        require_surjective: bool = True,
    ) -> "LinearLayout":
        """Make a layout from the images of the powers of two of each input dim.

        Args:
            bases: For each input dim, in order, ``bases[dim][i]`` is the image of
                ``2**i`` as one coordinate for each out-dim [elements].
            out_dims: Name -> size of each out-dim [elements], minor to major; or
                only the names, and each size is the next power of two above the
                largest coordinate.
            require_surjective: Reject bases that do not reach every output.

        Returns:
            The layout with ``bases[dim][i] == L(dim=2**i)``.

        Raises:
            BasisError: a vector has a wrong length, is not of ints, is negative or
                too large for its out-dim; names the dim and the position.
            NotPowerOfTwoError: an out-dim's size is not a power of two.
            NotSurjectiveError: an output is not reached; has ``missing``.
            DimMismatchError: an out-dim name is repeated.

        Example:
            >>> LinearLayout.from_bases({"lane": [[2], [1]]}, ["dim0"]).out_dims
            {'dim0': 4}

        Source: Triton ``LinearLayout(bases, outDims, requireSurjective)``.
        """
        try:
            in_names = tuple(bases)
            in_bits = tuple(map(len, bases.values()))
            vectors = list(chain.from_iterable(bases.values()))
        except (TypeError, AttributeError) as error:
            raise BasisError(
                "bases must map each in-dim to a list of vectors, got "
                f"bases={bases!r}; write {{'lane': [[0, 1], [0, 2]], ...}}"
            ) from error
        out_names, out_bits, columns = basis_vectors.pack(bases, vectors, out_dims)
        if require_surjective:
            _require_surjective(columns, out_names, out_bits)
        return _make(in_names, in_bits, out_names, out_bits, columns)

    @classmethod
    def from_columns(
        cls,
        in_dims: Mapping[str, int],
        out_dims: Mapping[str, int],
        columns: Iterable[int],
    ) -> "LinearLayout":
        """Make a layout, surjective or not, from packed columns.

        Args:
            in_dims: Name -> log2 of the size [bits], minor to major.
            out_dims: Name -> log2 of the size [bits], minor to major.
            columns: One packed image for each input bit; see the class.

        Raises:
            BasisError: a wrong number of columns, or one that is out of range.

        Example:
            >>> LinearLayout.from_columns({"x": 2}, {"y": 1, "z": 1}, [2, 1]).bases
            {'x': ((0, 1), (1, 0))}
        """
        try:
            packed = tuple(columns)
            in_bits, out_bits = tuple(in_dims.values()), tuple(out_dims.values())
        except (AttributeError, TypeError):
            expect_sizes("in_dims", in_dims)
            expect_sizes("out_dims", out_dims)
            packed = expect_integers("columns", columns)
        for dims, sizes in ((in_dims, in_bits), (out_dims, out_bits)):
            if not all(type(bits) is int and bits >= 0 for bits in sizes):
                raise BasisError(
                    "needed sizes as exponents, ints from 0 up, got "
                    f"{dict(dims)}; a dim of 32 elements has 5 bits",
                    got=dict(dims),
                )
        if len(packed) != sum(in_bits):
            raise BasisError(
                f"needed one column for each of {sum(in_bits)} input bits, got "
                f"len(columns)={len(packed)}",
                needed=sum(in_bits),
                got=len(packed),
            )
        for index, column in enumerate(packed):
            if not isinstance(column, int) or column < 0 or column >> sum(out_bits):
                raise BasisError(
                    f"a column must lie in [0, 2**{sum(out_bits)}), got "
                    f"columns[{index}]={column!r}",
                    index=index,
                    column=column,
                )
        return _make(tuple(in_dims), in_bits, tuple(out_dims), out_bits, packed)

    @classmethod
    def empty(cls) -> "LinearLayout":
        """Return the layout without dims, the unit of ``*``."""
        return _make((), (), (), (), ())

    @classmethod
    def identity_1d(cls, size: int, in_dim: str, out_dim: str) -> "LinearLayout":
        """Return ``x -> x`` for ``size`` [elements] inputs.

        Raises:
            NotPowerOfTwoError: ``size`` is not a power of two.

        Source: Triton ``identity1D``.
        """
        return cls.strided_1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided_1d(
        cls, size: int, stride: int, in_dim: str, out_dim: str
    ) -> "LinearLayout":
        """Return ``x -> stride * x``; the out-dim has ``size * stride`` elements.

        Not surjective for ``stride`` > 1.

        Raises:
            NotPowerOfTwoError: ``size`` or ``stride`` is not a power of two.

        Example:
            >>> LinearLayout.strided_1d(4, 2, "lane", "dim0").bases
            {'lane': ((2,), (4,))}

        Source: Triton ``strided1D``.
        """
        bits, shift = log2(size), log2(stride, what="stride")
        columns = tuple(1 << shift + i for i in range(bits))
        return _make((in_dim,), (bits,), (out_dim,), (bits + shift,), columns)

    @classmethod
    def zeros_1d(
        cls, size: int, in_dim: str, out_dim: str, out_size: int = 1
    ) -> "LinearLayout":
        """Return ``x -> 0``: ``size`` places hold the same element (broadcast).

        Not surjective for ``out_size`` > 1.

        Raises:
            NotPowerOfTwoError: a size is not a power of two.

        Source: Triton ``zeros1D``.
        """
        bits, out_bits = log2(size), log2(out_size, what="out_size")
        return _make((in_dim,), (bits,), (out_dim,), (out_bits,), (0,) * bits)

    @property
    def bases(self) -> dict[str, tuple[Vector, ...]]:
        """For each in-dim, the image of each power of two over the out-dims."""
        vectors = basis_vectors.unpack(self.columns, self.out_bits)
        ends = list(accumulate(self.in_bits))
        return {
            name: vectors[end - bits : end]
            for name, bits, end in zip(self.in_names, self.in_bits, ends, strict=True)
        }

    @property
    def in_dims(self) -> dict[str, int]:
        """In-dim -> size [elements], minor to major."""
        return {n: 1 << b for n, b in zip(self.in_names, self.in_bits, strict=True)}

    @property
    def out_dims(self) -> dict[str, int]:
        """Out-dim -> size [elements], minor to major."""
        return {n: 1 << b for n, b in zip(self.out_names, self.out_bits, strict=True)}

    @property
    def rank(self) -> int:
        """Rank of the matrix: log2 of the number of distinct outputs."""
        return gauss.rank(self.columns)

    @property
    def is_surjective(self) -> bool:
        """Whether every output is the image of some input."""
        total = sum(self.out_bits)
        if total < len(UNIT_SETS) and UNIT_SETS[total].issubset(self.columns):
            return True
        return gauss.rank(self.columns) == total

    @property
    def is_injective(self) -> bool:
        """Whether no two inputs have the same image (no broadcast)."""
        return gauss.rank(self.columns) == len(self.columns)

    @property
    def is_invertible(self) -> bool:
        """Whether the layout is a bijection."""
        return len(self.columns) == sum(self.out_bits) and self.is_surjective

    @property
    def num_in_dims(self) -> int:
        """Number of in-dims."""
        return len(self.in_names)

    @property
    def num_out_dims(self) -> int:
        """Number of out-dims."""
        return len(self.out_names)

    def get_in_dim_names(self) -> tuple[str, ...]:
        """Return the in-dims, minor to major."""
        return self.in_names

    def get_out_dim_names(self) -> tuple[str, ...]:
        """Return the out-dims, minor to major."""
        return self.out_names

    def has_in_dim(self, in_dim: str) -> bool:
        """Say whether ``in_dim`` exists."""
        return in_dim in self.in_names

    def has_out_dim(self, out_dim: str) -> bool:
        """Say whether ``out_dim`` exists."""
        return out_dim in self.out_names

    def get_out_dim_index(self, out_dim: str) -> int:
        """Return the position of ``out_dim``; DimMismatchError if there is none."""
        return relabel.position(self.out_names, out_dim, "out_dim")

    def get_in_dim_size_log2(self, in_dim: str) -> int:
        """Return log2 of a size [bits]; DimMismatchError if there is no such dim."""
        return self.in_bits[relabel.position(self.in_names, in_dim, "in_dim")]

    def get_out_dim_size_log2(self, out_dim: str) -> int:
        """Return log2 of a size [bits]; DimMismatchError if there is no such dim."""
        return self.out_bits[self.get_out_dim_index(out_dim)]

    def get_in_dim_size(self, in_dim: str) -> int:
        """Return a size [elements]; DimMismatchError if there is no such dim."""
        return 1 << self.get_in_dim_size_log2(in_dim)

    def get_out_dim_size(self, out_dim: str) -> int:
        """Return a size [elements]; DimMismatchError if there is no such dim."""
        return 1 << self.get_out_dim_size_log2(out_dim)

    def get_in_dim_sizes(self) -> dict[str, int]:
        """Return ``in_dims``."""
        return self.in_dims

    def get_out_dim_sizes(self) -> dict[str, int]:
        """Return ``out_dims``."""
        return self.out_dims

    def get_total_in_dim_size_log2(self) -> int:
        """Return the number of input bits."""
        return len(self.columns)

    def get_total_out_dim_size_log2(self) -> int:
        """Return the number of output bits."""
        return sum(self.out_bits)

    def get_total_in_dim_size(self) -> int:
        """Return the number of inputs."""
        return 1 << len(self.columns)

    def get_total_out_dim_size(self) -> int:
        """Return the number of outputs, reached or not."""
        return 1 << sum(self.out_bits)

    def get_basis(
        self, in_dim: str, index: int, out_dim: str | None = None
    ) -> Vector | int:
        """Return the image of ``in_dim = 2**index``, or one coordinate of it.

        Raises:
            DimMismatchError: no such dim.
            OutOfRangeError: ``index`` is not a bit of ``in_dim``.
        """
        columns = self.in_columns(in_dim)
        if not isinstance(index, int) or not 0 <= index < len(columns):
            raise OutOfRangeError(
                f"in-dim {in_dim} has bits 0 to {len(columns) - 1}, got "
                f"index={index!r}",
                in_dim=in_dim,
                index=index,
            )
        vector = basis_vectors.unpack((columns[index],), self.out_bits)[0]
        return vector if out_dim is None else vector[self.get_out_dim_index(out_dim)]

    def in_columns(self, in_dim: str) -> tuple[int, ...]:
        """Return the packed images of the bits of one in-dim."""
        position = relabel.position(self.in_names, in_dim, "in_dim")
        start = sum(self.in_bits[:position])
        return self.columns[start : start + self.in_bits[position]]

    def apply(self, point: Mapping[str, int]) -> dict[str, int]:
        """Evaluate the layout.

        Args:
            point: One index for each in-dim, in any order.

        Returns:
            One coordinate for each out-dim.

        Raises:
            DimMismatchError: an in-dim is missing or unexpected.
            OutOfRangeError: an index is not in ``[0, size)``.

        Example:
            >>> LinearLayout.identity_1d(4, "lane", "dim0").apply({"lane": 3})
            {'dim0': 3}
        """
        index = shift = 0
        try:
            for name, bits in zip(self.in_names, self.in_bits, strict=False):
                value = point[name]
                if value >> bits:
                    raise OutOfRangeError(
                        f"{name} must lie in [0, {1 << bits}), got {name}={value}",
                        dim=name,
                        value=value,
                        size=1 << bits,
                    )
                index |= value << shift
                shift += bits
        except (KeyError, IndexError, TypeError) as error:
            raise _bad_point(self, point) from error
        known = type(point) is dict or isinstance(point, Mapping)
        if not known or len(point) != len(self.in_names):
            raise _bad_point(self, point)
        columns = self.columns
        image = 0
        while index:
            low = index & -index
            image ^= columns[low.bit_length() - 1]
            index ^= low
        result = {}
        for name, bits in zip(self.out_names, self.out_bits, strict=False):
            result[name] = image & (1 << bits) - 1
            image >>= bits
        return result

    __call__ = apply

    def apply_index(self, index: int) -> int:
        """Evaluate on a packed index: all in-dims in one int, the first one lowest.

        Raises:
            OutOfRangeError: ``index`` has more bits than the in-dims.
        """
        if not isinstance(index, int) or index < 0 or index >> len(self.columns):
            raise OutOfRangeError(
                f"index must be an int in [0, 2**{len(self.columns)}), got "
                f"index={index!r}",
                index=index,
            )
        return gauss.apply(self.columns, index)

    def compose(self, outer: "LinearLayout") -> "LinearLayout":
        """Compose two layouts: run this one, then ``outer``.

        Law: ``self.compose(outer).apply(x) == outer.apply(self.apply(x))``.

        Args:
            outer: Layout whose in-dims are this layout's out-dims (any order), each
                at least as large [elements].

        Returns:
            Layout from this layout's in-dims to ``outer``'s out-dims.

        Raises:
            DimMismatchError: a dim is missing or too small; names the dim and sizes.

        Example:
            >>> twice = LinearLayout.strided_1d(4, 2, "x", "y")
            >>> twice.compose(LinearLayout.strided_1d(8, 2, "y", "z")).bases
            {'x': ((4,), (8,))}

        Source: Triton ``LinearLayout::compose``; theorem ``compose_is_matrix_product``.
        """
        columns: Sequence[int] = self.columns
        if not isinstance(outer, LinearLayout):
            expect_layout("outer", outer)
        if self.out_names != outer.in_names or self.out_bits != outer.in_bits:
            columns = inversion.aligned_columns(self, outer.in_names, outer.in_bits)
        images = images_of_units(outer.columns)
        product = [
            images[column] if column in images else gauss.apply(outer.columns, column)
            for column in columns
        ]
        return _make(
            self.in_names, self.in_bits, outer.out_names, outer.out_bits, tuple(product)
        )

    def invert(self) -> "LinearLayout":
        """Return the inverse of a bijection.

        Law: ``L.compose(L.invert())`` is the identity.

        Raises:
            NotInvertibleError: not a bijection; ``kernel`` is a nonzero input that
                maps to zero, or None where only surjectivity fails.

        Source: Triton ``LinearLayout::invert``; theorem ``right_inverse_exists``.
        """
        count = len(self.columns)
        if count == sum(self.out_bits):
            where = dict(zip(self.columns, UNITS, strict=False))
            units = UNITS[:count]
            inverse: list[int] | None
            if len(units) == count and where.keys() == UNIT_SETS[count]:
                inverse = [where[unit] for unit in units]
            else:
                inverse = gauss.inverse(self.columns)
            if inverse is not None:
                return _make(
                    self.out_names,
                    self.out_bits,
                    self.in_names,
                    self.in_bits,
                    tuple(inverse),
                )
        raise inversion.not_invertible(self)

    def pseudoinvert(self) -> "LinearLayout":
        """Return the smallest right inverse of a surjective layout.

        Law: ``L.pseudoinvert().compose(L)`` is the identity of the out-dims, and
        among all preimages the numerically smallest is taken.

        Raises:
            NotSurjectiveError: some output has no preimage.

        Source: Triton ``LinearLayout::pseudoinvert``.
        """
        _require_surjective(self.columns, self.out_names, self.out_bits)
        count = sum(self.out_bits)
        identity = tuple(1 << i for i in range(count))
        return _make(
            self.out_names, self.out_bits, self.out_names, self.out_bits, identity
        ).invert_and_compose(self)

    def invert_and_compose(self, outer: "LinearLayout") -> "LinearLayout":
        """Return C with ``outer(C(x)) == self(x)``: from my places to ``outer``'s.

        Laws: ``C.compose(outer) == self`` (up to out-dim order and sizes). In-dims on
        which both layouts are the same are mapped by the identity, if the rest can be
        solved without them; on all others, or else on all, C is the numerically
        smallest solution: its free variables are zero.

        Args:
            outer: Layout onto the same out-dims (any order), each at least as large.

        Returns:
            Layout from this layout's in-dims to ``outer``'s in-dims.

        Raises:
            DimMismatchError: the out-dims differ, or one of ``outer`` is smaller.
            NotSolvableError: ``outer`` does not reach one of this layout's outputs.

        Source: Triton ``LinearLayout::invertAndCompose``; theorem
        ``conversion_then_destination_is_source``.
        """
        columns = inversion.preimages(self, outer)
        return _make(
            self.in_names, self.in_bits, outer.in_names, outer.in_bits, tuple(columns)
        )

    def __mul__(self, other: "LinearLayout") -> "LinearLayout":
        """Return the direct sum: this layout in the low bits of every shared dim.

        Law: with x = (low, high), ``(A * B)(x) = A(low) + (size of A's out) * B(high)``
        dim by dim. Not commutative: ``A * B`` repeats the tile A in the pattern B.

        Raises:
            DimMismatchError: the two name their shared dims in conflicting orders.

        Source: Triton ``operator*``; theorem ``product_of_invertible_is_invertible``.
        """
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return _make(*division.product(self, other))

    def divide_left(self, divisor: "LinearLayout") -> "LinearLayout | None":
        """Return C with ``self == divisor * C``, or None if there is none.

        C keeps all dims of this layout, some of size 1.

        Source: Triton ``divideLeft``; theorem ``left_division_undoes_product``.
        """
        expect_layout("divisor", divisor)
        parts = division.quotient_candidate(self, divisor, left=True)
        return None if parts is None else _make(*parts)

    def divide_right(self, divisor: "LinearLayout") -> "LinearLayout | None":
        """Return C with ``self == C * divisor``, or None if there is none.

        Source: Triton ``divideRight``; theorem ``right_division_undoes_product``.
        """
        expect_layout("divisor", divisor)
        parts = division.quotient_candidate(self, divisor, left=False)
        return None if parts is None else _make(*parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return (
            self.columns == other.columns
            and self.in_names == other.in_names
            and self.in_bits == other.in_bits
            and self.out_names == other.out_names
            and self.out_bits == other.out_bits
        )

    def __hash__(self) -> int:
        return hash(
            (self.in_names, self.in_bits, self.out_names, self.out_bits, self.columns)
        )

    def equal_ignoring_out_dim_sizes(self, other: "LinearLayout") -> bool:
        """Say whether names and bases agree while out-dims may have other sizes."""
        expect_layout("other", other)
        return self.out_names == other.out_names and list(self.bases.items()) == list(
            other.bases.items()
        )

    def transpose_ins(self, order: Sequence[str]) -> "LinearLayout":
        """Put the in-dims in another order; the map is the same.

        Raises:
            DimMismatchError: ``order`` is not a permutation of the in-dims.
        """
        positions = relabel.permutation(self.in_names, order, "in_dims")
        return _make(*relabel.take_ins(self, positions))

    def transpose_outs(self, order: Sequence[str]) -> "LinearLayout":
        """Put the out-dims in another order; the map is the same.

        Raises:
            DimMismatchError: ``order`` is not a permutation of the out-dims.
        """
        positions = relabel.permutation(self.out_names, order, "out_dims")
        return _make(*relabel.take_outs(self, positions))

    def reshape_ins(self, dims: Mapping[str, int]) -> "LinearLayout":
        """Flatten the in-dims minor to major and cut them again.

        Args:
            dims: New name -> size [elements], minor to major, same total.

        Raises:
            DimMismatchError: another total size.
            NotPowerOfTwoError: a size is not a power of two.

        Source: Triton ``reshapeIns`` (the FIRST dim is the most minor).
        """
        bits = relabel.recut(dims, len(self.columns), "in_dims")
        return _make(tuple(dims), bits, self.out_names, self.out_bits, self.columns)

    def reshape_outs(self, dims: Mapping[str, int]) -> "LinearLayout":
        """Flatten the out-dims minor to major and cut them again; see reshape_ins."""
        bits = relabel.recut(dims, sum(self.out_bits), "out_dims")
        return _make(self.in_names, self.in_bits, tuple(dims), bits, self.columns)

    def flatten_ins(self) -> "LinearLayout":
        """Merge all in-dims into the first one; without in-dims, return self."""
        if not self.in_names:
            return self
        return self.reshape_ins({self.in_names[0]: 1 << len(self.columns)})

    def flatten_outs(self) -> "LinearLayout":
        """Merge all out-dims into the first one; without out-dims, return self."""
        if not self.out_names:
            return self
        return self.reshape_outs({self.out_names[0]: 1 << sum(self.out_bits)})

    def resize_in_dim(self, in_dim: str, size: int) -> "LinearLayout":
        """Drop the top bases of ``in_dim``, or append zero bases (broadcast).

        Raises:
            DimMismatchError: no such dim.
            NotPowerOfTwoError: ``size`` [elements] is not a power of two.
        """
        return _make(*relabel.resize_in(self, in_dim, log2(size)))

    def resize_out_dim(self, out_dim: str, size: int) -> "LinearLayout":
        """Keep the low bits of ``out_dim`` only.

        Raises:
            DimMismatchError: no such dim, or ``size`` [elements] is larger than it.
            NotPowerOfTwoError: ``size`` is not a power of two.
        """
        return _make(*relabel.resize_out(self, out_dim, log2(size)))

    def rename_in_dim(self, old: str, new: str) -> "LinearLayout":
        """Rename one in-dim; DimMismatchError if it is missing or ``new`` exists."""
        names = relabel.rename(self.in_names, old, new, "in_dim")
        return _make(names, self.in_bits, self.out_names, self.out_bits, self.columns)

    def rename_out_dim(self, old: str, new: str) -> "LinearLayout":
        """Rename one out-dim; DimMismatchError if it is missing or ``new`` exists."""
        names = relabel.rename(self.out_names, old, new, "out_dim")
        return _make(self.in_names, self.in_bits, names, self.out_bits, self.columns)

    def squeeze_ins(self, in_dim: str) -> "LinearLayout":
        """Drop an in-dim of size 1; DimMismatchError if it is larger."""
        relabel.require_size_one(self.get_in_dim_size(in_dim), in_dim)
        return self.sublayout([n for n in self.in_names if n != in_dim], self.out_names)

    def squeeze_outs(self, out_dim: str) -> "LinearLayout":
        """Drop an out-dim of size 1; DimMismatchError if it is larger."""
        relabel.require_size_one(self.get_out_dim_size(out_dim), out_dim)
        return self.sublayout(
            self.in_names, [n for n in self.out_names if n != out_dim]
        )

    def concat_ins(self, other: "LinearLayout") -> "LinearLayout":
        """Put two layouts onto the same out-dims side by side (more columns).

        Law: the result at (x, y) is ``self(x) xor other(y)``.

        Raises:
            DimMismatchError: out-dims differ, or an in-dim occurs on both sides.
        """
        return _make(*relabel.concat_ins(self, other))

    def concat_outs(self, other: "LinearLayout") -> "LinearLayout":
        """Stack two layouts of the same in-dims (more rows).

        Law: the result at x is ``self(x)`` together with ``other(x)``.

        Raises:
            DimMismatchError: in-dims differ, or an out-dim occurs on both sides.
        """
        return _make(*relabel.concat_outs(self, other))

    def sublayout(
        self, in_dims: Iterable[str], out_dims: Iterable[str]
    ) -> "LinearLayout":
        """Restrict to some in-dims and project to some out-dims.

        The order of dims stays that of this layout.

        Raises:
            DimMismatchError: a name is not a dim of this layout.

        Source: Triton ``sublayout``.
        """
        ins = relabel.subset(self.in_names, in_dims, "in_dims")
        outs = relabel.subset(self.out_names, out_dims, "out_dims")
        return _make(*relabel.take_ins(_make(*relabel.take_outs(self, outs)), ins))

    def sublayout_is_zero(
        self, in_dims: Iterable[str], out_dims: Iterable[str]
    ) -> bool:
        """Say whether ``in_dims`` have no influence on ``out_dims``."""
        return not any(self.sublayout(in_dims, out_dims).columns)

    def is_trivial_over(self, dims: Iterable[str]) -> bool:
        """Say whether the layout is the identity on ``dims`` and nothing crosses.

        Then it is block-diagonal: ``dims`` feed themselves only and are fed by
        themselves only. Names missing on either side give False.

        Source: Triton ``isTrivialOver``.
        """
        return division.is_trivial_over(self, expect_names("dims", dims))

    def is_identity_on_out_dim(self, dim: str) -> bool:
        """Say whether out-dim ``dim`` equals in-dim ``dim`` and nothing else feeds it.

        In-dim ``dim`` may feed other out-dims as well.

        Source: Triton ``isIdentityOnOutDim``.
        """
        return division.is_identity_on_out_dim(self, dim)

    def quotient(self, dims: Iterable[str]) -> "LinearLayout | None":
        """Remove ``dims`` if the layout is trivial over them, else None.

        Source: Triton ``quotient``; theorem ``quotient_of_trivial_dims``.
        """
        drop = expect_names("dims", dims)
        if not self.is_trivial_over(drop):
            return None
        return self.sublayout(
            [n for n in self.in_names if n not in drop],
            [n for n in self.out_names if n not in drop],
        )

    def get_free_variable_masks(self) -> dict[str, int]:
        """For each in-dim, the mask of bits that are not needed to reach an output.

        Bits are taken greedily from the first in-dim's lowest bit up; a free bit's
        image is a sum of images of bits before it.

        Source: Triton ``getFreeVariableMasks``.
        """
        pivots = gauss.Echelon(self.columns).pivots
        free = (1 << len(self.columns)) - 1 - sum(1 << i for i in pivots)
        masks = {}
        for name, bits in zip(self.in_names, self.in_bits, strict=True):
            masks[name] = free & (1 << bits) - 1
            free >>= bits
        return masks

    def remove_zero_bases_along_dim(self, in_dim: str) -> "LinearLayout":
        """Drop every basis of ``in_dim`` that is zero (its broadcast bits)."""
        return _make(*relabel.drop_zero_bases(self, in_dim))

    def get_num_consecutive_in_out(self) -> int:
        """Return the largest V with L(aV + v, ...) = L(aV, ...) + v on the first dims.

        Example:
            >>> LinearLayout.identity_1d(8, "x", "y").get_num_consecutive_in_out()
            8

        Source: Triton ``getNumConsecutiveInOut``.
        """
        return relabel.num_consecutive(self)

    def contiguous_elems_along_output_dim(self, out_dim: str) -> int:
        """Return the largest 2**k whose low k bits of ``out_dim`` are all reached.

        Law: the span of the unit vectors 0..k-1 lies in the image projected to
        ``out_dim``.

        Source: Triton ``contiguousElemsAlongOutputDim``.
        """
        projected = self.sublayout(self.in_names, [out_dim])
        image = gauss.Echelon(projected.columns)
        count = 0
        while count < projected.out_bits[0] and 1 << count in image:
            count += 1
        return 1 << count

    def __repr__(self) -> str:
        bases = {n: [list(v) for v in vectors] for n, vectors in self.bases.items()}
        return (
            f"LinearLayout.from_bases({bases!r}, {self.out_dims!r}, "
            "require_surjective=False)"
        )

    def __str__(self) -> str:
        return basis_vectors.table(self.bases, self.out_dims)


def _make(
    in_names: tuple[str, ...],
    in_bits: tuple[int, ...],
    out_names: tuple[str, ...],
    out_bits: tuple[int, ...],
    columns: tuple[int, ...],
) -> LinearLayout:
    """Build a layout from fields that are known to be consistent."""
    layout = _new(LinearLayout)
    _set_in_names(layout, in_names)
    _set_in_bits(layout, in_bits)
    _set_out_names(layout, out_names)
    _set_out_bits(layout, out_bits)
    _set_columns(layout, columns)
    return layout


_new = object.__new__
_slots: dict[str, Any] = dict(vars(LinearLayout))
_set_in_names = _slots["in_names"].__set__
_set_in_bits = _slots["in_bits"].__set__
_set_out_names = _slots["out_names"].__set__
_set_out_bits = _slots["out_bits"].__set__
_set_columns = _slots["columns"].__set__


def _require_surjective(
    columns: Sequence[int], out_names: Sequence[str], out_bits: Sequence[int]
) -> None:
    """Raise NotSurjectiveError with an output that is not reached."""
    total = sum(out_bits)
    if total < len(UNIT_SETS) and UNIT_SETS[total].issubset(columns):
        return
    missing = gauss.complement(columns, total)
    if missing:
        vector = basis_vectors.unpack((missing[0],), tuple(out_bits))[0]
        witness = dict(zip(out_names, vector, strict=True))
        raise NotSurjectiveError(
            f"bases must reach all of {total} output bits, got "
            f"rank={total - len(missing)}; for instance {witness} has no preimage; "
            "add a basis, shrink the out-dim, or pass require_surjective=False",
            rank=total - len(missing),
            needed=total,
            missing=witness,
        )


def _bad_point(layout: LinearLayout, point: Any) -> LayoutError:
    """Explain why ``point`` is not an input of ``layout``."""
    return DimMismatchError(
        f"apply needs one int for each of the in-dims {list(layout.in_names)}, got "
        f"point={point!r}",
        needed=layout.in_names,
        got=point,
    )


__all__ = ["LinearLayout", "NotInvertibleError", "NotPowerOfTwoError", "Vector"]
