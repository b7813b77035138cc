"""Register files as tensors [threads, registers], and renaming their registers.

In this form every layout is the identity, so whatever the layouts of tiles are, a
program is arithmetic on files, renaming that compiles to nothing, and conversions.
"""

from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.bits import log2, set_bits


def renamed(name: str, threads: int, source: AffineLayout) -> list[str] | None:
    """Return lines that make a file's registers from those of another one.

    Args:
        name: Of the tensor that changes, [threads, registers].
        threads: Threads of the block.
        source: New register -> old register.

    Returns:
        None where a register bit selects several bits of the old register.

    Example:
        >>> from algebra import LinearLayout
        >>> source = LinearLayout.from_columns(
        ...     {"register": 2}, {"register": 2}, [2, 1])
        >>> renamed("x", 128, AffineLayout(source))
        ['x = gl.reshape(gl.permute(gl.reshape(x, [128, 2, 2]), [0, 2, 1]), [128, 4])']
    """
    columns, offset = source.linear.columns, source.packed_offset
    old = source.linear.out_bits[0]
    used = [column for column in columns if column]
    if any(column & column - 1 for column in used) or len(set(used)) < len(used):
        return None
    if list(columns) == [1 << bit for bit in range(old)] and not offset:
        return []
    if any(offset & column for column in used):
        return None
    lines: list[str] = []
    kept = list(range(old))
    for bit in reversed(range(old)):
        if 1 << bit not in used:
            lines += _chosen(name, threads, kept, bit, offset >> bit & 1)
            kept.remove(bit)
    labels = list(kept)  # what each register bit is, the lowest first
    wanted: list[int] = []
    for column in columns:
        if column:
            wanted.append(log2(column))
            continue
        copy = -1 - len(labels)
        labels.insert(0, copy)
        wanted.append(copy)
        lines.append(
            f"{name} = gl.reshape(gl.join({name}, {name}), "
            f"{[threads, 1 << len(labels)]})"
        )
    if wanted != labels:
        # slowest dim first: dim 1 + i of the reshaped tensor is bit last - i
        last = len(labels) - 1
        order = [1 + last - labels.index(label) for label in reversed(wanted)]
        bits = f"gl.reshape({name}, {[threads, *[2] * len(labels)]})"
        lines.append(
            f"{name} = gl.reshape(gl.permute({bits}, {[0, *order]}), "
            f"{[threads, 1 << len(labels)]})"
        )
    return lines


def _chosen(
    name: str, threads: int, kept: Sequence[int], bit: int, half: int
) -> list[str]:
    """Return lines that keep the registers in which one bit is ``half``."""
    at = list(kept).index(bit)
    above, below = len(kept) - 1 - at, at
    shape = [threads, 1 << above, 2, 1 << below]
    return [
        f"{name} = gl.split(gl.permute(gl.reshape({name}, {shape}), [0, 1, 3, 2]))"
        f"[{half}]",
        f"{name} = gl.reshape({name}, {[threads, 1 << above + below]})",
    ]


def image(variable: str, columns: Sequence[int], low: int, count: int) -> str:
    """Return the text of the bits [low, low + count) of a linear image of an index.

    Args:
        variable: Text of the index.
        columns: Packed image of each bit of the index.
        low: First bit that is wanted.
        count: Number of bits.

    Example:
        >>> image("thread", [4, 8, 1], 0, 4)
        '((thread & 3) << 2 ^ thread >> 2 & 1)'
    """
    mask = (1 << count) - 1
    parts: dict[int, int] = {}
    for bit, column in enumerate(columns):
        for target in set_bits(column >> low & mask):
            parts[target - bit] = parts.get(target - bit, 0) | 1 << bit
    texts = []
    for distance, bits in sorted(parts.items(), reverse=True):
        if distance >= 0:
            text = f"({variable} & {bits})"
            texts.append(f"{text} << {distance}" if distance else text)
        else:
            texts.append(f"{variable} >> {-distance} & {bits >> -distance}")
    return f"({' ^ '.join(texts)})" if texts else ""
