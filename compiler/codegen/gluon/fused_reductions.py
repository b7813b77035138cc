"""Reductions of the fusing compiler's kernels as operators on tiles that hold rows.

Outside a row stands what changes nothing. Moments are two sums, of the values and of
the squares of their deviations; a softmax's pair is a maximum and a sum of
exponentials, which are one tile where a store reads them too.
"""

from typing import TYPE_CHECKING

from compiler.errors import NotTiledError
from compiler.ir.expression import Expression, make
from compiler.ir.kernel import Reduction
from compiler.ir.operations import type_class
from compiler.ir.scalar import apply, cast, constant, from_index, local
from compiler.ir.tile import Tile
from compiler.ir.tile_builder import read

if TYPE_CHECKING:
    from .fused_tiles import Lowering, Value

_SIMPLE = ("sum", "maximum", "minimum")
_WORDS = ("float32", "int32")
COARSE = "coarse"
"""Data of an exponential or a quotient that is rounded to a half type afterwards."""


def reduce_tile(lowering: "Lowering", stage: Reduction) -> None:
    """Append the operators of a reduction; its results are locals from then on.

    Raises:
        NotTiledError: no tile operator combines so, or numbers of this type.
    """
    kind, dtype = stage.reducer, stage.values[0].dtype
    if stage.folded or len(stage.values) != 1:
        raise NotTiledError(f"needed one value along rows, got a {kind}")
    value = stage.values[0]
    if kind in ("any", "all") or (kind in _SIMPLE[1:] and dtype == "bool"):
        found = [_extreme_of_bools(lowering, kind, value)]
    elif kind in _SIMPLE and dtype in _WORDS:
        whole = _filled(lowering, value, _neutral(kind, dtype))
        found = [_reduced(lowering, kind, whole)]
    elif kind == "welford" and dtype == "float32":
        found = _moments(lowering, value)
    elif kind == "online_softmax" and dtype == "float32":
        found = _softmax(lowering, stage, value)
    else:
        raise NotTiledError(f"needed a reduction of words, got a {kind} of {dtype}")
    for name, kept, one in zip(stage.results, stage.dtypes, found, strict=True):
        if one.tile.dtype != kept:
            rounded = cast(read(one.tile), kept)
            one = lowering.computed(rounded, [one.tile], one.dims)
        lowering.locals[local(name, kept)] = one
    if kind == "online_softmax":
        divisor = local(stage.results[1], "float32")
        if any(n.op == "truediv" and n.args[1] is divisor for n in lowering.used):
            total = lowering.locals[divisor]
            value = apply("truediv", constant(1.0, "float32"), read(total.tile))
            inverse = lowering.computed(value, [total.tile], total.dims)
            lowering.inverses[divisor] = inverse


def quotient(
    a: Expression, b: Expression, inverse: Expression, coarse: bool
) -> Expression:
    """Return ``a / b`` from the rounded inverse of b: the library's ``quotient_by``.

    Args:
        a: Dividend.
        b: Divisor, in [1, 2**126).
        inverse: Of b.
        coarse: Whether the product with the inverse will do.
    """
    first = apply("mul", a, inverse)
    if coarse:
        return first
    rest = apply("fma", apply("neg", first), b, a)
    return apply("fma", rest, inverse, first)


def _neutral(kind: str, dtype: str) -> Expression:
    if kind == "sum":
        return constant(0, dtype)
    if type_class(dtype) == "float":
        return constant(float("-inf" if kind == "maximum" else "inf"), dtype)
    top = (1 << 31) - 1
    return constant(-top - 1 if kind == "maximum" else top, dtype)


def _filled(lowering: "Lowering", value: Expression, neutral: Expression) -> Tile:
    """Return a value over the whole tile, what is neutral outside the rows."""
    operands: list[Tile] = []
    found = lowering.inlined(value, (), lowering.all_dims, operands)
    return _inside(lowering, found, operands, neutral)


def _inside(
    lowering: "Lowering", value: Expression, operands: list[Tile], neutral: Expression
) -> Tile:
    reduced = lowering.plan.reduced
    assert reduced is not None
    if reduced.exact:
        if value.op == "local":
            return operands[0]
    else:
        inside = lowering.inside(reduced)
        value = make("where", (inside, value, neutral), value.dtype)
    return lowering.computed(value, operands, lowering.all_dims).tile


def _reduced(lowering: "Lowering", kind: str, tile: Tile) -> "Value":
    """Return what is left of the rows of a tile, as a tile with a dim of size 1."""
    axis = len(tile.shape) - 1
    found = lowering.builder.reduce(kind, tile, axis)
    kept = lowering.builder.expand_dims(found, axis)
    return lowering.kept(kept, lowering.all_dims - {axis})


def _extreme_of_bools(lowering: "Lowering", kind: str, value: Expression) -> "Value":
    some = kind in ("any", "maximum")
    wide = cast(value, "int32")
    whole = _filled(lowering, wide, constant(0 if some else 1, "int32"))
    found = _reduced(lowering, "maximum" if some else "minimum", whole)
    return lowering.computed(cast(read(found.tile), "bool"), [found.tile], found.dims)


def _moments(lowering: "Lowering", value: Expression) -> list["Value"]:
    """Return mean, sum of squared deviations, and count."""
    reduced = lowering.plan.reduced
    assert reduced is not None
    zero = constant(0.0, "float32")
    whole = _filled(lowering, value, zero)
    total = _reduced(lowering, "sum", whole)
    extent = from_index(lowering.index(reduced.extent), "float32")
    count = lowering.computed(extent, [], frozenset())
    divisor = apply("maximum", extent, constant(1.0, "float32"))
    quotient = apply("truediv", read(total.tile), divisor)
    mean = lowering.computed(quotient, [total.tile], total.dims)
    spread = lowering.fitted(mean, lowering.all_dims)
    delta = apply("sub", read(whole), read(spread))
    deviations = _inside(lowering, delta, [whole, spread], zero)
    square = apply("mul", read(deviations), read(deviations))
    squares = lowering.computed(square, [deviations], lowering.all_dims)
    return [mean, _reduced(lowering, "sum", squares.tile), count]


def _softmax(
    lowering: "Lowering", stage: Reduction, value: Expression
) -> list["Value"]:
    """Return the maximum and the sum of exponentials of what is below it."""
    whole = _filled(lowering, value, _neutral("maximum", "float32"))
    greatest = _reduced(lowering, "maximum", whole)
    leaf = local(stage.results[0], stage.dtypes[0])
    lowering.locals[leaf] = greatest
    numerator = apply("exp", apply("sub", value, leaf))
    if numerator not in lowering.used:
        lowering.coarse |= {numerator}
    lowering.shared |= {numerator}
    dims = lowering.all_dims
    tile = lowering.fitted(lowering.value(numerator), dims)
    kept = _inside(lowering, read(tile), [tile], constant(0.0, "float32"))
    return [greatest, _reduced(lowering, "sum", kept)]
