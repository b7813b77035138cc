"""NVIDIA mma: results and operands with symbolic warps, shapes, widths and N."""

from verify.legacy.arithmetic import ceil_div
from verify.legacy.nvidia_mma import (
    OPERAND_V2,
    OPERAND_V3,
    RESULT,
    nvidia_mma,
    nvidia_mma_operand,
    warp_order,
)

from . import distributed
from .box import Exponent, bounds, exponents, sizes, total_at_most
from .distributed import Subject, questions
from .pieces import COPIES, Extent, Piece, PieceLayout
from .query import Parametric

BITS = {"register": 10, "lane": 5, "warp": 5}
WARPS_AND_SHAPE = "warps: up to 32; shape: up to 2^9 a dim; registers: up to 1,024"


def _tile(
    shape: list[Extent],
    warps: list[Extent],
    version: int,
    inner: int,
    tile: tuple[Extent, Extent],
    k_width: Extent,
    *,
    operand: bool,
) -> PieceLayout:
    """Return the pieces of one instruction tile, over warps and repetitions."""
    rank = len(shape)
    outer = 2 * rank - 3 - inner
    high, wide = tile
    size: list[Extent] = [1] * rank
    size[outer], size[inner] = high, wide
    order = warp_order(version, rank)
    spread = [1 if operand and d == inner else warps[d] for d in range(rank)]
    per_tile = [size[d] * spread[d] for d in range(rank)]
    loops = [inner, outer, *reversed(range(rank - 2))]
    return PieceLayout(
        tuple(shape),
        {
            "register": [
                Piece(inner, k_width),
                Piece(outer, ceil_div(high, 8), 8),
                Piece(inner, ceil_div(wide, 4 * k_width), 4 * k_width),
                *(
                    Piece(d, ceil_div(shape[d], per_tile[d]), per_tile[d])
                    for d in loops
                ),
            ],
            "lane": [Piece(inner, 4, k_width), Piece(outer, 8)],
            "warp": [
                Piece(COPIES if operand and d == inner else d, warps[d], size[d])
                for d in order
            ],
        },
    )


def result(version: int, rank: int = 2, rows: int = 16) -> Subject:
    """Return the result of mma v2 or v3; N of v3 is symbolic, 8 to 256."""
    w, s = exponents("w", rank, 5), exponents("s", rank, 9)
    n = Exponent("n", 8, low=3)
    warps, shape = sizes(w), sizes(s)
    columns: Extent = n.size if version == 3 else 8
    instr = [16, columns, 16] if version == 3 else [1] * (rank - 2) + [rows, 8]
    box = [*bounds(w, s), total_at_most(w, 5)]
    if version == 3:
        box += n.bounds()
    return Subject(
        f"version {version}, rank {rank}, {rows} rows",
        nvidia_mma(shape, version, warps, instr),
        _tile(
            list(shape),
            list(warps),
            version,
            rank - 1,
            (rows, columns),
            2,
            operand=False,
        ),
        tuple(box),
        BITS,
    )


def operand(version: int, op_idx: int, rows: int = 16) -> Subject:
    """Return an operand with symbolic ``k_width``, 1 to 8."""
    w, s = exponents("w", 2, 5), exponents("s", 2, 9)
    k = Exponent("k", 3)
    warps, shape = sizes(w), sizes(s)
    instr = [16, 64, 16] if version == 3 else [rows, 8]
    high = rows if op_idx == 0 else 8
    return Subject(
        f"version {version}, operand {op_idx}, {rows} rows",
        nvidia_mma_operand(shape, version, warps, instr, op_idx, k.size),
        _tile(
            list(shape),
            list(warps),
            version,
            1 - op_idx,
            (high, k.size * (4 if rows == 8 else 8)),
            k.size,
            operand=True,
        ),
        (*bounds(w, s), *k.bounds(), total_at_most(w, 5)),
        BITS,
    )


def parametric() -> list[Parametric]:
    """Return the theorems about NVIDIA's matrix instructions."""
    return [
        Parametric(
            name="mma_v2_result_is_its_index_formula",
            statement=(
                "Results of mma m16n8 and m8n8: formula and linear layout agree at "
                "every register, lane and warp, for all warps and shapes in the box"
            ),
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=4_170,
            build=questions(distributed.equivalent, result, (2, 2, 16), (2, 2, 8)),
        ),
        Parametric(
            name="batched_mma_v2_result_is_its_index_formula",
            statement="The same for results of rank 3",
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=42_580,
            build=questions(distributed.equivalent, result, (2, 3)),
        ),
        Parametric(
            name="mma_v3_result_is_its_index_formula",
            statement=(
                "Results of wgmma with symbolic N: formula and linear layout agree "
                "everywhere"
            ),
            scope=WARPS_AND_SHAPE + "; N: 8 to 256",
            source=RESULT,
            instances=12_298,
            build=questions(distributed.equivalent, result, (3,)),
        ),
        *(
            Parametric(
                name=f"mma_v2_operand_{'ab'[op_idx]}_is_its_index_formula",
                statement=(
                    f"Operand {'AB'[op_idx]} of mma v2 with symbolic k_width: formula "
                    "and linear layout agree everywhere"
                ),
                scope=WARPS_AND_SHAPE + "; k_width: 1 to 8; 16 and 8 rows",
                source=OPERAND_V2,
                instances=16_360,
                build=questions(
                    distributed.equivalent,
                    operand,
                    (2, op_idx, 16),
                    (2, op_idx, 8),
                ),
            )
            for op_idx in (0, 1)
        ),
        Parametric(
            name="mma_v3_operand_a_is_its_index_formula",
            statement=(
                "Operand A of wgmma in registers, with symbolic k_width: formula and "
                "linear layout agree everywhere"
            ),
            scope=WARPS_AND_SHAPE + "; k_width: 1 to 8",
            source=OPERAND_V3,
            instances=8_180,
            build=questions(distributed.equivalent, operand, (3, 0)),
        ),
        Parametric(
            name="mma_v2_formula_is_linear",
            statement="The formula maps the xor of two places to the xor of both",
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=2_085,
            build=questions(distributed.linear, result, (2,)),
        ),
        Parametric(
            name="mma_v2_kernel_is_the_bits_beyond_the_shape",
            statement=(
                "A place of an mma v2 result is mapped to zero exactly if it has no "
                "bit but those beyond the shape: the copies of an element are known"
            ),
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=2_085,
            build=questions(distributed.kernel, result, (2,)),
        ),
        Parametric(
            name="mma_v2_positions_are_in_range",
            statement="Every coordinate of the mma v2 formula is below the shape",
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=2_085,
            build=questions(distributed.in_range, result, (2,)),
        ),
        Parametric(
            name="mma_v2_holds_every_element",
            statement="Every element of an mma v2 result is held somewhere",
            scope=WARPS_AND_SHAPE,
            source=RESULT,
            instances=2_085,
            build=questions(distributed.onto, result, (2,)),
        ),
    ]
