"""A plan as a Gluon function from the caller's tensor to the caller's layout.

Index bits are brought to hardware order, converted, and brought to the order of the
destination, by reshape and permute that compile to nothing. That needs layouts that
Gluon has: each place bit selects one index bit. Copies in registers are dropped and
made by Triton for free. Copies in lanes or warps cannot be named away, so there the
tensor goes through shared memory in the certified layout, by Gluon's own store and
load.
"""

from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.dims import OFFSET
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from compiler.convert.hardware import Hardware, hardware_of
from compiler.convert.steps import Step

from .conversion import FunctionText, constants, core, module
from .plan_block import block, ends, inside


def place_bits(layout: AffineLayout, which: str) -> list[int] | None:
    """Return the row-major index bit that each place bit selects.

    Returns:
        One bit for each place bit; None where a lane or a warp holds a copy.

    Raises:
        UnsupportedLayoutError: a place bit selects several index bits.
    """
    columns, _ = row_major(layout)
    here = hardware_of(layout)
    for bit, column in enumerate(columns):
        if column & column - 1:
            raise UnsupportedLayoutError(
                "Gluon has layouts whose place bits select one index bit each, but "
                f"place bit {bit} of {here} selects index {column} in {which}; use the "
                "hardware form",
                which=which,
                column=column,
            )
    if not all(columns):
        return None
    return [column.bit_length() - 1 for column in columns]


def row_major(layout: AffineLayout) -> tuple[list[int], int]:
    """Return the row-major index of each place bit's element, and of place zero.

    The last out-dim in the order dim0, dim1, ... is the fastest.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1]], "lane": [[1, 0], [2, 0]]}, ["dim0", "dim1"])
        >>> row_major(AffineLayout(layout))
        ([1, 2, 4], 0)
    """
    strides = {}
    size = 1
    for name in reversed(standard_order(layout.linear)):
        strides[name] = size
        size *= layout.out_dims[name]
    columns = []
    for basis in layout.linear.bases.values():
        for vector in basis:
            named = zip(layout.linear.out_names, vector, strict=True)
            columns.append(sum(strides[name] * value for name, value in named))
    start = sum(strides[name] * value for name, value in layout.offset.items())
    return columns, start


def standard_order(layout: LinearLayout) -> list[str]:
    """Return the out-dims as a tensor's shape lists them: dim0, dim1, ..."""
    return sorted(layout.out_names, key=lambda name: (len(name), name))


def tensor_function(
    steps: Sequence[Step],
    src: AffineLayout,
    dst: AffineLayout,
    element_bits: int,
    *,
    name: str = "convert",
    shared_bytes: int = 0,
    repeated: bool = True,
    tile: str = "",
    in_common: bool = True,
    renamed: bool = False,
) -> FunctionText | None:
    """Return a function ``name(x, layout)``, or None where copies prevent it.

    Args:
        steps: Steps between ``src`` and ``dst``, one at least.
        src: Layout of the tensor that comes, without copies in registers.
        dst: Layout that is wanted, without copies in registers.
        element_bits: Size of an element [bits].
        name: Name of the function.
        shared_bytes: Shared memory of the steps [bytes].
        repeated: Whether it may run more than once in a kernel.
        tile: Name of shared memory that ``tile_function`` declares; default: its own.
        in_common: Whether other plans' functions use that memory, too.
        renamed: As ``block``.

    Raises:
        UnsupportedLayoutError: as ``block`` and ``place_bits``.
    """
    taken, given = place_bits(src, "src"), place_bits(dst, "dst")
    if taken is None or given is None:
        return None
    made = block(
        steps,
        element_bits,
        shared_bytes=shared_bytes,
        repeated=repeated,
        tile=tile,
        in_common=in_common,
        renamed=renamed,
    )
    first, last = ends(inside(steps))
    prefix = name.upper()
    shape = [dst.out_dims[dim] for dim in standard_order(dst.linear)]
    back = [given.index(bit) for bit in range(len(given))]
    body = [
        f"def {name}(x, layout: gl.constexpr):",
        '    """Convert a tensor to another layout."""',
        "    dtype: gl.constexpr = x.dtype",
        *relabel("x", taken),
        f"    x = gl.reshape(x, [{1 << len(taken)}])",
        f"    x = gl.convert_layout(x, {prefix}_SRC)",
        *core(prefix, made, first, element_bits),
        *relabel("y", back),
        f"    y = gl.reshape(y, {shape})",
        "    return gl.convert_layout(y, layout)",
    ]
    return FunctionText(name, module(constants(name, made, first, last), body), made)


def relabel(name: str, bits: Sequence[int]) -> list[str]:
    """Return lines after which index bit i is what index bit ``bits[i]`` was.

    Runs of bits that stay together are one dim.

    Example:
        >>> relabel("x", [1, 2, 0])
        ['    x = gl.permute(gl.reshape(x, [4, 2]), [1, 0])']
        >>> relabel("x", [0, 1])
        []
    """
    runs: list[list[int]] = []
    for bit in bits:
        if runs and runs[-1][-1] + 1 == bit:
            runs[-1].append(bit)
        else:
            runs.append([bit])
    if len(runs) < 2:
        return []
    new_order = runs[::-1]  # the slowest dim first
    old_order = sorted(new_order, reverse=True)
    shape = [1 << len(run) for run in old_order]
    order = [old_order.index(run) for run in new_order]
    return [f"    {name} = gl.permute(gl.reshape({name}, {shape}), {order})"]


def memory_function(
    memory: LinearLayout, *, name: str = "convert", given: bool = False
) -> FunctionText:
    """Return a function ``name(x, layout)`` through a shared memory layout.

    Args:
        memory: offset, block -> tensor, invertible.
        name: Name of the function.
        given: Whether the caller allocates the memory, ``NAME_SHAPE`` elements in
            ``NAME_MEMORY``, and passes it as a last argument.
    """
    order = standard_order(memory)
    shape = [memory.out_dims[dim] for dim in order]
    turned = memory.transpose_outs(order)
    offsets = [list(vector) for vector in turned.bases[OFFSET]]
    prefix = name.upper()
    named = [
        f"{prefix}_MEMORY = gl.constexpr(gl.SharedLinearLayout({offsets}))",
    ]
    allocated = [
        f"    memory = gl.allocate_shared_memory(x.dtype, {shape}, {prefix}_MEMORY)"
    ]
    arguments = "x, layout: gl.constexpr"
    if given:
        arguments, allocated = f"{arguments}, memory", []
    body = [
        f"def {name}({arguments}):",
        '    """Convert a tensor to another layout, through shared memory."""',
        *allocated,
        "    memory.store(x)",
        "    return memory.load(layout)",
    ]
    return FunctionText(name, module(named, body), None)


def gluon_layout(layout: LinearLayout) -> str:
    """Return a distributed layout as Gluon spells it.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1]], "lane": [[1, 0]]}, ["dim0", "dim1"])
        >>> gluon_layout(layout)
        'gl.DistributedLinearLayout([[0, 1]], [[1, 0]], [], [], [2, 2])'
    """
    order = standard_order(layout)
    turned = layout.transpose_outs(order)
    bases = [
        [list(vector) for vector in turned.bases.get(dim, ())]
        for dim in Hardware(0, 0, 0, 0).dims
    ]
    shape = [layout.out_dims[dim] for dim in order]
    return f"gl.DistributedLinearLayout({', '.join(map(str, bases))}, {shape})"
