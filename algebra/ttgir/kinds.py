"""Turn an attribute of a known kind into its encoding: one short function a kind.

The spellings of all releases from 3.6 to 3.9 are read, and those of older dumps
(``#triton_gpu.``, three CTA lists) where the encoding is the same.
"""

from collections.abc import Callable
from typing import Any

from algebra.encodings import (
    AmdMfma,
    AmdRotatingShared,
    AmdWmma,
    Blocked,
    Cga,
    CtaLayout,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    PartitionedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
)
from algebra.errors import LayoutError, ParseError

from .parameters import Parameters
from .reader import Attribute
from .tokens import complaint

DIALECTS = ("ttg", "triton_gpu", "ttng", "triton_nvidia_gpu")
"""Dialects whose attributes are read."""


def encode(attribute: Attribute) -> Encoding:
    """Return the encoding that an attribute spells.

    Args:
        attribute: As read from the text.

    Raises:
        ParseError: an unknown kind (lists the known ones), a missing or unknown
            parameter, or parameters that the encoding rejects.
    """
    dialect = attribute.token.text[1:].partition(".")[0]
    build = BUILDERS.get(attribute.kind) if dialect in DIALECTS else None
    if build is None:
        raise complaint(
            attribute.token,
            "an encoding of a known kind",
            f"known after #ttg. or #ttng.: {', '.join(sorted(BUILDERS))}",
        )
    parameters = Parameters(attribute)
    try:
        encoding = build(parameters)
    except ParseError:
        raise
    except LayoutError as error:
        raise complaint(
            attribute.token, "parameters that fit together", str(error)
        ) from error
    parameters.finish()
    return encoding


def _parent(parameters: Parameters) -> Any:
    return encode(parameters.attribute_of("parent"))


def _blocked(parameters: Parameters) -> Encoding:
    return Blocked(
        size_per_thread=parameters.integers("sizePerThread"),
        threads_per_warp=parameters.integers("threadsPerWarp"),
        warps_per_cta=parameters.integers("warpsPerCTA"),
        order=parameters.integers("order"),
        cga=parameters.cga(),
    )


def _slice(parameters: Parameters) -> Encoding:
    return Slice(dim=parameters.integer("dim"), parent=_parent(parameters))


def _dot_op(parameters: Parameters) -> Encoding:
    return DotOperand(
        op_idx=parameters.integer("opIdx"),
        parent=_parent(parameters),
        k_width=parameters.integer("kWidth", 0),
    )


def _nvidia_mma(parameters: Parameters) -> Encoding:
    version = (
        parameters.integer("versionMajor"),
        parameters.integer("versionMinor", 0),
    )
    return NvidiaMma(
        version=version,
        warps_per_cta=parameters.integers("warpsPerCTA"),
        instr_shape=parameters.integers("instrShape"),
        cga=parameters.cga(),
    )


def _amd_mfma(parameters: Parameters) -> Encoding:
    if "versionMajor" in parameters:
        version = parameters.integer("versionMajor")
        parameters.integer("versionMinor", 0)
    else:
        version = parameters.integer("version")
    tiles = {}
    if "tilesPerWarp" in parameters:
        tiles["tiles_per_warp"] = parameters.integers("tilesPerWarp")
    return AmdMfma(
        version=version,
        warps_per_cta=parameters.integers("warpsPerCTA"),
        instr_shape=parameters.integers("instrShape"),
        is_transposed=parameters.flag("isTransposed"),
        element_bit_width=parameters.integer("elementBitWidth", 32),
        cga=parameters.cga(),
        **tiles,
    )


def _amd_wmma(parameters: Parameters) -> Encoding:
    name = "isTransposed" if "isTransposed" in parameters else "isTranspose"
    given: dict[str, Any] = {
        "version": parameters.integer("version"),
        "is_transposed": parameters.flag(name),
        "cga": parameters.cga(),
    }
    if "instrShape" in parameters:
        given["instr_shape"] = parameters.integers("instrShape")
    if "ctaLayout" not in parameters:
        given["warps_per_cta"] = parameters.integers("warpsPerCTA")
        if "tilesPerWarp" in parameters:
            given["tiles_per_warp"] = parameters.integers("tilesPerWarp")
        return AmdWmma.from_warps(**given)
    layout = parameters.nested("ctaLayout")
    register = layout.vectors("register", required=False)
    warp = layout.vectors("warp", required=False)
    layout.finish()
    ranks = {len(vector) for vector in register + warp + given["cga"].bases}
    rank = parameters.integer("rank", max(ranks, default=2))
    cta_layout = CtaLayout(register=register, warp=warp)
    return AmdWmma(**given, cta_layout=cta_layout, rank=rank)


def _swizzled(parameters: Parameters, kind: type[Any]) -> Encoding:
    built: Encoding = kind(
        vec=parameters.integer("vec"),
        per_phase=parameters.integer("perPhase"),
        max_phase=parameters.integer("maxPhase"),
        order=parameters.integers("order"),
        cga=parameters.cga(),
    )
    return built


def _swizzled_shared(parameters: Parameters) -> Encoding:
    return _swizzled(parameters, SwizzledShared)


def _amd_rotating_shared(parameters: Parameters) -> Encoding:
    return _swizzled(parameters, AmdRotatingShared)


def _shared(parameters: Parameters) -> Encoding:
    if parameters.flag("hasLeadingOffset", False):
        raise complaint(
            parameters.attribute.token,
            "hasLeadingOffset = false",
            "with true the element width is not printed; write #ttg.nvmma_shared",
        )
    return _swizzled(parameters, SwizzledShared)


def _nvmma_shared(parameters: Parameters) -> Encoding:
    cga = parameters.cga()
    rank = max((len(basis) for basis in cga.bases), default=2)
    return NvmmaShared(
        swizzle_byte_width=parameters.integer("swizzlingByteWidth"),
        transposed=parameters.flag("transposed"),
        element_bit_width=parameters.integer("elementBitWidth"),
        fp4_padded=parameters.flag("fp4Padded", False),
        rank=parameters.integer("rank", rank),
        cga=cga,
    )


BUILDERS: dict[str, Callable[[Parameters], Encoding]] = {
    "amd_mfma": _amd_mfma,
    "amd_rotating_shared": _amd_rotating_shared,
    "amd_wmma": _amd_wmma,
    "blocked": _blocked,
    "dot_op": _dot_op,
    "nvidia_mma": _nvidia_mma,
    "nvmma_shared": _nvmma_shared,
    "shared": _shared,
    "slice": _slice,
    "swizzled_shared": _swizzled_shared,
}
