"""AMD rotating shared memory: the phase also changes after a whole turn of phases.

Younger than the pinned commit; the formula is the one in the description of the
attribute (TritonGPUAttrDefs.td, ``AMDRotatingSharedEncoding``).
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index
from .model import SharedModel

SOURCE = (
    "triton-lang/triton, include/triton/Dialect/TritonGPU/IR/TritonGPUAttrDefs.td, "
    "AMDRotatingSharedEncoding: description"
)


def amd_rotating_shared(
    shape: Sequence[Extent],
    vec: Extent,
    per_phase: Extent,
    max_phase: Extent,
    order: Sequence[int],
    *,
    wrap: bool = True,
) -> SharedModel:
    """Return the address formula of a rotating shared layout.

    Args:
        shape: Tensor shape.
        vec: Elements that move together.
        per_phase: Rows with the same phase.
        max_phase: Number of phases.
        order: Dims, the fastest first.
        wrap: Take the column modulo the row length.

    Example:
        >>> amd_rotating_shared([16, 16], 4, 1, 4, [1, 0]).offset([5, 0])
        80

    Source: see ``SOURCE``.
    """

    def offset(coordinates: Sequence[Index]) -> Index:
        fast = order[0]
        column = coordinates[fast]
        row = coordinates[order[1]] if len(order) > 1 else 0
        turn = row // per_phase
        phase = turn % max_phase ^ turn // max_phase % max_phase
        column = (column // vec ^ phase) * vec + column % vec
        total = column % shape[fast] if wrap else column
        stride = shape[fast]
        for d in order[1:]:
            total = total + coordinates[d] * stride
            stride = shape[d] * stride
        return total

    return SharedModel(shape=tuple(shape), offset=offset, source=SOURCE)
