"""Which index formula belongs to which encoding.

A formula takes numbers, not encodings: this is where parameters are handed over, so
that ``verify.legacy`` knows nothing of the algebra.
"""

from collections.abc import Callable, Sequence
from typing import Any

from algebra.encodings import (
    AmdMfma,
    AmdWmma,
    Blocked,
    DotOperand,
    Encoding,
    NvidiaMma,
    Slice,
    SwizzledShared,
)

from . import legacy
from .legacy import DistributedModel, SharedModel

Model = DistributedModel | SharedModel
KEEPS_REPEATED_REGISTERS = ("3.6", "3.7", "3.8")


def model_of(encoding: Encoding, shape: Sequence[int], release: str) -> Model | None:
    """Return the index formula of an encoding for one block.

    Args:
        encoding: Any encoding.
        shape: Tensor shape that one block holds.
        release: Triton release whose register numbers are meant.

    Returns:
        The formula, or ``None`` where the kind has none.
    """
    build = _BUILDERS.get(type(encoding))
    return build(encoding, tuple(shape), release) if build else None


def _blocked(encoding: Blocked, shape: tuple[int, ...], release: str) -> Model:
    return legacy.blocked(
        shape,
        encoding.size_per_thread,
        encoding.threads_per_warp,
        encoding.warps_per_cta,
        encoding.order,
        keep_repeated_registers=release in KEEPS_REPEATED_REGISTERS,
    )


def _slice(encoding: Slice, shape: tuple[int, ...], release: str) -> Model | None:
    dim = encoding.dim
    parent = model_of(encoding.parent, (*shape[:dim], 1, *shape[dim:]), release)
    if not isinstance(parent, DistributedModel):
        return None
    return legacy.slice_of(parent, dim)


def _dot_operand(
    encoding: DotOperand, shape: tuple[int, ...], release: str
) -> Model | None:
    parent, op_idx = encoding.parent, encoding.op_idx
    if isinstance(parent, Blocked):
        return legacy.fma_operand(
            shape,
            parent.size_per_thread,
            parent.threads_per_warp,
            parent.warps_per_cta,
            parent.order,
            op_idx,
        )
    if isinstance(parent, NvidiaMma):
        return legacy.nvidia_mma_operand(
            shape,
            parent.version[0],
            parent.warps_per_cta,
            parent.instr_shape,
            op_idx,
            encoding.k_width,
        )
    if isinstance(parent, AmdMfma):
        return legacy.amd_mfma_operand(
            shape,
            parent.warps_per_cta,
            parent.instr_shape,
            op_idx,
            encoding.k_width,
            parent.tiles_per_warp,
        )
    return legacy.amd_wmma_operand(
        shape,
        parent.version,
        _placement(parent),
        parent.instr_shape,
        op_idx,
        encoding.k_width,
    )


def _nvidia_mma(encoding: NvidiaMma, shape: tuple[int, ...], release: str) -> Model:
    return legacy.nvidia_mma(
        shape, encoding.version[0], encoding.warps_per_cta, encoding.instr_shape
    )


def _amd_mfma(encoding: AmdMfma, shape: tuple[int, ...], release: str) -> Model:
    return legacy.amd_mfma(
        shape,
        encoding.warps_per_cta,
        encoding.instr_shape,
        encoding.is_transposed,
        encoding.tiles_per_warp,
        encoding.element_bit_width,
    )


def _placement(encoding: AmdWmma) -> legacy.Placement:
    placed = encoding.cta_layout
    return legacy.Placement(placed.register, placed.warp)


def _amd_wmma(encoding: AmdWmma, shape: tuple[int, ...], release: str) -> Model:
    return legacy.amd_wmma(
        shape,
        encoding.version,
        encoding.is_transposed,
        _placement(encoding),
        encoding.instr_shape,
    )


def _swizzled(encoding: SwizzledShared, shape: tuple[int, ...], release: str) -> Model:
    return legacy.swizzled_shared(
        shape, encoding.vec, encoding.per_phase, encoding.max_phase, encoding.order
    )


_BUILDERS: dict[type, Callable[[Any, tuple[int, ...], str], Model | None]] = {
    AmdMfma: _amd_mfma,
    AmdWmma: _amd_wmma,
    Blocked: _blocked,
    DotOperand: _dot_operand,
    NvidiaMma: _nvidia_mma,
    Slice: _slice,
    SwizzledShared: _swizzled,
}
