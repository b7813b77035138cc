"""Products of the fusing compiler's kernels as a loop of tile products.

The result is a tile in the layout of the matrix instruction; what reads it goes through
assignment like all else, so only what must move does.
"""

from typing import TYPE_CHECKING

from compiler.errors import NotTiledError
from compiler.ir.expression import Expression
from compiler.ir.index import Index, add, mul
from compiler.ir.scalar import local
from compiler.ir.tile import Tile, coordinate
from compiler.ir.tile_builder import both, less

if TYPE_CHECKING:
    from .fused_tiles import Lowering

_INT32 = 1 << 31


def multiply(lowering: "Lowering") -> None:
    """Append the loop over the terms; its sum is a local from then on.

    Raises:
        NotTiledError: offsets in a tile of a factor need more than 32 bits.
    """
    factors = lowering.plan.factors
    assert factors is not None
    builder, depth = lowering.builder, factors.tiling.terms
    if max(map(abs, factors.steps)) * depth >= _INT32:
        raise NotTiledError("needed terms that are near each other")
    rounds = -(-factors.terms // depth)
    shape = lowering.shape(lowering.all_dims)
    first = builder.full(shape, 0.0, "float32")
    with builder.loop("step", rounds, first) as inside:
        start = mul(inside.counter, depth)
        tiles = [_factor(lowering, number, start) for number in range(2)]
        inside.yields(builder.dot(tiles[0], tiles[1], inside.arguments[0]))
    value = lowering.kept(inside.results[0], lowering.all_dims)
    lowering.locals[local(factors.result, "float32")] = value


def _factor(lowering: "Lowering", number: int, start: Index) -> Tile:
    """Append the load of a factor's tile: rows by terms, or terms by columns."""
    factors = lowering.plan.factors
    assert factors is not None
    axis, depth = lowering.plan.tile[number], factors.tiling.terms
    term = add(start, coordinate(1 - number))
    place = lowering.index(factors.places[number], address=True)
    conditions: list[Expression] = []
    if not axis.exact:
        conditions.append(lowering.inside(axis))
    if factors.terms % depth:
        conditions.append(less(term, factors.terms))
    shape = [axis.block, axis.block]
    shape[1 - number] = depth
    return lowering.builder.load(
        lowering.names[factors.arrays[number]],
        [add(place, mul(term, factors.steps[number]))],
        shape,
        both(*conditions) if conditions else None,
    )
