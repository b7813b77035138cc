"""Parameters of the encodings of registers as Triton prints them."""

from typing import Any

from .fields import OLD, Pairs, Print, Writer, bases, braces, cga


def _blocked(encoding: Any, release: str, show: Print) -> Pairs:
    return [
        ("sizePerThread", encoding.size_per_thread),
        ("threadsPerWarp", encoding.threads_per_warp),
        ("warpsPerCTA", encoding.warps_per_cta),
        ("order", encoding.order),
        *cga(encoding),
    ]


def _slice(encoding: Any, release: str, show: Print) -> Pairs:
    return [("dim", encoding.dim), ("parent", show(encoding.parent))]


def _dot_operand(encoding: Any, release: str, show: Print) -> Pairs:
    width = [("kWidth", encoding.k_width)] if encoding.k_width else []
    parent = show(encoding.parent)
    return [("opIdx", encoding.op_idx), ("parent", parent), *width]


def _nvidia_mma(encoding: Any, release: str, show: Print) -> Pairs:
    return [
        ("versionMajor", encoding.version[0]),
        ("versionMinor", encoding.version[1]),
        ("warpsPerCTA", encoding.warps_per_cta),
        *cga(encoding),
        ("instrShape", encoding.instr_shape),
    ]


def _amd_mfma(encoding: Any, release: str, show: Print) -> Pairs:
    pairs = [
        ("version", encoding.version),
        ("warpsPerCTA", encoding.warps_per_cta),
        ("instrShape", encoding.instr_shape),
        ("isTransposed", encoding.is_transposed),
        *cga(encoding),
    ]
    if any(tiles > 1 for tiles in encoding.tiles_per_warp):
        pairs.append(("tilesPerWarp", encoding.tiles_per_warp))
    if encoding.element_bit_width != 32:
        pairs.append(("elementBitWidth", encoding.element_bit_width))
    return pairs


def _amd_wmma(encoding: Any, release: str, show: Print) -> Pairs:
    instr: Pairs = []
    if encoding.instr_shape != (16, 16, 16):
        instr = [("instrShape", encoding.instr_shape)]
    head = [("version", encoding.version), ("isTranspose", encoding.is_transposed)]
    if release == OLD:
        warps, tiles = encoding.cta_layout.to_warps(encoding.rank)
        spread = [("tilesPerWarp", tiles)] if max(tiles) > 1 else []
        return [*head, ("warpsPerCTA", warps), *cga(encoding), *spread, *instr]
    layout = bases(encoding.cta_layout, ("register", "warp"), optional=2)
    # Triton prints no rank; without any vector its text could be of either
    alone = not (layout or encoding.cga.bases) and encoding.rank != 2
    rank = [("rank", encoding.rank)] if alone else []
    return [*head, ("ctaLayout", braces(layout)), *cga(encoding), *instr, *rank]


def _registers(encoding: Any, release: str, show: Print) -> Pairs:
    return bases(encoding, ("register", "lane", "warp", "block"))


REGISTER_WRITERS: dict[str, Writer] = {
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "blocked": _blocked,
    "dot_operand": _dot_operand,
    "linear": _registers,
    "nvidia_mma": _nvidia_mma,
    "slice": _slice,
}
"""Writers by the kind of encoding."""
