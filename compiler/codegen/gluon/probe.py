"""A kernel around a conversion, so that it can be compiled, proved, run and timed.

It loads a tensor in row-major order through the source layout, converts it and stores
it through the destination layout: all that is right is the identity.
"""

from collections.abc import Sequence

from algebra.affine import AffineLayout
from algebra.bits import log2
from compiler.convert.hardware import Hardware

from .conversion import FunctionText, identity_layout
from .tensor_conversion import gluon_layout, row_major, standard_order

PROBE = "probe"


def probe(
    function: FunctionText,
    src: AffineLayout,
    dst: AffineLayout,
    *,
    rounds: int = 1,
) -> str:
    """Return a module with the function and the kernel ``probe(source, target)``.

    Args:
        function: Conversion in hardware form.
        src: Source layout.
        dst: Destination layout.
        rounds: How often the conversion runs, each time on the result of the last
            one; more than once only to time it.
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
    if rounds == 1:
        lines.append(f"    x = {function.name}(x)")
    else:
        lines.append(f"    for _ in range({rounds}):")
        lines.append(f"        x = {function.name}(x)")
    lines += [
        f"    place = gl.arange(0, {1 << there.bits}, PROBE_DST)",
        *_index("index", "place", *row_major(dst)),
        "    gl.store(target + index, x)",
        "",
    ]
    return "\n".join(lines)


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
