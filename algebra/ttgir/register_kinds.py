"""Attributes of tensors in registers, each turned into its encoding."""

from typing import Any

from algebra.encodings import (
    AmdMfma,
    AmdWmma,
    Blocked,
    CtaLayout,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    Slice,
)

from .parameters import Builder, Encode, Parameters


def _parent(parameters: Parameters, encode: Encode) -> Any:
    return encode(parameters.attribute_of("parent"))


def _blocked(parameters: Parameters, encode: Encode) -> Encoding:
    return Blocked(
        size_per_thread=parameters.integers("sizePerThread"),
        threads_per_warp=parameters.integers("threadsPerWarp"),
        warps_per_cta=parameters.integers("warpsPerCTA"),
        order=parameters.integers("order"),
        cga=parameters.cga(),
    )


def _slice(parameters: Parameters, encode: Encode) -> Encoding:
    return Slice(dim=parameters.integer("dim"), parent=_parent(parameters, encode))


def _dot_op(parameters: Parameters, encode: Encode) -> Encoding:
    return DotOperand(
        op_idx=parameters.integer("opIdx"),
        parent=_parent(parameters, encode),
        k_width=parameters.integer("kWidth", 0),
    )


def _nvidia_mma(parameters: Parameters, encode: Encode) -> Encoding:
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


def _amd_mfma(parameters: Parameters, encode: Encode) -> Encoding:
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


def _amd_wmma(parameters: Parameters, encode: Encode) -> Encoding:
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


def _linear(parameters: Parameters, encode: Encode) -> Encoding:
    return Linear(
        register=parameters.vectors("register"),
        lane=parameters.vectors("lane"),
        warp=parameters.vectors("warp"),
        block=parameters.vectors("block", required=False),
    )


REGISTER_KINDS: dict[str, Builder] = {
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "blocked": _blocked,
    "dot_op": _dot_op,
    "generic_linear": _linear,
    "linear": _linear,
    "nvidia_mma": _nvidia_mma,
    "slice": _slice,
}
"""Builders by the name that Triton prints."""
