"""How a warp's accesses to global memory fall into 32-byte sectors.

The addresses come from the lane-symbolic evaluation, the lanes' coordinates from the
layout. Sizes are taken as large multiples of 16 and program ids as 0, so the figures
are those of a full, aligned block.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verify.mlir import TensorType
from verify.symbolic.terms import BOOL, INT, Term
from verify.symbolic.walk import symbols_of, value_at
from verify.ttir.arithmetic import bits_of
from verify.ttir.machine import alternatives
from verify.ttir.program import Access, Program

if TYPE_CHECKING:
    from .report import Layouts

SECTOR_BYTES = 32
VECTOR_BITS = 128


@dataclass(frozen=True, slots=True)
class Traffic:
    """One access of a warp.

    Attributes:
        kind: ``load``, ``store`` or ``atomic``.
        buffer: What is accessed.
        element_bits: Size of an element [bits].
        vector: Elements that a thread moves at once.
        sectors: Sectors that the warp touches at once.
        least: The fewest sectors that hold as many bytes.
    """

    kind: str
    buffer: str
    element_bits: int
    vector: int
    sectors: int
    least: int


def traffic_of(program: Program, layouts: "Layouts") -> Mapping[int, Traffic]:
    """Return line of the text -> traffic, of the accesses whose layout is known."""
    found: dict[int, Traffic] = {}
    for access in program.accesses:
        kind = access.operation.types[0] if access.operation.types else None
        if not isinstance(kind, TensorType):
            continue
        layout = layouts.of(kind)
        if layout is None:
            continue
        one = _traffic(access, layout)
        if one is not None:
            found[access.operation.line] = one
    return found


def _traffic(access: Access, layout: Any) -> Traffic | None:
    (buffer, offset, _), *_ = alternatives(access.pointer)
    bits = max(8, bits_of(access.element))
    names = dict(zip(layout.in_names, layout.in_bits, strict=True))
    registers, lanes = (1 << names.get(n, 0) for n in ("register", "lane"))
    try:
        places = [
            [_offset(access, offset, layout, r, lane) for r in range(registers)]
            for lane in range(lanes)
        ]
    except (KeyError, ZeroDivisionError):
        return None
    vector = 1
    while 2 * vector <= registers and 2 * vector * bits <= VECTOR_BITS:
        wide = 2 * vector
        contiguous = all(
            row[r] == row[0] + r and row[0] % wide == 0
            for row in places
            for r in range(wide)
        )
        if not contiguous:
            break
        vector = wide
    touched = {
        (row[r] * bits // 8) // SECTOR_BYTES for row in places for r in range(vector)
    }
    elements = len({row[r] for row in places for r in range(vector)})
    least = max(1, -(-elements * bits // 8 // SECTOR_BYTES))
    return Traffic(access.kind, buffer, bits, vector, len(touched), least)


def _offset(access: Access, offset: Term, layout: Any, register: int, lane: int) -> int:
    at = {name: 0 for name in layout.in_names}
    at |= {k: v for k, v in (("register", register), ("lane", lane)) if k in at}
    coordinates = list(layout.apply(at).values())
    values: dict[Term, Any] = {}
    for node in symbols_of(offset):
        values[node] = _typical(node)
    for symbol, value in zip(access.lanes, coordinates, strict=True):
        values[symbol] = value
    result = value_at(
        offset, values, lambda node, visit: 0 if node.sort == INT else True
    )
    return int(result)


def _typical(node: Term) -> Any:
    """Return a value for a symbol: 0 for places, a large multiple of 16 for sizes."""
    if node.sort == BOOL:
        return True
    name = str(node.args[0])
    if name.startswith(("pid_", "iteration", "lane", "reduced", "scanned")):
        return 0
    value = 4096 + 16 * (sum(map(ord, name)) % 64)
    low = node.low if node.low is not None else value
    high = node.high if node.high is not None else value
    return max(low, min(value, high))
