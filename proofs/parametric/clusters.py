"""Blocks of a cluster: three lists of sizes are a linear layout."""

from verify.legacy import block_offset, shape_per_block
from verify.legacy.arithmetic import ceil_div, smaller
from verify.legacy.cga import SOURCE
from verify.terms import at_most, variable

from . import distributed
from .box import bounds, exponents, sizes, total_at_most
from .pieces import COPIES, Piece, PieceLayout
from .query import Parametric, Query

ORDERS = ((0, 1), (1, 0))


def question(order: tuple[int, ...]) -> Query:
    """Ask: the first element of a block, by the lists and by pieces."""
    b, p, s = exponents("b", 2, 4), exponents("p", 2, 4), exponents("s", 2, 10)
    blocks, split, shape = map(sizes, (b, p, s))
    part = shape_per_block(shape, split)
    layout = PieceLayout(
        tuple(shape),
        {
            "block": [
                piece
                for d in order
                for piece in (
                    Piece(d, smaller(split[d], shape[d]), part[d]),
                    Piece(COPIES, ceil_div(blocks[d], smaller(split[d], shape[d]))),
                )
            ]
        },
    )
    point = {"block": variable("block", 4)}
    claim = distributed.same(
        block_offset(point["block"], shape, blocks, split, order), layout.apply(point)
    )
    divides = [at_most(parts.term, all_.term) for parts, all_ in zip(p, b, strict=True)]
    box = (*bounds(b, p, s), *divides, total_at_most(b, 4))
    return Query(f"order {order}", claim, (*box, *layout.within(point)))


def parametric() -> list[Parametric]:
    """Return the theorem about clusters."""
    return [
        Parametric(
            name="block_offset_of_lists_is_linear",
            statement=(
                "CTAsPerCGA, CTASplitNum and CTAOrder place the blocks of a cluster as "
                "a linear layout does, copies included"
            ),
            scope="blocks: up to 16; parts: up to the blocks of a dim; shape: up to "
            "2^10 a dim; both orders",
            source=SOURCE,
            instances=16_940,
            build=lambda: [question(order) for order in ORDERS],
        )
    ]
