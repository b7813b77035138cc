"""CuTe's ``Swizzle<B, M, S>``: xor B bits of an offset to B other bits of it.

With S >= 0 the bits ``[M + S, M + S + B)`` are added, over F2, to the bits
``[M, M + B)``; with S < 0 the low ones are added to the high ones. The two windows may
not overlap, so the source bits survive and the map is its own inverse.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from algebra.arguments import expect_integers, expect_layout
from algebra.dims import INDEX
from algebra.errors import EncodingError, OutOfRangeError, UnsupportedLayoutError
from algebra.layout import LinearLayout


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The map ``offset -> offset ^ shifted(offset & window)``.

    Law: ``s(s(x)) == x`` and ``s(x ^ y) == s(x) ^ s(y)``.

    Attributes:
        bits: B, width of both windows [bits].
        base: M, position of the lower window [bits].
        shift: S, distance from the target window up to the source window [bits];
            negative if the source is the lower one.

    Raises:
        EncodingError: a width is negative or the windows overlap.

    Example:
        >>> swizzle = Swizzle(3, 0, 3)
        >>> swizzle(0b010_011), str(swizzle)
        (17, 'Sw<3,0,3>')
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        expect_integers("a swizzle", (self.bits, self.base, self.shift))
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise EncodingError(
                "a swizzle needs bits >= 0, base >= 0 and |shift| >= bits, "
                f"got Swizzle<{self.bits},{self.base},{self.shift}>",
                bits=self.bits,
                base=self.base,
                shift=self.shift,
            )

    @property
    def source_mask(self) -> int:
        """The bits that are added elsewhere (yyy)."""
        return (1 << self.bits) - 1 << self.base + max(self.shift, 0)

    @property
    def width(self) -> int:
        """Bits of the smallest offset that holds both windows."""
        return self.base + abs(self.shift) + self.bits if self.bits else 0

    def __call__(self, offset: int) -> int:
        """Swizzle one offset."""
        window = offset & self.source_mask
        moved = window >> self.shift if self.shift >= 0 else window << -self.shift
        return offset ^ moved

    def to_layout(self, size_bits: int) -> LinearLayout:
        """Return the map on offsets of ``size_bits`` bits, from index to index.

        Raises:
            OutOfRangeError: ``shift`` is negative and moves bits out of the offset.

        Example:
            >>> Swizzle(1, 0, 1).to_layout(2).bases
            {'index': ((1,), (3,))}
        """
        columns = [self(1 << i) for i in range(size_bits)]
        if any(column >> size_bits for column in columns):
            raise OutOfRangeError(
                f"{self} needs offsets of {self.width} bits, got size_bits={size_bits}",
                needed=self.width,
                size_bits=size_bits,
            )
        return LinearLayout.from_columns(
            {INDEX: size_bits}, {INDEX: size_bits}, columns
        )

    def after(self, layout: LinearLayout) -> LinearLayout:
        """Swizzle the packed output of ``layout``: its first out-dim has the low bits.

        Law: ``s.after(s.after(layout)) == layout``.

        Raises:
            OutOfRangeError: the result needs more output bits than ``layout`` has.

        Example:
            >>> rows = LinearLayout.identity_1d(4, "dim0", "offset")
            >>> Swizzle(1, 0, 1).after(rows).bases
            {'dim0': ((1,), (3,))}
        """
        expect_layout("layout", layout)
        columns = [self(column) for column in layout.columns]
        size_bits = sum(layout.out_bits)
        if any(column >> size_bits for column in columns):
            raise OutOfRangeError(
                f"{self} moves bits out of the {size_bits} output bits of the layout; "
                "enlarge its out-dims first",
                needed=self.width,
                size_bits=size_bits,
            )
        return LinearLayout.from_columns(
            dict(zip(layout.in_names, layout.in_bits, strict=True)),
            dict(zip(layout.out_names, layout.out_bits, strict=True)),
            columns,
        )

    @classmethod
    def recognise(cls, layout: LinearLayout) -> "Swizzle":
        """Return the swizzle that a square map of packed bits is.

        The identity is ``Swizzle(0, 0, 0)``. Windows that reach over the top of the
        layout are cut, since the layout can't tell.

        Raises:
            UnsupportedLayoutError: it's no single swizzle; has ``columns``.

        Example:
            >>> Swizzle.recognise(Swizzle(2, 4, 3).to_layout(10))
            Swizzle(bits=2, base=4, shift=3)
        """
        expect_layout("layout", layout)
        extras = [
            (source, column ^ 1 << source)
            for source, column in enumerate(layout.columns)
            if column != 1 << source
        ]
        if sum(layout.out_bits) == len(layout.columns):
            if not extras:
                return cls(0, 0, 0)
            source, target = extras[0][0], extras[0][1].bit_length() - 1
            bits = len(extras)
            if source - target and abs(source - target) >= bits:
                guess = cls(bits, min(source, target), source - target)
                if all(guess(1 << i) == c for i, c in enumerate(layout.columns)):
                    return guess
        raise UnsupportedLayoutError(
            "a swizzle adds one window of bits to another and keeps the rest, got "
            f"columns={list(layout.columns)}; to_cute finds a swizzle after strides",
            columns=layout.columns,
        )

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


def swizzles_within(size_bits: int) -> Iterator[Swizzle]:
    """Yield every proper swizzle of ``size_bits`` bits once, narrow windows first.

    Example:
        >>> [str(swizzle) for swizzle in swizzles_within(2)]
        ['Sw<1,0,1>', 'Sw<1,0,-1>']
    """
    for bits in range(1, size_bits // 2 + 1):
        for distance in range(bits, size_bits - bits + 1):
            for base in range(size_bits - bits - distance + 1):
                yield Swizzle(bits, base, distance)
                yield Swizzle(bits, base, -distance)
