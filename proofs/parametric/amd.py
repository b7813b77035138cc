"""AMD MFMA and WMMA: results and operands with symbolic warps, tiles and shapes."""

from verify.legacy import WarpGrid, amd_mfma, amd_mfma_operand, amd_wmma
from verify.legacy.amd_mfma import OPERAND as MFMA_OPERAND
from verify.legacy.amd_mfma import RESULT as MFMA_RESULT
from verify.legacy.amd_wmma import OPERAND as WMMA_OPERAND
from verify.legacy.amd_wmma import RESULT as WMMA_RESULT
from verify.legacy.amd_wmma import amd_wmma_operand
from verify.legacy.arithmetic import ceil_div

from . import distributed
from .box import Exponent, bounds, exponents, sizes, total_at_most
from .distributed import Subject, questions
from .pieces import COPIES, Extent, Piece, PieceLayout
from .query import Parametric

MFMA_BITS = {"register": 11, "lane": 6, "warp": 4}
WMMA_BITS = {"register": 10, "lane": 5, "warp": 4}
MFMA_WAYS = (
    (32, 32, ((False, 32), (True, 32))),
    (16, 16, ((False, 32), (True, 32), (False, 64), (True, 64))),
    (64, 4, ((True, 32),)),
    (4, 64, ((False, 32),)),
)
"""Instruction tiles, each with (transposed, bits of a result)."""
MFMA_BOX = (
    "warps: up to 16; tiles of a warp: up to 4 a dim; shape: up to 2^8 a dim; "
    "registers: up to 2,048"
)
WMMA_BOX = "warps: up to 16; shape: up to 2^8 a dim; registers: up to 1,024"


def mfma(tile: tuple[int, int], transposed: bool, bits: int = 32) -> Subject:
    """Return an MFMA result of one instruction."""
    w, s, g = exponents("w", 2, 4), exponents("s", 2, 8), exponents("g", 2, 2)
    warps, shape, tiles = map(sizes, (w, s, g))
    fast, slow = (0, 1) if transposed else (1, 0)
    height = 1 if bits == 64 else 4
    rounds = tile[0] * tile[1] // (64 * height)
    per_warp = [tiles[d] * tile[d] for d in (0, 1)]
    per_tile = [per_warp[d] * warps[d] for d in (0, 1)]
    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                Piece(slow, height),
                Piece(slow, rounds, height * 64 // tile[fast]),
                *(
                    piece
                    for d in (1, 0)
                    for piece in (
                        Piece(d, tiles[d], tile[d]),
                        Piece(d, ceil_div(shape[d], per_tile[d]), per_tile[d]),
                    )
                ),
            ],
            "lane": [Piece(fast, tile[fast]), Piece(slow, 64 // tile[fast], height)],
            "warp": [Piece(d, warps[d], per_warp[d]) for d in (1, 0)],
        },
    )
    return Subject(
        f"{tile[0]} x {tile[1]}, transposed {transposed}, {bits} bits",
        amd_mfma(shape, warps, (*tile, 8), transposed, tiles, bits),
        layout,
        (*bounds(w, s, g), total_at_most(w, 4)),
        MFMA_BITS,
    )


def mfma_operand(tile: tuple[int, int], op_idx: int) -> Subject:
    """Return an operand of MFMA with symbolic ``k_width``, 1 to 16."""
    w, s, g = exponents("w", 2, 4), exponents("s", 2, 8), exponents("g", 2, 2)
    k = Exponent("k", 4)
    warps, shape, tiles = map(sizes, (w, s, g))
    k_dim, free = 1 - op_idx, op_idx
    wide = tile[op_idx]
    repeats = 16 if wide == 64 else 1
    turn = k.size * (64 // wide)
    k_tile = turn * repeats
    per_warp = tiles[free] * wide
    per_tile = per_warp * warps[free]
    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                Piece(k_dim, k.size),
                Piece(k_dim, repeats, turn),
                Piece(k_dim, ceil_div(shape[k_dim], k_tile), k_tile),
                Piece(free, tiles[free], wide),
                Piece(free, ceil_div(shape[free], per_tile), per_tile),
            ],
            "lane": [Piece(free, wide), Piece(k_dim, 64 // wide, k.size)],
            "warp": [
                Piece(COPIES if d == k_dim else d, warps[d], per_warp) for d in (1, 0)
            ],
        },
    )
    return Subject(
        f"{tile[0]} x {tile[1]}, operand {op_idx}",
        amd_mfma_operand(shape, warps, (*tile, 8), op_idx, k.size, tiles),
        layout,
        (*bounds(w, s, g), *k.bounds(), total_at_most(w, 4)),
        MFMA_BITS,
    )


def wmma(version: int, transposed: bool, long_side: int = 16) -> Subject:
    """Return a WMMA result."""
    w, s = exponents("w", 2, 4), exponents("s", 2, 8)
    warps, shape = map(sizes, (w, s))
    fast, slow = (0, 1) if transposed else (1, 0)
    side = [16, 16]
    side[slow] = long_side
    per_tile = [warps[d] * side[d] for d in (0, 1)]
    first = version == 1
    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                Piece(slow, 8, 2 if first else 1),
                Piece(slow, long_side // 16, 16),
                *(
                    Piece(d, ceil_div(shape[d], per_tile[d]), per_tile[d])
                    for d in (1, 0)
                ),
            ],
            "lane": [Piece(fast, 16), Piece(slow, 2, 1 if first else 8)],
            "warp": [Piece(d, warps[d], side[d]) for d in (1, 0)],
        },
    )
    return Subject(
        f"version {version}, transposed {transposed}, long side {long_side}",
        amd_wmma(
            shape, version, transposed, WarpGrid(tuple(warps)), (long_side, 16, 16)
        ),
        layout,
        (*bounds(w, s), total_at_most(w, 4)),
        WMMA_BITS,
    )


def wmma_operand(version: int, op_idx: int) -> Subject:
    """Return an operand of WMMA with symbolic ``k_width``."""
    w, s = exponents("w", 2, 4), exponents("s", 2, 8)
    k = Exponent("k", 4)
    warps, shape = map(sizes, (w, s))
    k_dim, free = 1 - op_idx, op_idx
    halves = 1 if version == 1 else 2
    depth = 16
    rounds = ceil_div(depth, k.size * 2)
    k_tile = k.size * halves * rounds
    per_tile = warps[free] * 16
    spread = [COPIES if d == k_dim else d for d in (0, 1)]
    half = Piece(COPIES, 2) if version == 1 else Piece(k_dim, 2, k.size)
    repeated: list[Extent] = [per_tile, per_tile]
    repeated[k_dim] = k_tile
    layout = PieceLayout(
        tuple(shape),
        {
            "register": [
                Piece(k_dim, k.size),
                Piece(k_dim, rounds, k.size * halves),
                *(
                    Piece(d, ceil_div(shape[d], repeated[d]), repeated[d])
                    for d in (k_dim, free)
                ),
            ],
            "lane": [Piece(free, 16), half],
            "warp": [Piece(spread[d], warps[d], 16) for d in (1, 0)],
        },
    )
    return Subject(
        f"version {version}, operand {op_idx}",
        amd_wmma_operand(
            shape, version, WarpGrid(tuple(warps)), (16, 16, depth), op_idx, k.size
        ),
        layout,
        (*bounds(w, s), *k.bounds(), total_at_most(w, 4)),
        WMMA_BITS,
    )


def parametric() -> list[Parametric]:
    """Return the theorems about AMD's matrix instructions."""
    return [
        *(
            Parametric(
                name=f"mfma_{m}x{n}_result_is_its_index_formula",
                statement=(
                    f"Results of MFMA {m} x {n}: formula and linear layout agree at "
                    "every register, lane and warp"
                ),
                scope=MFMA_BOX,
                source=MFMA_RESULT,
                instances=10_935 * len(ways),
                build=questions(
                    distributed.equivalent,
                    mfma,
                    *(((m, n), transposed, bits) for transposed, bits in ways),
                ),
            )
            for m, n, ways in MFMA_WAYS
        ),
        *(
            Parametric(
                name=f"mfma_operand_{'ab'[op_idx]}_is_its_index_formula",
                statement=(
                    f"Operand {'AB'[op_idx]} of MFMA with symbolic k_width: formula "
                    "and linear layout agree everywhere"
                ),
                scope=MFMA_BOX + "; k_width: 1 to 16; all four instructions",
                source=MFMA_OPERAND,
                instances=4 * 54_675,
                build=questions(
                    distributed.equivalent,
                    mfma_operand,
                    *(((m, n), op_idx) for m, n, _ in MFMA_WAYS),
                ),
            )
            for op_idx in (0, 1)
        ),
        *(
            Parametric(
                name=f"wmma_v{version}_result_is_its_index_formula",
                statement=(
                    f"Results of WMMA version {version}: formula and linear layout "
                    "agree at every register, lane and warp"
                ),
                scope=WMMA_BOX,
                source=WMMA_RESULT,
                instances=1_214 * (4 if version == 3 else 2),
                build=questions(
                    distributed.equivalent,
                    wmma,
                    *(
                        (version, transposed, side)
                        for transposed in (False, True)
                        for side in ((16, 32) if version == 3 else (16,))
                    ),
                ),
            )
            for version in (1, 2, 3)
        ),
        Parametric(
            name="wmma_operands_are_their_index_formula",
            statement=(
                "Operands A and B of WMMA 1 and 2 with symbolic k_width: formula and "
                "linear layout agree everywhere"
            ),
            scope=WMMA_BOX + "; k_width: 1 to 16",
            source=WMMA_OPERAND,
            instances=24_060,
            build=questions(
                distributed.equivalent,
                wmma_operand,
                *((version, op_idx) for version in (1, 2) for op_idx in (0, 1)),
            ),
        ),
    ]
