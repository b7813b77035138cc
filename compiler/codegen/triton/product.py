"""Products of matrices with an epilogue: a tile of the result is one program's.

Tiles of both factors are multiplied by the matrix unit into float32, all terms one
tile after another; what reads the sum is computed on the tile in registers, in float32,
and stored once. Coordinates are masked only where an extent is no multiple of a tile's.

The order of the programs follows the tutorial of Triton on matrix multiplication
(grouped along rows, for the second-level cache).
"""

from typing import Final

from compiler.ir.expression import Expression
from compiler.ir.index import add, index, mul
from compiler.ir.kernel import Store

from .emitter import Emitter
from .tile import MatrixFactors, TileAxis

_INT32: Final = 1 << 31


def print_product(emitter: Emitter) -> list[Store]:
    """Print all of a product's kernel but its stores, which follow.

    Returns:
        The stores, over a tile of rows and columns.
    """
    plan = emitter.plan
    factors = plan.factors
    assert factors is not None
    tiling = factors.tiling
    emitter.taken.update(("KBLOCK", "term"))
    emitter.line(f"KBLOCK: tl.constexpr = {tiling.terms}")
    described = _descriptors(emitter, factors) if tiling.descriptors else []
    share = ""
    if tiling.programs:
        tiles = emitter.value(plan.tiles)
        share = f"tl.range(tl.program_id(0), {tiles}, {tiling.programs}, flatten=True)"
    emitter.header(share)
    total = _sum(emitter, factors, described)
    emitter.bind(factors.result, "float32", total, emitter.all_dims)
    return [stage for stage in plan.kernel.stages if isinstance(stage, Store)]


def _sum(emitter: Emitter, factors: MatrixFactors, described: list[str]) -> str:
    """Print the loop over the terms; return the sum's name."""
    rows, columns = emitter.plan.tile
    pointers = [] if described else _pointers(emitter, factors)
    total, start = emitter.name("total"), emitter.name("first_term")
    emitter.line(f"{total} = tl.full([YBLOCK, XBLOCK], 0.0, tl.float32)")
    emitter.line(f"for {start} in range(0, {factors.terms}, KBLOCK):")
    emitter.indent += 1
    if described:
        a, b = (
            _copied(emitter, factors, number, name, start)
            for number, name in enumerate(described)
        )
    else:
        rest = factors.terms % factors.tiling.terms != 0
        inside = f"(term < {factors.terms} - {start})" if rest else ""
        left, right = pointers
        a = _loaded(emitter, "a", left, rows, inside and f"{inside}[None, :]")
        b = _loaded(emitter, "b", right, columns, inside and f"{inside}[:, None]")
    emitter.line(f"{total} = tl.dot({a}, {b}, {total})")
    for name, step in zip(pointers, factors.steps, strict=bool(pointers)):
        emitter.line(f"{name} += {step * factors.tiling.terms}")
    emitter.indent -= 1
    return total


def _loaded(
    emitter: Emitter, wish: str, pointers: str, axis: TileAxis, inside: str
) -> str:
    masks = [] if axis.exact else [f"{axis.name}_inside"]
    masks += [inside] if inside else []
    options = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
    name = emitter.name(wish)
    emitter.line(f"{name} = tl.load({pointers}{options})")
    return name


def _pointers(emitter: Emitter, factors: MatrixFactors) -> list[str]:
    """Print the addresses of both factors' first tiles; return their names."""
    emitter.line("term = tl.arange(0, KBLOCK)")
    found = []
    for array, place, step, terms, wish in zip(
        factors.arrays,
        factors.places,
        factors.steps,
        ("term[None, :]", "term[:, None]"),
        ("left", "right"),
        strict=True,
    ):
        where = emitter.value(place)
        if not emitter.is_wide(place) and emitter.is_wide(_end(place, step, factors)):
            where = f"({where}).to(tl.int64)"
        if step * factors.tiling.terms > _INT32:
            terms = f"{terms}.to(tl.int64)"
        terms = terms if step == 1 else f"{terms} * {step}"
        name = emitter.name(wish)
        emitter.line(f"{name} = {emitter.pointer(array)} + ({where} + {terms})")
        found.append(name)
    return found


def _end(place: Expression, step: int, factors: MatrixFactors) -> Expression:
    """Return the place of the last term of whole tiles."""
    count = -(-factors.terms // factors.tiling.terms) * factors.tiling.terms
    return add(place, mul(step, index(count)))


def _descriptors(emitter: Emitter, factors: MatrixFactors) -> list[str]:
    """Print descriptors of both factors; return their names.

    The dim with adjacent elements is the last one.
    """
    found = []
    for number, wish in enumerate(("left", "right")):
        axis = emitter.plan.tile[number]
        extents, blocks = _adjacent_last(
            factors.steps[number] == 1,
            (emitter.value(axis.extent), axis.block),
            (str(factors.terms), factors.tiling.terms),
        )
        name = emitter.name(wish)
        pointer = emitter.pointer(factors.arrays[number])
        emitter.line(
            f"{name} = tl.make_tensor_descriptor({pointer}, [{', '.join(extents)}], "
            f"[{factors.rows[number]}, 1], {list(blocks)})"
        )
        found.append(name)
    return found


def _adjacent_last(
    terms_adjacent: bool, other: tuple[str, int], terms: tuple[str, int]
) -> tuple[tuple[str, str], tuple[int, int]]:
    """Return extents and tile of a factor with the dim of adjacent elements last."""
    first, last = (other, terms) if terms_adjacent else (terms, other)
    return (first[0], last[0]), (first[1], last[1])


def _copied(
    emitter: Emitter, factors: MatrixFactors, number: int, name: str, start: str
) -> str:
    """Print the copy of a factor's next tile; return it as rows by terms by columns."""
    axis = emitter.plan.tile[number]
    at = f"{axis.name}_block * {axis.name.upper()}BLOCK"
    adjacent = factors.steps[number] == 1
    place = f"[{at}, {start}]" if adjacent else f"[{start}, {at}]"
    # the left tile is rows by terms, the right one terms by columns
    turned = ".T" if adjacent == bool(number) else ""
    tile = emitter.name("ab"[number])
    emitter.line(f"{tile} = {name}.load({place}){turned}")
    return tile
