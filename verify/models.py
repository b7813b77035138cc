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
    Cga,
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
BEFORE_3_8 = ("3.6", "3.7")


Shape = tuple[int, ...]


def model_of(
    encoding: Encoding, shape: Sequence[int], whole: Sequence[int], release: str
) -> Model | None:
    """Return the index formula of an encoding for one block.

    Args:
        encoding: Any encoding.
        shape: Tensor shape that one block holds.
        whole: Tensor shape that the cluster holds.
        release: Triton release whose register numbers are meant.

    Returns:
        The formula, or ``None`` where the kind has none.
    """
    build = _BUILDERS.get(type(encoding))
    return build(encoding, tuple(shape), tuple(whole), release) if build else None


def split_over_blocks(encoding: Encoding, release: str) -> Cga:
    """Return how the blocks of a cluster split the tensor of an encoding.

    An MFMA operand, and until 3.7 a WMMA operand, is split along K like its parent; all
    others are copied along K.
    """
    if isinstance(encoding, Slice):
        return split_over_blocks(encoding.parent, release).drop(encoding.dim)
    if isinstance(encoding, DotOperand):
        parent = encoding.parent
        old = isinstance(parent, AmdWmma) and release in BEFORE_3_8
        if old or isinstance(parent, AmdMfma):
            return parent.cga
    return encoding.cga


def _blocked(encoding: Blocked, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.blocked(
        shape,
        encoding.size_per_thread,
        encoding.threads_per_warp,
        encoding.warps_per_cta,
        encoding.order,
        keep_repeated_registers=release in KEEPS_REPEATED_REGISTERS,
    )


def _slice(encoding: Slice, shape: Shape, whole: Shape, release: str) -> Model | None:
    dim = encoding.dim
    parent = model_of(
        encoding.parent,
        (*shape[:dim], 1, *shape[dim:]),
        (*whole[:dim], 1, *whole[dim:]),
        release,
    )
    if not isinstance(parent, DistributedModel):
        return None
    return legacy.slice_of(parent, dim)


def _dot_operand(
    encoding: DotOperand, shape: Shape, whole: Shape, release: str
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
            # float64 operands had a tile of 16 rows before 3.8
            (16, 8) if release in BEFORE_3_8 else parent.instr_shape,
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
            depth=whole[encoding.k_dim],
        )
    return legacy.amd_wmma_operand(
        shape,
        parent.version,
        _placement(parent),
        parent.instr_shape,
        op_idx,
        encoding.k_width,
        is_transposed=parent.is_transposed,
        depth=whole[encoding.k_dim] if release in BEFORE_3_8 else None,
    )


def _nvidia_mma(encoding: NvidiaMma, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.nvidia_mma(
        shape, encoding.version[0], encoding.warps_per_cta, encoding.instr_shape
    )


def _amd_mfma(encoding: AmdMfma, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.amd_mfma(
        shape,
        encoding.warps_per_cta,
        encoding.instr_shape,
        encoding.is_transposed,
        encoding.tiles_per_warp,
        encoding.element_bit_width,
        columns=whole[-1],
    )


def _placement(encoding: AmdWmma) -> legacy.Placement:
    placed = encoding.cta_layout
    return legacy.Placement(placed.register, placed.warp)


def _amd_wmma(encoding: AmdWmma, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.amd_wmma(
        shape,
        encoding.version,
        encoding.is_transposed,
        _placement(encoding),
        encoding.instr_shape,
    )


def _swizzled(
    encoding: SwizzledShared, shape: Shape, whole: Shape, release: str
) -> Model:
    return legacy.swizzled_shared(
        shape, encoding.vec, encoding.per_phase, encoding.max_phase, encoding.order
    )


_BUILDERS: dict[type, Callable[[Any, Shape, Shape, str], Model | None]] = {
    AmdMfma: _amd_mfma,
    AmdWmma: _amd_wmma,
    Blocked: _blocked,
    DotOperand: _dot_operand,
    NvidiaMma: _nvidia_mma,
    Slice: _slice,
    SwizzledShared: _swizzled,
}
