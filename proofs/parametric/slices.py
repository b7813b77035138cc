"""Slices of blocked and mma layouts with symbolic sizes."""

from verify.legacy import slice_of
from verify.legacy.arithmetic import ceil_div, smaller
from verify.legacy.blocked import blocked
from verify.legacy.nvidia_mma import nvidia_mma
from verify.legacy.slice import SOURCE

from . import distributed
from .box import bounds, exponents, sizes, total_at_most, total_is
from .distributed import Subject, questions
from .pieces import COPIES, Extent, Piece, PieceLayout
from .query import Parametric

ORDERS = ((0, 1), (1, 0))


def slice_of_blocked(dim: int, order: tuple[int, ...]) -> Subject:
    """Return the slice of a 2-D blocked layout without ``dim``."""
    p, t, w = (
        exponents(name, 2, high) for name, high in zip("ptw", (4, 5, 5), strict=True)
    )
    s = exponents("s", 1, 10)
    spt, threads, warps, kept = map(sizes, (p, t, w, s))
    other = 1 - dim
    shape: list[Extent] = [1, 1]
    shape[other] = kept[0]
    per_warp = [spt[k] * threads[k] for k in (0, 1)]
    tile = per_warp[other] * warps[other]

    def target(k: int) -> int:
        return COPIES if k == dim else 0

    layout = PieceLayout(
        (kept[0],),
        {
            "register": [
                Piece(0, smaller(spt[other], kept[0])),
                Piece(0, ceil_div(kept[0], tile), tile),
            ],
            "lane": [Piece(target(k), threads[k], spt[k]) for k in order],
            "warp": [Piece(target(k), warps[k], per_warp[k]) for k in order],
        },
    )
    parent = blocked(shape, spt, threads, warps, order)
    box = (
        *bounds(p, t, w, s),
        total_is(t, 5),
        total_at_most(w, 5),
        total_at_most(p, 4),
    )
    return Subject(
        f"dim {dim}, order {order}",
        slice_of(parent, dim),
        layout,
        box,
        {"register": 10, "lane": 5, "warp": 5},
    )


def slice_of_mma(dim: int) -> Subject:
    """Return the slice of an mma v2 result without ``dim``."""
    w, s = exponents("w", 2, 5), exponents("s", 1, 10, low=4)
    warps, kept = sizes(w), sizes(s)
    other = 1 - dim
    shape: list[Extent] = [1, 1]
    shape[other] = kept[0]
    instr = (16, 8)
    tile = warps[other] * instr[other]
    rows, columns = (0, COPIES) if dim == 1 else (COPIES, 0)
    own = Piece(0, 2, 8) if dim == 1 else Piece(0, 2)
    layout = PieceLayout(
        (kept[0],),
        {
            "register": [own, Piece(0, ceil_div(kept[0], tile), tile)],
            "lane": [Piece(columns, 4, 2), Piece(rows, 8)],
            "warp": [Piece(columns, warps[1], 8), Piece(rows, warps[0], 16)],
        },
    )
    parent = nvidia_mma(shape, 2, warps, instr)
    return Subject(
        f"dim {dim}",
        slice_of(parent, dim),
        layout,
        (*bounds(w, s), total_at_most(w, 5)),
        {"register": 8, "lane": 5, "warp": 5},
    )


def parametric() -> list[Parametric]:
    """Return the theorems about slices."""
    return [
        *(
            Parametric(
                name=f"slice_of_blocked_without_dim{dim}_is_its_index_formula",
                statement=(
                    f"The slice of a 2-D blocked layout without dim {dim}: the formula "
                    "with a set of offsets and the linear layout agree everywhere"
                ),
                scope="threads: 32; warps: up to 32; tile: up to 16; size: up to 2^10; "
                "both orders",
                source=SOURCE,
                instances=2 * 20_790,
                build=questions(
                    distributed.equivalent,
                    slice_of_blocked,
                    *((dim, order) for order in ORDERS),
                ),
            )
            for dim in (0, 1)
        ),
        Parametric(
            name="slice_of_mma_v2_is_its_index_formula",
            statement=(
                "The slice of an mma v2 result without either dim: formula and linear "
                "layout agree everywhere"
            ),
            scope="warps: up to 32; size: 2^4 to 2^10",
            source=SOURCE,
            instances=2 * 147,
            build=questions(distributed.equivalent, slice_of_mma, (0,), (1,)),
        ),
    ]
