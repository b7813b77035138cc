"""Swizzled shared memory: columns are xored with a phase that depends on the row.

Upstream asserts ``max_phase == 1 or vec * max_phase <= columns``: otherwise an address
would leave its row. The formula takes the column modulo the row length, as the linear
layout does; the theorem ``swizzled_shared_*`` says exactly when that changes nothing.
"""

from collections.abc import Sequence

from .arithmetic import Extent, Index
from .model import SharedModel
from .upstream import upstream

SOURCE = upstream("getSwizzledSharedPtrs")


def swizzled_shared(
    shape: Sequence[Extent],
    vec: Extent,
    per_phase: Extent,
    max_phase: Extent,
    order: Sequence[int],
    *,
    wrap: bool = True,
) -> SharedModel:
    """Return the address formula of a swizzled shared layout.

    Args:
        shape: Tensor shape of one block.
        vec: Elements that move together.
        per_phase: Rows with the same phase.
        max_phase: Number of phases.
        order: Dims, the fastest first.
        wrap: Take the column modulo the row length.

    Example:
        >>> swizzled_shared([8, 16], 4, 1, 4, [1, 0]).offset([1, 0])
        20

    Source: see ``SOURCE``.
    """

    def offset(coordinates: Sequence[Index]) -> Index:
        fast = order[0]
        column = coordinates[fast]
        row = coordinates[order[1]] if len(order) > 1 else 0
        phase = row // per_phase % max_phase
        column = (column // vec ^ phase) * vec + column % vec
        total = column % shape[fast] if wrap else column
        stride = shape[fast]
        for d in order[1:]:
            total = total + coordinates[d] * stride
            stride = shape[d] * stride
        return total

    note = ""
    if isinstance(vec, int) and isinstance(max_phase, int) and len(order) > 1:
        columns = shape[order[0]]
        if isinstance(columns, int) and max_phase > 1 and vec * max_phase > columns:
            note = (
                f"vec * max_phase = {vec * max_phase} exceeds {columns} columns: "
                "upstream asserts, here columns wrap around"
            )
    return SharedModel(shape=tuple(shape), offset=offset, source=SOURCE, note=note)
