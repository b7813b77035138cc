"""Lines of Gluon that take a tensor's registers apart, without moving anything.

All that is done here is naming: reshape, permute, split and join whose index bits are
registers compile to nothing, and ``convert_layout(assert_trivial=True)`` makes Triton
check it.
"""

from collections.abc import Sequence

from algebra.bits import log2


def linear_layout(
    shape: Sequence[int],
    registers: Sequence[Sequence[int]],
    lanes: Sequence[Sequence[int]],
    warps: Sequence[Sequence[int]],
) -> str:
    """Return the spelling of a distributed layout.

    Example:
        >>> linear_layout([2], [], [[0]] * 5, [[1]])
        'gl.DistributedLinearLayout([], [[0], [0], [0], [0], [0]], [[1]], [], [2])'
    """
    parts = [[list(basis) for basis in bases] for bases in (registers, lanes, warps)]
    spelled = ", ".join(map(str, parts))
    return f"gl.DistributedLinearLayout({spelled}, [], {list(shape)})"


def unit_bases(rank: int, dim: int, size: int, start: int = 1) -> list[list[int]]:
    """Return bases that count along one dim: start, 2 start, ..., ``size`` places.

    Example:
        >>> unit_bases(2, 1, 4)
        [[0, 1], [0, 2]]
    """
    return [
        [start << bit if d == dim else 0 for d in range(rank)]
        for bit in range(log2(size))
    ]


def index_of(layout: str, shape: Sequence[int], dim: int) -> str:
    """Return an expression: the index along ``dim``, of extent 1 elsewhere."""
    sliced = layout
    others = [other for other in range(len(shape)) if other != dim]
    for other in reversed(others):
        sliced = f"gl.SliceLayout({other}, {sliced})"
    part = f"gl.arange(0, {shape[dim]}, {sliced})"
    for other in others:
        part = f"gl.expand_dims({part}, {other})"
    return part


def split_last(name: str, dims: Sequence[int], count: int) -> list[str]:
    """Return lines that split the last dim of ``name`` into ``name_0``, ``name_1``, ...

    Args:
        name: A tensor of shape ``[*dims, count]``; the last dim lies in registers.
        dims: Its other extents.
        count: Extent of the last dim, a power of two.

    Example:
        >>> split_last("x", [4], 2)
        ['x_0, x_1 = gl.split(x)']
        >>> split_last("x", [4], 1)
        ['x_0 = gl.reshape(x, [4])']
    """
    if count == 1:
        return [f"{name}_0 = gl.reshape({name}, {list(dims)})"]
    lines: list[str] = []
    parts = {name: list(range(count))}
    while count > 1:
        count //= 2
        following: dict[str, list[int]] = {}
        for part, numbers in parts.items():
            even, odd = numbers[0::2], numbers[1::2]
            halves = [_part(name, half) for half in (even, odd)]
            if count > 1:
                lines.append(f"{part} = gl.reshape({part}, {[*dims, count, 2]})")
            lines.append(f"{halves[0]}, {halves[1]} = gl.split({part})")
            following |= {halves[0]: even, halves[1]: odd}
        parts = following
    return lines


def _part(name: str, numbers: list[int]) -> str:
    return f"{name}_" + "_".join(map(str, numbers))


def join_tree(names: Sequence[str]) -> str:
    """Return an expression that joins tensors: bit i of the number is new dim i.

    Example:
        >>> join_tree(["a", "b", "c", "d"])
        'gl.join(gl.join(a, b), gl.join(c, d))'
    """
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"gl.join({join_tree(names[:half])}, {join_tree(names[half:])})"
