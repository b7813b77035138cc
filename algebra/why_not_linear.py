"""Is an index map F2-affine? The map itself, or three inputs that show it is not.

A function f on ``bits`` bits is F2-affine when it is a binary matrix and an xor
constant: ``f(x) = A x ^ f(0)``. That holds exactly when

    f(x) ^ f(y) ^ f(x ^ y) == f(0)        for all x and y,

and one pair that breaks the equation settles the question. It's enough to look at
y = the top bit of x ^ y: the images of 0 and of the powers of two determine A, so the
smallest input z at which f leaves the affine map splits into x (z without its top
bit, where f still followed) and y (the top bit). So an exhaustive answer costs one
evaluation an input, and the witness it finds is the smallest.

Transposes, xor swizzles, bit reversal, Morton order, Gray code and reversal are
affine; a rotation by one, a stride of 33, a multiplication by 5 and the Hilbert curve
are not: a carry has to cross bits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import index as as_integer

from .affine import AffineLayout
from .dims import INDEX
from .errors import ArgumentError, DimMismatchError, OutOfRangeError
from .gauss import apply
from .layout import LinearLayout
from .verdict import Unknown

SAMPLES = 1 << 14
MAX_BITS = 1 << 12
_BLOCK_BITS = 10
_GUARD_BITS = 64
_MULTIPLIER = 0x9E3779B97F4A7C15F39CC0605CEDC835  # odd, 1 mod 4: full period

IndexMap = Callable[[int], int] | Sequence[int]


@dataclass(frozen=True, slots=True)
class NotAffine:
    """Three inputs at which a function breaks the affine equation.

    Law: ``f_x ^ f_y ^ f_xy != f_0``; ``discrepancy`` evaluates the function again.

    Attributes:
        x: First input.
        y: Second input; the third is ``xy``.
        f_0: Value at 0, and so on for the other three.

    Example:
        >>> print(why_not_linear(lambda i: (i + 1) % 8, 3))
        not F2-affine: f(0) = 1, f(1) = 2, f(2) = 3, f(1 ^ 2) = f(3) = 4, but \
f(1) ^ f(2) ^ f(0) = 0
    """

    x: int
    y: int
    f_0: int
    f_x: int
    f_y: int
    f_xy: int

    @property
    def xy(self) -> int:
        """The third input, ``x ^ y``."""
        return self.x ^ self.y

    def discrepancy(self, f: IndexMap) -> int:
        """Evaluate ``f`` at the four inputs again and return the xor of the values.

        A nonzero answer refutes that ``f`` is affine; nothing but ``f`` is trusted.

        Example:
            >>> NotAffine(1, 2, 1, 2, 3, 4).discrepancy(lambda i: (i + 1) % 8)
            4
        """
        call = f if callable(f) else f.__getitem__
        return int(call(0) ^ call(self.x) ^ call(self.y) ^ call(self.xy))

    def __str__(self) -> str:
        expected = self.f_x ^ self.f_y ^ self.f_0
        return (
            f"not F2-affine: f(0) = {self.f_0}, f({self.x}) = {self.f_x}, "
            f"f({self.y}) = {self.f_y}, "
            f"f({self.x} ^ {self.y}) = f({self.xy}) = {self.f_xy}, "
            f"but f({self.x}) ^ f({self.y}) ^ f(0) = {expected}"
        )


def why_not_linear(
    f: IndexMap,
    bits: int,
    *,
    out_bits: int | None = None,
    exhaustive_bits: int = 22,
) -> AffineLayout | NotAffine | Unknown:
    """Return the affine map that ``f`` is, or inputs that show that it's none.

    Law: an ``AffineLayout`` answer equals ``f`` at all ``2**bits`` inputs; a
    ``NotAffine`` answer has a nonzero ``discrepancy(f)``. Neither is ever a guess.

    Args:
        f: A function of an int in ``[0, 2**bits)``, or the sequence of its values (a
            gather list).
        bits: Number of input bits.
        out_bits: Number of output bits; default: as many as the values need.
        exhaustive_bits: A function of more bits than this is only sampled, so the
            answer is a witness or ``Unknown``. A sequence is always read whole.

    Returns:
        ``AffineLayout`` from ``index`` to ``index``, ``NotAffine``, or ``Unknown``
        (only if ``bits > exhaustive_bits`` and no witness was met).

    Raises:
        OutOfRangeError: ``bits`` is no count, or a value isn't an int, is negative or
            has more than ``out_bits`` bits; has ``value``.
        DimMismatchError: a sequence hasn't ``2**bits`` entries.

    Example:
        >>> why_not_linear([0, 2, 1, 3], 2).apply({"index": 1})
        {'index': 2}
        >>> answer = why_not_linear(lambda i: 5 * i % 256, 8)
        >>> answer.x, answer.y
        (1, 4)

    Source: theorem ``affine_iff_four_point_equation``.
    """
    if not isinstance(bits, int) or not 0 <= bits <= MAX_BITS:
        raise OutOfRangeError(
            f"the number of input bits must be an int in [0, {MAX_BITS}], got "
            f"bits={bits!r}",
            bits=bits,
        )
    evaluate = _checked(f, bits, out_bits)
    origin = evaluate(0)
    columns = [evaluate(1 << i) ^ origin for i in range(bits)]
    whole = bits <= exhaustive_bits or not callable(f)
    if whole:
        witness = _first_departure(evaluate, origin, columns)
    else:
        inputs = _samples(bits)
        witness = _sampled_departure(evaluate, origin, columns, inputs)
    if witness is not None:
        return witness
    if not whole:
        return Unknown(
            f"f agrees with one affine map at {len(inputs)} of 2**{bits} inputs; "
            f"pass exhaustive_bits={bits} to evaluate all of them"
        )
    if out_bits is None:
        out_bits = max([origin, *columns]).bit_length()
    linear = LinearLayout.from_columns({INDEX: bits}, {INDEX: out_bits}, columns)
    return AffineLayout(linear, {INDEX: origin})


def _checked(f: IndexMap, bits: int, out_bits: int | None) -> Callable[[int], int]:
    """Return ``f`` as a function whose every value is checked."""
    if callable(f):
        call: Callable[[int], object] = f
    elif not hasattr(f, "__len__"):
        raise ArgumentError(
            "f needs to be a function of an int or a list of its values, got "
            f"f={f!r} ({type(f).__name__}); give one of the two",
            argument="f",
            value=f,
        )
    elif len(f) == 1 << bits:
        call = f.__getitem__
    else:
        raise DimMismatchError(
            f"a list of values on {bits} bits needs 2**{bits} entries, "
            f"got len(f)={len(f)}",
            bits=bits,
            length=len(f),
        )

    def evaluate(x: int) -> int:
        value = call(x)
        try:
            image = as_integer(value)  # type: ignore[arg-type]
        except TypeError:
            image = -1
        if image < 0 or (out_bits is not None and image >> out_bits):
            needed = "" if out_bits is None else f" of at most {out_bits} bits"
            raise OutOfRangeError(
                f"every value must be an int >= 0{needed}, got f({x})={value!r}",
                value=value,
                x=x,
            )
        return image

    return evaluate


def _first_departure(
    evaluate: Callable[[int], int], origin: int, columns: Sequence[int]
) -> NotAffine | None:
    """Compare with the affine map at all inputs, in order, in constant memory."""
    low = [origin]
    for column in columns[:_BLOCK_BITS]:
        low += [value ^ column for value in low]
    high_columns = columns[_BLOCK_BITS:]
    for block in range(1 << len(high_columns)):
        base = apply(high_columns, block)
        start = block << _BLOCK_BITS
        for offset, value in enumerate(low):
            if evaluate(start + offset) != value ^ base:
                return _witness(evaluate, start + offset)
    return None


def _sampled_departure(
    evaluate: Callable[[int], int],
    origin: int,
    columns: Sequence[int],
    inputs: Sequence[int],
) -> NotAffine | None:
    """Look for a departure at some inputs only, and shrink it to a witness."""
    for z in inputs:
        if evaluate(z) != apply(columns, z) ^ origin:
            departures = [
                prefix
                for prefix in _prefixes(z)
                if evaluate(prefix) != apply(columns, prefix) ^ origin
            ]
            return _witness(evaluate, departures[0])
    return None


def _prefixes(z: int) -> Iterator[int]:
    """Yield ``z`` cut after its lowest one, its two lowest ones, ..., and itself."""
    prefix = 0
    while z:
        low = z & -z
        prefix |= low
        z ^= low
        yield prefix


def _witness(evaluate: Callable[[int], int], z: int) -> NotAffine:
    """Split the smallest departure into its top bit and the rest."""
    y = 1 << z.bit_length() - 1
    x = z ^ y
    return NotAffine(x, y, evaluate(0), evaluate(x), evaluate(y), evaluate(z))


def _samples(bits: int) -> list[int]:
    """All inputs with two ones, and a fixed set spread by a congruential sequence."""
    inputs = [1 << i | 1 << j for j in range(bits) for i in range(j)]
    width = bits + _GUARD_BITS
    state = 1
    for _ in range(SAMPLES):
        state = (state * _MULTIPLIER + 1) % (1 << width)
        inputs.append(state >> _GUARD_BITS)
    return inputs
