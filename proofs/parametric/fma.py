"""Operands of a dot on FMA units, with symbolic sizes."""

from verify.legacy.arithmetic import ceil_div
from verify.legacy.fma_operand import SOURCE, fma_operand

from . import distributed
from .box import bounds, exponents, sizes, total_at_most, total_is
from .distributed import Subject, questions
from .pieces import COPIES, Extent, Piece, PieceLayout
from .query import Parametric

ORDERS = ((0, 1), (1, 0))


def subject(op_idx: int, order: tuple[int, ...]) -> Subject:
    """Return an operand whose parent is a 2-D blocked layout."""
    p, t, w, s = (
        exponents(name, 2, high)
        for name, high in (("p", 4), ("t", 5), ("w", 5), ("s", 9))
    )
    spt, threads, warps, shape = map(sizes, (p, t, w, s))
    k = 1 - op_idx
    per_warp = [spt[d] * threads[d] for d in (0, 1)]
    owned: list[Extent] = [shape[d] if d == k else spt[d] for d in (0, 1)]
    per_tile: list[Extent] = [
        shape[d] if d == k else per_warp[d] * warps[d] for d in (0, 1)
    ]

    def target(d: int) -> int:
        return COPIES if d == k else d

    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                *(Piece(d, owned[d]) for d in order),
                *(
                    Piece(d, ceil_div(shape[d], per_tile[d]), per_tile[d])
                    for d in order
                ),
            ],
            "lane": [Piece(target(d), threads[d], spt[d]) for d in order],
            "warp": [Piece(target(d), warps[d], per_warp[d]) for d in order],
        },
    )
    box = (
        *bounds(p, t, w, s),
        total_is(t, 5),
        total_at_most(w, 5),
        total_at_most(p, 4),
    )
    return Subject(
        f"operand {op_idx}, order {order}",
        fma_operand(shape, spt, threads, warps, order, op_idx),
        layout,
        box,
        {"register": 10, "lane": 5, "warp": 5},
    )


def parametric() -> list[Parametric]:
    """Return the theorems about FMA operands."""
    return [
        Parametric(
            name=f"fma_operand_{'ab'[op_idx]}_is_its_index_formula",
            statement=(
                f"Operand {'AB'[op_idx]} of a dot whose parent is a 2-D blocked "
                "layout: formula and linear layout agree everywhere"
            ),
            scope="threads: 32; warps: up to 32; tile: up to 16; shape: up to 2^9 a "
            "dim; registers: up to 1,024; both orders",
            source=SOURCE,
            instances=316_720,
            build=questions(
                distributed.equivalent,
                subject,
                *((op_idx, order) for order in ORDERS),
            ),
        )
        for op_idx in (0, 1)
    ]
