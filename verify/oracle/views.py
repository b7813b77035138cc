"""The tables that a Triton wheel prints of a layout, for comparison with ours.

Two-dimensional tensors only. Source: Triton ``getDistributedLayoutStr`` and
``getSharedLayoutStr``.
"""

from itertools import product

from algebra.dims import BLOCK, LANE, OFFSET, REGISTER, WARP
from algebra.layout import LinearLayout


def distributed_view(layout: LinearLayout, hardware: bool) -> str:
    """Return the table of a layout over register, lane, warp and block.

    Args:
        layout: Layout to two dims.
        hardware: List coordinates by hardware index instead of the other way round.
    """
    registers, lanes, warps, blocks = (
        layout.in_dims[name] for name in (REGISTER, LANE, WARP, BLOCK)
    )
    rows, columns = layout.out_dims.values()
    owners: dict[tuple[int, ...], list[str]] = {}
    lines: list[str] = []
    for block, warp in product(range(blocks), range(warps)):
        if warp == 0 and blocks > 1:
            lines.append(f"Block{block}:")
        lines.append(f"Warp{warp}:")
        table: list[list[str]] = [[] for _ in range(registers)]
        for lane, register in product(range(lanes), range(registers)):
            point = {REGISTER: register, LANE: lane, WARP: warp, BLOCK: block}
            at = tuple(layout.apply(point).values())
            name = f"T{warp * lanes + lane}:{register}"
            owners.setdefault(at, []).append(f"B{block}:{name}" if blocks > 1 else name)
            table[register].append(f"({','.join(map(str, at))})")
        lines.extend(", ".join(line) for line in table)
    if hardware:
        return "\n".join(lines) + "\n"
    width = max(len(name) for names in owners.values() for name in names)
    cells = {
        at: "|".join(name.rjust(width) for name in names)
        for at, names in owners.items()
    }
    text = [
        ", ".join(cells[row, column] for column in range(columns))
        for row in range(rows)
    ]
    return "[[" + "]\n[ ".join(text) + "]]\n"


def shared_view(layout: LinearLayout, hardware: bool) -> str:
    """Return the table of a layout over offset and block.

    Args:
        layout: Layout to two dims.
        hardware: List coordinates by offset instead of row by row.
    """
    offsets, blocks = layout.in_dims[OFFSET], layout.in_dims[BLOCK]
    columns = list(layout.out_dims.values())[1]
    found = [
        tuple(layout.apply({OFFSET: offset, BLOCK: block}).values())
        for block, offset in product(range(blocks), range(offsets))
    ]
    if hardware:
        lines = []
        for index, at in enumerate(found):
            if index % offsets == 0:
                lines.append(f"Block: {index // offsets}:")
            coordinates = ",".join(map(str, at))
            lines.append(f"Offset: {index % offsets} -> ({coordinates})")
        return "\n".join(lines) + "\n"
    cells = [f"({':'.join(map(str, at))})" for at in found]
    text = [
        ",".join(cells[start : start + columns])
        for start in range(0, len(cells), columns)
    ]
    return "[[" + "]\n[ ".join(text) + "]]\n"
