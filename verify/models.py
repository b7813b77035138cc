"""Which index formula belongs to which encoding.

A formula takes numbers, not encodings: this is where parameters are handed over, so
that ``verify.legacy`` knows nothing of the algebra.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from algebra.encodings import (
    AmdMfma,
    AmdRotatingShared,
    AmdWmma,
    Blocked,
    Cga,
    DotOperand,
    Encoding,
    MfmaScale,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    ScaleSmemForTmemCopy,
    Slice,
    Sm120DotScaledScale,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
    WmmaScale,
)

from . import legacy
from .legacy import DistributedModel, SharedModel


@dataclass(frozen=True, slots=True)
class PaddedModel:
    """The address formula of padded shared memory.

    Attributes:
        bits: Number of offset bits.
        address: Offset -> address.
    """

    bits: int
    address: Callable[[Any], Any]


Model = DistributedModel | SharedModel | PaddedModel
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
    placed = _placement(parent, release)
    free = encoding.rank - 2 + op_idx
    along_k = release == "3.7" or (
        release == "3.6" and any(vector[free] for vector in placed.register)
    )
    return legacy.amd_wmma_operand(
        shape,
        parent.version,
        placed,
        parent.instr_shape,
        op_idx,
        encoding.k_width,
        is_transposed=parent.is_transposed,
        depth=whole[encoding.k_dim] if along_k else None,
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


def _placement(encoding: AmdWmma, release: str) -> legacy.Placement:
    placed = encoding.placed(release)
    return legacy.Placement(placed.register, placed.warp)


def _amd_wmma(encoding: AmdWmma, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.amd_wmma(
        shape,
        encoding.version,
        encoding.is_transposed,
        _placement(encoding, release),
        encoding.instr_shape,
        columns=whole[-1] if release == "3.6" else None,
    )


def _swizzled(
    encoding: SwizzledShared, shape: Shape, whole: Shape, release: str
) -> Model:
    return legacy.swizzled_shared(
        shape, encoding.vec, encoding.per_phase, encoding.max_phase, encoding.order
    )


def _rotating(
    encoding: AmdRotatingShared, shape: Shape, whole: Shape, release: str
) -> Model | None:
    if encoding.cga.bases:
        # upstream swizzles the whole tensor in each block: no formula meant that
        return None
    return legacy.amd_rotating_shared(
        shape, encoding.vec, encoding.per_phase, encoding.max_phase, encoding.order
    )


def _nvmma(
    encoding: NvmmaShared, shape: Shape, whole: Shape, release: str
) -> Model | None:
    transposed = encoding.transposed
    if transposed and not encoding.swizzle_byte_width:
        if release in BEFORE_3_8:
            transposed = False
        elif encoding.rank > 2:
            # upstream's map is not even injective; see algebra.encodings
            return None
    return legacy.nvmma_shared(
        shape,
        encoding.swizzle_byte_width,
        encoding.element_bit_width,
        transposed,
        encoding.fp4_padded,
    )


def _padded(encoding: PaddedShared, shape: Shape, whole: Shape, release: str) -> Model:
    def address(offset: Any) -> Any:
        return legacy.padded_address(offset, encoding.intervals, encoding.paddings)

    return PaddedModel(len(encoding.offset), address)


def _tensor_memory(
    encoding: TensorMemory, shape: Shape, whole: Shape, release: str
) -> Model | None:
    if encoding.cga.bases and release in BEFORE_3_8:
        # then the parts of a cluster followed each other in one memory
        return None
    return legacy.tensor_memory(
        shape,
        encoding.block_m,
        encoding.block_n,
        encoding.col_stride,
        pair=encoding.two_ctas and release not in BEFORE_3_8,
        fp4_padded=encoding.fp4_padded,
    )


def _tensor_memory_scales(
    encoding: TensorMemoryScales, shape: Shape, whole: Shape, release: str
) -> Model:
    return legacy.tensor_memory_scales(shape, encoding.block_rep_order == "mn_then_k")


def _scale_tile(
    encoding: ScaleSmemForTmemCopy, shape: Shape, whole: Shape, release: str
) -> Model:
    def offset(coordinates: Sequence[Any]) -> Any:
        return legacy.scale_tile_offset(coordinates, shape)

    return SharedModel(shape=shape, offset=offset, source="PTX ISA, tcgen05.cp")


def _sm120(
    encoding: Sm120DotScaledScale, shape: Shape, whole: Shape, release: str
) -> Model:
    return legacy.sm120_scales(
        shape, encoding.op_idx, encoding.warps_per_cta, depth=whole[-1]
    )


def _mfma_scale(encoding: MfmaScale, shape: Shape, whole: Shape, release: str) -> Model:
    return legacy.mfma_scales(
        shape,
        encoding.op_idx,
        encoding.mfma_m,
        encoding.warps_per_cta,
        encoding.tiles_per_warp,
    )


def _wmma_scale(encoding: WmmaScale, shape: Shape, whole: Shape, release: str) -> Model:
    placed = encoding.cta_layout
    return legacy.wmma_scales(
        shape,
        encoding.op_idx,
        legacy.Placement(placed.register, placed.warp),
        encoding.instr_shape,
        encoding.is_transposed,
        encoding.scale_factor,
        depth=whole[-1],
    )


_BUILDERS: dict[type, Callable[[Any, Shape, Shape, str], Model | None]] = {
    AmdMfma: _amd_mfma,
    AmdRotatingShared: _rotating,
    AmdWmma: _amd_wmma,
    Blocked: _blocked,
    DotOperand: _dot_operand,
    MfmaScale: _mfma_scale,
    NvidiaMma: _nvidia_mma,
    NvmmaShared: _nvmma,
    PaddedShared: _padded,
    ScaleSmemForTmemCopy: _scale_tile,
    Sm120DotScaledScale: _sm120,
    Slice: _slice,
    SwizzledShared: _swizzled,
    TensorMemory: _tensor_memory,
    TensorMemoryScales: _tensor_memory_scales,
    WmmaScale: _wmma_scale,
}
