"""Matrix products of files by mma: operands go to the instruction's fragments.

The fragments of an operand may be copied over warps, which a file cannot name away, so
an operand is moved as a tensor: by its plan's function in tensor form, through the
certified layout in memory where that is needed.
"""

from algebra.affine import AffineLayout
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from compiler.assign.dot import DotChoice, dot_choices
from compiler.ir.tile import TileDot

from .tensor_conversion import gluon_layout, place_bits, relabel
from .tile_printer import FilePrinter


def dot_lines(printer: FilePrinter, step: TileDot) -> None:
    """Append lines that multiply.

    Args:
        printer: Where they go.
        step: The product, whose layouts are those of an instruction.

    Raises:
        UnsupportedLayoutError: a factor lies in a layout with copies in threads.
    """
    given = printer.given
    chosen = choice_of(printer, step)
    parent = chosen.parent
    result = (
        f"gl.NVMMADistributedLayout([2, 0], {list(parent.warps_per_cta)}, "
        f"{list(parent.instr_shape)})"
    )
    names = []
    for number in range(2):
        tile = step.operands[number]
        src, dst = given.layouts[tile], given.wanted[step, number]
        name = printer.fresh(f"{tile.name}_m")
        printer.add(f"{name} = {tile.name}")
        layout = f"gl.DotOperandLayout({number}, {result}, {chosen.k_width})"
        to_tensor(printer, name, src)
        if src == dst:
            printer.add(f"{name} = gl.convert_layout({name}, {layout})")
        else:
            call = printer.tensor_function(src, dst, tile.dtype)
            printer.add(f"{name} = {call}({name}, {layout})")
        names.append(name)
    total = printer.fresh(f"{step.result.name}_m")
    printer.add(f"{total} = {printer.read(step, 2)}")
    made = given.layouts[step.result]
    to_tensor(printer, total, made)
    printer.add(
        f"{total} = gl.convert_layout({total}, {result})",
        f"{total} = mma_v2({names[0]}, {names[1]}, {total})",
        f"{step.result.name} = {total}",
    )
    to_file(printer, step.result.name, made)


def choice_of(printer: FilePrinter, step: TileDot) -> DotChoice:
    """Return the instruction's layouts that the assignment has chosen."""
    made = printer.given.layouts[step.result]
    for choice in dot_choices(step, printer.given.threads.warp_bits):
        if (
            choice.result == made
            and choice.operands[0] == printer.given.wanted[step, 0]
        ):
            return choice
    raise UnsupportedLayoutError("no matrix instruction has these fragments")


def _bits(layout: LinearLayout) -> list[int]:
    bits = place_bits(AffineLayout(layout), "a factor")
    if bits is None or len(bits) != sum(layout.out_bits):
        raise UnsupportedLayoutError(
            "a factor of a product lies once in the threads, got a layout with copies; "
            "convert it before"
        )
    return bits


def to_tensor(printer: FilePrinter, name: str, layout: LinearLayout) -> None:
    """Append lines that give a file its tensor's shape and layout."""
    bits = _bits(layout)
    shape = list(layout.out_dims.values())
    back = [bits.index(bit) for bit in range(len(bits))]
    printer.add(f"{name} = gl.reshape({name}, [{1 << len(bits)}])")
    printer.add(*(line.strip() for line in relabel(name, back)))
    printer.add(
        f"{name} = gl.reshape({name}, {shape})",
        f"{name} = gl.convert_layout({name}, {gluon_layout(layout)})",
    )


def to_file(printer: FilePrinter, name: str, layout: LinearLayout) -> None:
    """Append lines that make a file of a tensor."""
    bits = _bits(layout)
    count = layout.in_bits[0]
    printer.add(f"{name} = gl.convert_layout({name}, {gluon_layout(layout)})")
    printer.add(*(line.strip() for line in relabel(name, bits)))
    printer.add(f"{name} = gl.reshape({name}, [{printer.threads}, {1 << count}])")
    printer.settled(name, count)
