"""Lemmas that the other theorems stand on: pieces, sums and permuted dims."""

from verify.legacy import DistributedModel, blocked
from verify.terms import (
    Size,
    Term,
    all_of,
    at_most,
    choose,
    equal,
    less,
    lift,
    variable,
)

from .box import Exponent, bounds, exponents, sizes
from .pieces import Piece, PieceLayout
from .query import Parametric, Query

WIDTH = 8


def _piece() -> tuple[PieceLayout, list[Exponent]]:
    """Return a layout with one symbolic piece after another symbolic one."""
    start, length, step = exponents("a", 3, 7)
    limit = Exponent("limit", 15)
    layout = PieceLayout(
        (limit.size,),
        {"x": [Piece(-1, start.size), Piece(0, length.size, step.size)]},
    )
    return layout, [start, length, step, limit]


def _basis(bit: int, start: Term, length: Term, step: Term, limit: Term) -> Term:
    """Return the image of a bit: one bit of the tensor dim, or zero."""
    inside = all_of(
        (
            at_most(start, bit),
            less(bit, start + length),
            less(lift(bit) + step, limit + start),
        )
    )
    place = choose(at_most(start, lift(bit) + step), lift(bit) + step - start, 0)
    return choose(inside, Size(place).value(), 0)


def sum_of_bases() -> list[Query]:
    """Ask: a piece of x is the xor of the bases of the bits of x."""
    layout, parameters = _piece()
    x = variable("x", WIDTH)
    total: Term = lift(0)
    for bit in range(WIDTH):
        base = _basis(bit, *(each.term for each in parameters))
        total = total ^ choose(equal(x // (1 << bit) % 2, 1), base, 0)
    claim = equal(layout.apply({"x": x})[0], total)
    return [Query("piece", claim, (*bounds(parameters), *layout.within({"x": x})))]


def additive() -> list[Query]:
    """Ask: the piece of an xor is the xor of the pieces."""
    layout, parameters = _piece()
    x, y = variable("x", WIDTH), variable("y", WIDTH)
    image = layout.apply({"x": x ^ y})[0]
    claim = equal(image, layout.apply({"x": x})[0] ^ layout.apply({"x": y})[0])
    return [Query("piece", claim, tuple(bounds(parameters)))]


def disjoint_sum() -> list[Query]:
    """Ask: numbers without a common bit add up to their xor."""
    x, y = variable("x", 32), variable("y", 32)
    return [Query("sum", equal(x + y, x ^ y), (equal(x & y, 0),))]


def permuted_dims(permutation: tuple[int, ...]) -> Query:
    """Ask: permuting the dims of a blocked layout permutes its coordinates."""
    rank = len(permutation)
    lists = [
        sizes(exponents(name, rank, high))
        for name, high in (("s", 8), ("p", 5), ("t", 5), ("w", 5))
    ]
    point = (variable("register", 8), variable("lane", 5), variable("warp", 5))
    order = tuple(reversed(range(rank)))
    moved = tuple(permutation.index(d) for d in order)
    plain = _blocked(lists, order).position(*point)
    turned = [[part[d] for d in permutation] for part in lists]
    place = _blocked(turned, moved).position(*point)
    claim = all_of(equal(place[index], plain[d]) for index, d in enumerate(permutation))
    return Query(f"permutation {permutation}", claim)


def _blocked(lists: list[list[Size]], order: tuple[int, ...]) -> DistributedModel:
    shape, tile, threads, warps = lists
    return blocked(shape, tile, threads, warps, order)


def parametric() -> list[Parametric]:
    """Return the lemmas."""
    return [
        Parametric(
            name="piece_is_the_sum_of_its_bases",
            statement=(
                "x -> (x >> start) mod 2^length << step mod 2^limit is the xor of the "
                "images of the bits of x: a piece is a linear layout"
            ),
            scope="x: 8 bits; start, length, step: up to 7; limit: up to 15",
            source="K. Zhou et al., Linear Layouts, the definition of a layout",
            instances=8**3 * 16,
            build=sum_of_bases,
        ),
        Parametric(
            name="piece_of_an_xor_is_the_xor_of_pieces",
            statement="piece(x xor y) = piece(x) xor piece(y)",
            scope="x, y: 8 bits; start, length, step: up to 7; limit: up to 15",
            source="K. Zhou et al., Linear Layouts, the definition of a layout",
            instances=8**3 * 16,
            build=additive,
        ),
        Parametric(
            name="disjoint_sum_is_xor",
            statement="x and y = 0 implies x + y = x xor y",
            scope="x, y: 32 bits",
            source="Triton getSwizzledSharedPtrs, its second note",
            instances=0,
            build=disjoint_sum,
        ),
        Parametric(
            name="blocked_dims_permute_with_their_parameters",
            statement=(
                "Permuting the lists of a blocked layout, and its order, permutes the "
                "coordinates: in 2 dims, and in 3 for two permutations that generate "
                "all six"
            ),
            scope="tile, threads, warps: up to 2^5 a dim; shape: up to 2^8 a dim",
            source="Triton emitOffsetForBlockedLayout",
            instances=0,
            build=lambda: [
                permuted_dims(each) for each in ((1, 0), (1, 0, 2), (1, 2, 0))
            ],
        ),
    ]
