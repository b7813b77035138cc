"""A reduction as the text of a Gluon function: one block of PTX in hardware form.

The function takes a tensor of places, register lowest, and returns one with a place for
each result that a thread keeps. Elements are words of 32 bits.
"""

from collections.abc import Callable, Sequence

from algebra.errors import UnsupportedLayoutError
from algebra.gauss import apply
from compiler.convert.hardware import Hardware, hardware_of
from compiler.convert.reduction import (
    Exchange,
    Fold,
    Pass,
    Reduction,
    ReductionStep,
    after,
)
from compiler.convert.simulate import images
from compiler.convert.steps import Registers

from .assembly import FULL_WARP, LAST_LANE, Assembly
from .conversion import FunctionText, constants, core, module
from .declared import STATIC_BYTES
from .plan_block import Block

COMBINE = {
    ("sum", "float32"): "add.f32",
    ("sum", "int32"): "add.s32",
    ("max", "float32"): "max.NaN.f32",
    ("max", "int32"): "max.s32",
    ("min", "float32"): "min.NaN.f32",
    ("min", "int32"): "min.s32",
    ("xor", "int32"): "xor.b32",
}
"""(operation, type) -> the instruction that combines two values; NaN stays."""
WORD_BITS = 32
LANE_BITS = 5


def reduction_function(
    plan: Reduction,
    operation: str,
    dtype: str,
    *,
    name: str = "reduce",
    repeated: bool = True,
    tile: str = "",
) -> FunctionText:
    """Return a function ``name(x)`` from the places of ``src`` to those of ``dst``.

    Args:
        plan: What to execute.
        operation: ``"sum"``, ``"max"``, ``"min"`` or ``"xor"``.
        dtype: ``"float32"`` or ``"int32"``.
        name: Name of the function.
        repeated: Whether it may run more than once in a kernel, or its memory is used
            by others.
        tile: Name of shared memory that ``tile_function`` declares; default: its own.

    Raises:
        UnsupportedLayoutError: an operation or type without an instruction, several
            blocks, more than 48 KiB of shared memory, or not 32 lanes.
    """
    opcode = COMBINE.get((operation, dtype))
    if opcode is None:
        raise UnsupportedLayoutError(
            f"a reduction combines by one of {sorted(COMBINE)}, got "
            f"{(operation, dtype)}; cast first",
        )
    first, last = hardware_of(plan.src), hardware_of(plan.dst)
    if first.blocks or plan.shared_bytes > STATIC_BYTES or first.lanes != LANE_BITS:
        raise UnsupportedLayoutError(
            f"a function reduces inside one block, in {STATIC_BYTES} bytes and warps "
            f"of 32 lanes, got blocks={1 << first.blocks}, "
            f"shared_bytes={plan.shared_bytes}, lanes={1 << first.lanes}",
        )
    made = _block(plan, opcode, first, last, repeated, tile)
    prefix = name.upper()
    body = [
        f"def {name}(x):",
        '    """Reduce a tensor in hardware form: one dim of places."""',
        "    dtype: gl.constexpr = x.dtype",
        f"    x = gl.convert_layout(x, {prefix}_SRC)",
        *core(prefix, made, first, WORD_BITS),
        f"    return gl.convert_layout(y, {prefix}_DST)",
    ]
    return FunctionText(name, module(constants(name, made, first, last), body), made)


def _block(
    plan: Reduction,
    opcode: str,
    first: Hardware,
    last: Hardware,
    repeated: bool,
    tile: str,
) -> Block:
    assembly = Assembly(outside=True)
    assembly.shared_bytes, assembly.tile = plan.shared_bytes, tile
    outputs = 1 << last.registers
    words = [f"${outputs + index}" for index in range(1 << first.registers)]
    if repeated and plan.shared_bytes:
        assembly.add("bar.sync 0;")
    here = first
    for step in plan.steps:
        words = _step(assembly, step, here, words, opcode)
        here = after(step, here)
    for index, word in enumerate(words):
        assembly.add(f"mov.b32 ${index}, {word};")
    given = tuple(assembly.given)
    pack = 1 << min(first.registers, last.registers)
    operands = ["=r"] * outputs + ["r"] * (1 << first.registers)
    text = assembly.text(len(operands))
    operands += ["r"] * (-(-len(given) // pack) * pack)
    return Block(
        text,
        ",".join(operands),
        WORD_BITS,
        first.registers,
        last.registers,
        computed=tuple(assembly.computed()),
        given=given,
    )


def _step(
    assembly: Assembly,
    step: ReductionStep,
    here: Hardware,
    words: Sequence[str],
    opcode: str,
) -> list[str]:
    """Append a step; return the registers of the file that it leaves."""

    def combined(one: str, other: str) -> str:
        result = assembly.word()
        assembly.add(f"{opcode} {result}, {one}, {other};")
        return result

    match step:
        case Registers():
            count = 1 << hardware_of(step.source).registers
            return [words[int(place)] for place in images(step.source)[:count]]
        case Fold():
            return [
                combined(words[register], words[register ^ step.place])
                for register in range(len(words))
                if not register >> step.pivot & 1
            ]
        case Exchange():
            far = step.place & here.register_mask
            lane = (step.place & here.lane_mask) >> here.registers
            result = []
            for register, word in enumerate(words):
                fetched = assembly.word()
                assembly.add(
                    f"shfl.sync.bfly.b32 {fetched}, {words[register ^ far]}, {lane}, "
                    f"{LAST_LANE}, {FULL_WARP};"
                )
                result.append(combined(word, fetched))
            return result
        case Pass():
            return _pass(assembly, step, here, words, combined)


def _pass(
    assembly: Assembly,
    step: Pass,
    here: Hardware,
    words: Sequence[str],
    combined: Callable[[str, str], str],
) -> list[str]:
    columns = step.address.linear.columns
    base = assembly.linear(columns[here.registers :], 2)
    guard = ""
    if step.silent >> here.registers:
        guard = f"@{assembly.quiet(step.silent >> here.registers)} "

    def address(offset: int) -> str:
        start = assembly.plus(base, offset << 2)
        return assembly.make("add.u32", start, assembly.memory())

    for register, word in enumerate(words):
        if not register & step.silent:
            at = address(apply(columns, register))
            assembly.add(f"{guard}st.shared.b32 [{at}], {word};")
    assembly.add("bar.sync 0;")
    others = [0]
    for place in step.places:
        others += [apply(columns, place) ^ other for other in others]
    result = []
    for register in range(len(words)):
        parts = []
        for other in others:
            fetched = assembly.word()
            at = address(apply(columns, register) ^ other)
            assembly.add(f"ld.shared.b32 {fetched}, [{at}];")
            parts.append(fetched)
        while len(parts) > 1:  # pairs, so that all copies of a result round alike
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [combined(*pair) for pair in pairs]
        result.append(parts[0])
    return result
