"""A gather through shared memory: any layouts, any indices.

One place of each element stores it, at its row-major place; after a barrier each place
loads the element that its index names. Elements travel as words of 32 or 64 bits.
"""

from algebra.errors import UnsupportedLayoutError
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from compiler.ir.scalar import bits
from compiler.ir.tile import TileGather

from .declared import STATIC_BYTES
from .tile_printer import FilePrinter
from .tile_scalars import TYPES


def gather_lines(
    printer: FilePrinter, step: TileGather, source: str, index: str
) -> None:
    """Append lines that gather through memory.

    Args:
        printer: Where they go.
        step: The gather.
        source: Name of the file that is read.
        index: Name of the file of indices.

    Raises:
        UnsupportedLayoutError: the tensor does not fit into 48 KiB.
    """
    src = printer.given.wanted[step, 0]
    dst = printer.given.wanted[step, 1]
    shape = step.operands[0].shape
    width = 64 if bits(step.result.dtype) == 64 else 32
    total = width // 8 << sum(src.out_bits)
    if total > STATIC_BYTES:
        raise UnsupportedLayoutError(
            f"a gather through memory takes at most {STATIC_BYTES} bytes, got {total}; "
            "gather from a smaller tile"
        )
    printer.shared_bytes = max(printer.shared_bytes, total)
    strides = [width // 8] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    name, stem = step.result.name, printer.fresh("g")
    at, place = f"{stem}at", f"{stem}place"
    names = [f"{stem}s{axis}" for axis in range(len(shape))]
    printer.coordinates(src, names)
    file = printer.file(src.in_bits[0])
    size = [printer.threads, 1 << src.in_bits[0]]
    printer.add(
        f"{at} = gl.zeros({size}, gl.int32, {file}) + "
        + " + ".join(f"{n} * {s}" for n, s in zip(names, strides, strict=True))
    )
    # copies store the same to the same place: those of other threads are left out
    silent = _silent(src)
    if silent:
        printer.add(
            f"{at} = gl.where(gl.expand_dims(gl.arange(0, {printer.threads}, "
            f"gl.SliceLayout(1, {file})), 1) + {at} * 0 & {silent} == 0, {at}, -1)"
        )
    narrow = max(8, bits(step.result.dtype))
    bitcast = step.result.dtype != "bool"
    word = f"{source}.to(gl.int{narrow}{', bitcast=True' if bitcast else ''})"
    count = 1 << src.in_bits[0]
    kind = "l" if width == 64 else "r"
    stores = [
        f"{{ .reg .pred p; .reg .b32 a; setp.ge.s32 p, ${2 * count + at_}, 0; "
        f"mov.u32 a, tile; add.u32 a, a, ${2 * count + at_}; "
        f"@p st.shared.b{width} [a], ${count + at_}; mov.u32 ${at_}, 0; }}"
        for at_ in range(count)
    ]
    constraints = ",".join(["=r"] * count + [kind] * count + ["r"] * count)
    printer.add(
        f'gl.inline_asm_elementwise("bar.sync 0; {" ".join(stores)} bar.sync 0;", '
        f'"{constraints}", [{word}.to(gl.int{width}), {at}], dtype=gl.int32, '
        f"is_pure=False, pack={count})"
    )
    names = [f"{stem}d{axis}" for axis in range(len(shape))]
    printer.coordinates(dst, names)
    names[step.axis] = index
    size = [printer.threads, 1 << dst.in_bits[0]]
    printer.add(
        f"{place} = gl.zeros({size}, gl.int32, {printer.file(dst.in_bits[0])}) + "
        + " + ".join(f"{n} * {s}" for n, s in zip(names, strides, strict=True))
    )
    load = (
        f"{{ .reg .b32 a; mov.u32 a, tile; add.u32 a, a, $1; "
        f"ld.shared.b{width} $0, [a]; }}"
    )
    printer.add(
        f'{name} = gl.inline_asm_elementwise("{load}", "={kind},r", [{place}], '
        f"dtype=gl.int{width}, is_pure=False, pack=1)"
    )
    if bitcast:
        back = f"{name}.to(gl.int{narrow}).to({TYPES[step.result.dtype]}, bitcast=True)"
    else:
        back = f"{name} != 0"
    printer.add(f"{name} = {back}")


def _silent(layout: LinearLayout) -> int:
    """Return the bits of a thread that select copies."""
    count = layout.in_bits[0]
    pivots = Echelon(layout.columns).pivots
    return sum(
        1 << bit - count
        for bit in range(count, len(layout.columns))
        if bit not in pivots
    )
