"""A kernel around a conversion, so that it can be compiled, proved, run and timed.

It loads a tensor in row-major order through the source layout, converts it and stores
it through the destination layout: all that is right is the identity.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from algebra.affine import AffineLayout
from algebra.bits import log2
from compiler.convert.hardware import Hardware

from .conversion import HEADER, FunctionText, identity_layout
from .tensor_conversion import gluon_layout, row_major, standard_order

if TYPE_CHECKING:
    from .emission import Emission

PROBE = "probe"

ROUND_TRIPS = 4
"""Conversions there and back in the body of the loop of ``round_trips``."""


def probe(
    function: FunctionText,
    src: AffineLayout,
    dst: AffineLayout,
) -> str:
    """Return a module with the function and the kernel ``probe(source, target)``.

    Args:
        function: Conversion in hardware form.
        src: Source layout.
        dst: Destination layout.
    """
    here, there = (Hardware(*side.linear.in_bits) for side in (src, dst))
    lines = [
        function.text,
        f"PROBE_SRC = gl.constexpr({identity_layout(here)})",
        f"PROBE_DST = gl.constexpr({identity_layout(there)})",
        "",
        "",
        "@gluon.jit",
        f"def {PROBE}(source, target):",
        f"    place = gl.arange(0, {1 << here.bits}, PROBE_SRC)",
        *_index("index", "place", *row_major(src)),
        "    x = gl.load(source + index)",
    ]
    lines += [
        f"    x = {function.name}(x)",
        f"    place = gl.arange(0, {1 << there.bits}, PROBE_DST)",
        *_index("index", "place", *row_major(dst)),
        "    gl.store(target + index, x)",
        "",
    ]
    return "\n".join(lines)


def place_probe(
    function: FunctionText,
    src: AffineLayout,
    dst: AffineLayout,
    *,
    silent: int = 0,
) -> str:
    """Return a module as ``probe`` does, that stores each place: copies are seen.

    Args:
        function: Conversion in hardware form.
        src: Source layout.
        dst: Destination layout.
        silent: Bits of a source place: those with one of them set hold the complement
            of their element, so that it is seen if they are listened to.
    """
    here, there = (Hardware(*side.linear.in_bits) for side in (src, dst))
    lines = [
        function.text,
        f"SRC = gl.constexpr({identity_layout(here)})",
        f"DST = gl.constexpr({identity_layout(there)})",
        "",
        "",
        "@gluon.jit",
        f"def {PROBE}(source, target):",
        *_places(src, "SRC", True),
        "    x = gl.load(source + index)",
        *([f"    x = gl.where(place & {silent} == 0, x, ~x)"] if silent else []),
        f"    x = {function.name}(x)",
        f"    place = gl.arange(0, {1 << there.bits}, DST)",
        "    gl.store(target + place, x)",
        "",
    ]
    return "\n".join(lines)


def round_trips(
    there: "Emission | None",
    back: "Emission | None",
    src: AffineLayout,
    dst: AffineLayout,
    *,
    opaque_bits: int = 0,
    tiles: Sequence[FunctionText] = (),
) -> str:
    """Return a module with ``probe(source, target, rounds)``, to time conversions.

    A loop converts there and back, each time what the last conversion gave, so nothing
    can be left out. The target gets the source again. A round holds ``ROUND_TRIPS`` of
    both: bytes that a loop carries in registers are unpacked and packed at its end,
    which belongs to no conversion.

    Args:
        there: Conversion from ``src`` to ``dst``; None for Triton's own.
        back: Conversion from ``dst`` to ``src``; None for Triton's own; in hardware
            form if the other one is.
        src: Source layout.
        dst: Destination layout.
        opaque_bits: Size of an element, if a move that the compiler cannot see through
            is to keep it from cancelling the selections of both ways; else 0 [bits].
        tiles: Functions that declare the memory which conversions name; each block of
            PTX in the loop would else have memory of its own.
    """
    parts = [e.text for e in (there, back) if e is not None] or [HEADER]
    parts += [tile.text for tile in tiles]
    declared = [f"    {tile.name}()" for tile in tiles]
    hardware = there is not None and there.form == "hardware"
    sides = (src, dst)
    if hardware:
        spelled = [identity_layout(Hardware(*s.linear.in_bits)) for s in sides]
    else:
        spelled = [gluon_layout(side.linear) for side in sides]
    calls, memories = [], []
    for one, value, layout in ((there, "x", "DST"), (back, "y", "SRC")):
        arguments = value if hardware else f"{value}, {layout}"
        name = "gl.convert_layout" if one is None else one.function.name
        if one is not None and takes_memory(one.text):
            shape = [src.out_dims[dim] for dim in standard_order(src.linear)]
            memories.append(
                f"    {name}_memory = gl.allocate_shared_memory("
                f"x.dtype, {shape}, {name.upper()}_MEMORY)"
            )
            arguments += f", {name}_memory"
        calls.append(f"{name}({arguments})")
    lines = [
        *parts,
        f"SRC = gl.constexpr({spelled[0]})",
        f"DST = gl.constexpr({spelled[1]})",
        "",
        "",
        "@gluon.jit",
        f"def {PROBE}(source, target, rounds):",
        *_places(src, "SRC", hardware),
        "    x = gl.load(source + index)",
        *declared,
        *memories,
        "    for _ in range(rounds):",
        *[
            f"        y = {calls[0]}",
            *_opaque("y", opaque_bits),
            f"        x = {calls[1]}",
            *_opaque("x", opaque_bits),
        ]
        * ROUND_TRIPS,
        *_places(src, "SRC", hardware),
        "    gl.store(target + index, x)",
        "",
    ]
    return "\n".join(lines)


def _opaque(name: str, element_bits: int) -> list[str]:
    """Return a line that moves a value where the compiler cannot see through it."""
    if not element_bits:
        return []
    kind, width = ("l", 64) if element_bits == 64 else ("r", 32)
    return [
        f'        {name} = gl.inline_asm_elementwise("mov.b{width} $0, $1;", '
        f'"={kind},{kind}", [{name}], dtype={name}.dtype, is_pure=False, '
        f"pack={max(1, width // element_bits)})"
    ]


def takes_memory(text: str) -> bool:
    """Return whether a function's caller allocates its memory."""
    return "layout: gl.constexpr, memory" in text


def memory_call(name: str, shape: Sequence[int]) -> str:
    """Return a call that allocates the memory of a function on the spot."""
    made = f"gl.allocate_shared_memory(x.dtype, {list(shape)}, {name.upper()}_MEMORY)"
    return f"{name}(x, PROBE_DST, {made})"


def _places(side: AffineLayout, layout: str, hardware: bool) -> list[str]:
    """Return lines that make ``index``: the row-major index of each element."""
    columns, start = row_major(side)
    if hardware:
        bits = Hardware(*side.linear.in_bits).bits
        return [
            f"    place = gl.arange(0, {1 << bits}, {layout})",
            *_index("index", "place", columns, start),
        ]
    shape = [side.out_dims[dim] for dim in standard_order(side.linear)]
    return _tensor_index("index", shape, layout, start)


def _index(name: str, place: str, columns: Sequence[int], start: int) -> list[str]:
    """Return lines that xor the columns that the bits of a place select."""
    lines = [f"    {name} = {place} * 0 + {start}"]
    for bit, column in enumerate(columns):
        if column & column - 1 == 0 and column:
            distance = log2(column) - bit
            part = f"({place} & {1 << bit})"
            if distance > 0:
                part = f"({part} << {distance})"
            elif distance < 0:
                part = f"({part} >> {-distance})"
            lines.append(f"    {name} = {name} ^ {part}")
        elif column:
            lines.append(f"    {name} = {name} ^ (({place} >> {bit} & 1) * {column})")
    return lines


def tensor_probe(
    function: FunctionText,
    src: AffineLayout,
    dst: AffineLayout,
    *,
    there: str | None = None,
) -> str:
    """Return a module as ``probe`` does, for a function in tensor form.

    Args:
        function: Conversion in tensor form.
        src: Source layout; what an offset flips is stored flipped.
        dst: Destination layout.
        there: Call instead of ``function``, with ``x`` and ``PROBE_DST``; to compare.
    """
    order = standard_order(src.linear)
    shape = [src.out_dims[dim] for dim in order]
    call = there or f"{function.name}(x, PROBE_DST)"
    lines = [
        function.text,
        f"PROBE_SRC = gl.constexpr({gluon_layout(src.linear)})",
        f"PROBE_DST = gl.constexpr({gluon_layout(dst.linear)})",
        "",
        "",
        "@gluon.jit",
        f"def {PROBE}(source, target):",
        *_tensor_index("index", shape, "PROBE_SRC", row_major(src)[1]),
        "    x = gl.load(source + index)",
        f"    x = {call}",
        *_tensor_index("index", shape, "PROBE_DST", row_major(dst)[1]),
        "    gl.store(target + index, x)",
        "",
    ]
    return "\n".join(lines)


def _tensor_index(
    name: str, shape: Sequence[int], layout: str, start: int
) -> list[str]:
    """Return lines that make the row-major index of each element."""
    lines = []
    total = []
    stride = 1
    for dim in reversed(range(len(shape))):
        sliced = layout
        for other in reversed(range(len(shape))):
            if other != dim:
                position = other
                sliced = f"gl.SliceLayout({position}, {sliced})"
        part = f"gl.arange(0, {shape[dim]}, {sliced})"
        for other in range(len(shape)):
            if other != dim:
                part = f"gl.expand_dims({part}, {other})"
        total.append(f"{part} * {stride}")
        stride *= shape[dim]
    lines.append(f"    {name} = {' + '.join(total)}")
    if start:
        lines.append(f"    {name} = {name} ^ {start}")
    return lines
