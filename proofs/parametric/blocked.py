"""Blocked layouts with symbolic sizes, in one to three dims, in every order of dims."""

from collections.abc import Sequence
from itertools import permutations

from verify.legacy import blocked
from verify.legacy.arithmetic import ceil_div, smaller
from verify.legacy.blocked import SOURCE

from . import distributed
from .box import bounds, exponents, sizes, total_at_most, total_is
from .distributed import Subject, questions
from .pieces import Piece, PieceLayout
from .query import Parametric

BOX = (
    "threads: 32; warps: up to 32; elements of a thread's tile: up to 16; shape: up to "
    "2^10 a dim; registers: up to 256"
)
INSTANCES = {1: 330, 2: 194_772, 3: 24_941_601}
BITS = {"register": 8, "lane": 5, "warp": 5}
ORDERS = {2: ((0, 1), (1, 0)), 3: tuple(permutations(range(3)))}


def subject(
    rank: int,
    order: Sequence[int],
    *,
    keep_repeated_registers: bool = False,
    warp_bits: int = 5,
    shape_bits: int = 10,
) -> Subject:
    """Return the formula and the layout of a blocked encoding.

    Args:
        rank: Number of dims.
        order: Dims, the fastest first.
        keep_repeated_registers: Number registers as Triton 3.8 and older do.
        warp_bits: Warps are at most ``2**warp_bits``.
        shape_bits: Sizes of the shape are at most ``2**shape_bits``.
    """
    p, t, w, s = (
        exponents(name, rank, high)
        for name, high in (("p", 4), ("t", 5), ("w", warp_bits), ("s", shape_bits))
    )
    spt, threads, warps, shape = map(sizes, (p, t, w, s))
    per_warp = [spt[k] * threads[k] for k in range(rank)]
    per_tile = [per_warp[k] * warps[k] for k in range(rank)]
    owned = [
        spt[k] if keep_repeated_registers else smaller(spt[k], shape[k])
        for k in range(rank)
    ]
    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                *(Piece(k, owned[k]) for k in order),
                *(
                    Piece(k, ceil_div(shape[k], per_tile[k]), per_tile[k])
                    for k in order
                ),
            ],
            "lane": [Piece(k, threads[k], spt[k]) for k in order],
            "warp": [Piece(k, warps[k], per_warp[k]) for k in order],
        },
    )
    model = blocked(
        shape,
        spt,
        threads,
        warps,
        order,
        keep_repeated_registers=keep_repeated_registers,
    )
    box = (
        *bounds(p, t, w, s),
        total_is(t, 5),
        total_at_most(w, warp_bits),
        total_at_most(p, 4),
    )
    return Subject(f"order {tuple(order)}", model, layout, box, BITS)


def parametric() -> list[Parametric]:
    """Return the theorems about blocked layouts."""
    found = []
    for rank in (1, 2, 3):
        for order in ORDERS.get(rank, ((0,),)):
            suffix = f"_in_order_{''.join(map(str, order))}" if rank > 1 else ""
            found.append(
                Parametric(
                    name=f"blocked_{rank}d_is_its_index_formula{suffix}",
                    statement=(
                        f"In {rank} dims, order {list(order)}: the index formula of a "
                        "blocked layout and its linear layout agree at every register, "
                        "lane and warp, for all sizes in the box"
                    ),
                    scope=BOX,
                    source=SOURCE,
                    instances=INSTANCES[rank],
                    build=questions(distributed.equivalent, subject, (rank, order)),
                )
            )
    return [*found, *_properties()]


def _repeated(order: Sequence[int]) -> Subject:
    return subject(2, order, keep_repeated_registers=True)


def _small(order: Sequence[int]) -> Subject:
    return subject(2, order, warp_bits=2, shape_bits=7)


def _properties() -> list[Parametric]:
    """Return the theorems about properties; other orders by permuting the dims."""
    order = (1, 0)
    one = BOX + "; order [1, 0]"
    return [
        Parametric(
            name="blocked_2d_with_repeated_registers_is_its_index_formula",
            statement=(
                "The same in 2 dims with the register numbers of Triton 3.8 and older, "
                "which keep registers that repeat an element"
            ),
            scope=BOX + "; both orders",
            source=SOURCE,
            instances=2 * 190_944,
            build=questions(
                distributed.equivalent, _repeated, *((each,) for each in ORDERS[2])
            ),
        ),
        Parametric(
            name="blocked_2d_formula_is_linear",
            statement="The index formula maps the xor of two places to the xor of both",
            scope=one,
            source=SOURCE,
            instances=INSTANCES[2],
            build=questions(distributed.linear, subject, (2, order)),
        ),
        Parametric(
            name="blocked_2d_positions_are_in_range",
            statement="Every coordinate of the index formula is below the shape",
            scope=one,
            source=SOURCE,
            instances=INSTANCES[2],
            build=questions(distributed.in_range, subject, (2, order)),
        ),
        Parametric(
            name="blocked_2d_kernel_is_the_bits_beyond_the_shape",
            statement=(
                "A place is mapped to zero exactly if it has no bit but those beyond "
                "the shape: with linearity, the copies of an element are known exactly"
            ),
            scope=one,
            source=SOURCE,
            instances=INSTANCES[2],
            build=questions(distributed.kernel, subject, (2, order)),
        ),
        Parametric(
            name="blocked_2d_holds_every_element",
            statement="Every element of the tensor is held somewhere: the map is onto",
            scope=(
                "threads: 32; warps: up to 4; elements of a thread's tile: up to 16; "
                "shape: up to 2^7 a dim; registers: up to 256; order [1, 0]"
            ),
            source=SOURCE,
            instances=33_922,
            build=questions(distributed.onto, _small, (order,)),
        ),
    ]
