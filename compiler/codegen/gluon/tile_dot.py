"""Matrix products of files: operands go to fragments or to shared memory.

The fragments of an operand may be copied over warps, which a file cannot name away, so
an operand is moved as a tensor: by its plan's function in tensor form, through the
certified layout in memory where that is needed.
"""

from algebra.affine import AffineLayout
from algebra.errors import UnsupportedLayoutError
from algebra.layout import LinearLayout
from compiler.assign.dot import DotChoice, dot_choices, memory_of
from compiler.ir.scalar import bits
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
        f"gl.NVMMADistributedLayout({list(parent.version)}, "
        f"{list(parent.warps_per_cta)}, {list(parent.instr_shape)})"
    )
    factors = [
        _in_memory(printer, step, number)
        if chosen.operands[number] is None
        else _in_registers(printer, step, number, result, chosen.k_width)
        for number in range(2)
    ]
    total = printer.fresh(f"{step.result.name}_m")
    printer.add(f"{total} = {printer.read(step, 2)}")
    made = given.layouts[step.result]
    to_tensor(printer, total, made)
    printer.add(f"{total} = gl.convert_layout({total}, {result})")
    if chosen.instruction == "wgmma":
        printer.add(
            "fence_async_shared()",
            f"{total} = warpgroup_mma({factors[0]}, {factors[1]}, {total})",
        )
    else:
        printer.add(f"{total} = mma_v2({factors[0]}, {factors[1]}, {total})")
    printer.add(f"{step.result.name} = {total}")
    to_file(printer, step.result.name, made)


def _in_registers(
    printer: FilePrinter, step: TileDot, number: int, result: str, k_width: int
) -> str:
    """Append lines that bring a factor to its fragments; return its name."""
    tile = step.operands[number]
    src, dst = printer.given.layouts[tile], printer.given.wanted[step, number]
    name = printer.fresh(f"{tile.name}_m")
    printer.add(f"{name} = {tile.name}")
    layout = f"gl.DotOperandLayout({number}, {result}, {k_width})"
    to_tensor(printer, name, src)
    if src == dst:
        printer.add(f"{name} = gl.convert_layout({name}, {layout})")
    else:
        call = printer.tensor_function(src, dst, tile.dtype)
        printer.add(f"{name} = {call}({name}, {layout})")
    return name


def _in_memory(printer: FilePrinter, step: TileDot, number: int) -> str:
    """Append lines that store a factor; return the name of its memory."""
    tile = step.operands[number]
    if tile in printer.memory:
        return printer.memory[tile]
    layout = printer.given.wanted[step, number]
    name = printer.fresh(f"{tile.name}_m")
    printer.add(f"{name} = {printer.read(step, number)}")
    to_tensor(printer, name, layout)
    memory = shared_layout(layout, tile.shape, bits(tile.dtype), number)
    printer.allocate(f"{name}_s", tile.dtype, tile.shape, memory)
    printer.add(f"{name}_s.store({name})")
    return f"{name}_s"


def hoist(printer: FilePrinter, step: TileDot, number: int) -> None:
    """Store a factor that a loop does not change, once before the loop."""
    tile = step.operands[number]
    if choice_of(printer, step).operands[number] is None:
        printer.memory[tile] = _in_memory(printer, step, number)


def shared_layout(
    layout: LinearLayout, shape: tuple[int, ...], element_bits: int, number: int
) -> str:
    """Return the memory of a factor as Gluon spells it."""
    found, _ = memory_of(layout, shape, element_bits, number)
    return (
        f"gl.NVMMASharedLayout({found.swizzle_byte_width}, {element_bits}, 2, "
        f"transposed={found.transposed})"
    )


def choice_of(printer: FilePrinter, step: TileDot) -> DotChoice:
    """Return the instruction's layouts that the assignment has chosen.

    Raises:
        UnsupportedLayoutError: there is none.
    """
    given = printer.given
    best: DotChoice | None = None
    for choice in dot_choices(step, given.threads.warp_bits, given.threads.device):
        fits = choice.result == given.layouts[step.result] and all(
            layout in (None, given.wanted[step, number])
            for number, layout in enumerate(choice.operands)
        )
        # a factor that lies in its fragments needs no memory
        if fits and (best is None or None not in choice.operands[:1]):
            best = choice
    if best is None:
        raise UnsupportedLayoutError("no matrix instruction has these fragments")
    return best


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
