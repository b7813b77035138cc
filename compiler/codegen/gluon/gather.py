"""A gather by shuffles as the text of a Gluon function: one block of PTX.

The function takes the places of the tensor and of the indices, both in hardware form,
registers lowest; elements and indices are words of 32 bits.
"""

from collections.abc import Sequence

from algebra.errors import UnsupportedLayoutError
from algebra.gauss import Echelon, apply
from compiler.convert.gather import Gather
from compiler.convert.hardware import hardware_of

from .assembly import FULL_WARP, LAST_LANE, Assembly
from .conversion import FunctionText, constants, core, identity_layout, module
from .plan_block import Block

WORD_BITS = 32
LANE_BITS = 5


def gather_function(plan: Gather, *, name: str = "gather") -> FunctionText:
    """Return a function ``name(x, index)`` with the places of ``dst`` as its result.

    Args:
        plan: What to execute.
        name: Name of the function.

    Raises:
        UnsupportedLayoutError: several blocks, or not 32 lanes.
    """
    first, last = hardware_of(plan.src), hardware_of(plan.dst)
    if first.blocks or first.lanes != LANE_BITS:
        raise UnsupportedLayoutError(
            "a function gathers inside one block, in warps of 32 lanes, got "
            f"blocks={1 << first.blocks}, lanes={1 << first.lanes}",
        )
    made = _block(plan)
    prefix = name.upper()
    body = [
        f"def {name}(x, index):",
        '    """Gather along a dim, in hardware form: one dim of places."""',
        "    dtype: gl.constexpr = x.dtype",
        f"    x = gl.convert_layout(x, {prefix}_SRC)",
        f"    index = gl.convert_layout(index, {identity_layout(last)})",
        *core(prefix, made, first, WORD_BITS, second="index"),
        f"    return gl.convert_layout(y, {prefix}_DST)",
    ]
    return FunctionText(name, module(constants(name, made, first, last), body), made)


def _block(plan: Gather) -> Block:
    old, new = hardware_of(plan.src), hardware_of(plan.dst)
    taken, wanted = 1 << old.registers, 1 << new.registers
    assembly = Assembly(outside=True)
    columns, start = plan.source.linear.columns, plan.source.packed_offset
    threads = columns[new.registers :]
    lanes = [(c & old.lane_mask) >> old.registers for c in threads]
    base = assembly.linear(lanes, width=old.lanes)
    basis, vectors = _basis(plan)
    by_thread = [_coordinates(basis, c & old.register_mask) for c in threads]
    by_index = [_coordinates(basis, c & old.register_mask) for c in plan.along]
    along = [(c & old.lane_mask) >> old.registers for c in plan.along]
    for register in range(wanted):
        index = f"${wanted + taken + register}"
        place = start ^ apply(columns, register)
        lane = assembly.plus(base, (place & old.lane_mask) >> old.registers)
        lane = _moved(assembly, lane, index, along)
        fetched = []
        for vector in vectors:
            word = f"${wanted + (place & old.register_mask ^ vector)}"
            result = assembly.word()
            assembly.add(
                f"shfl.sync.idx.b32 {result}, {word}, {lane}, {LAST_LANE}, {FULL_WARP};"
            )
            fetched.append(result)
        for bit in range(len(basis)):
            masks = [
                sum(1 << at for at, code in enumerate(codes) if code >> bit & 1)
                for codes in (by_index, by_thread)
            ]
            odd = _odd(assembly, index, *masks)
            fetched = [
                _chosen(assembly, one, zero, odd)
                for zero, one in zip(fetched[::2], fetched[1::2], strict=True)
            ]
        assembly.add(f"mov.b32 ${register}, {fetched[0]};")
    given = tuple(assembly.given)
    pack = min(taken, wanted)
    operands = ["=r"] * wanted + ["r"] * (taken + wanted)
    text = assembly.text(len(operands))
    operands += ["r"] * (-(-len(given) // pack) * pack)
    return Block(
        text,
        ",".join(operands),
        WORD_BITS,
        old.registers,
        new.registers,
        computed=tuple(assembly.computed()),
        given=given,
    )


def _basis(plan: Gather) -> tuple[list[int], list[int]]:
    """Return independent candidates, and all in the order that selections expect."""
    found: list[int] = []
    span = Echelon([], max(1, len(plan.candidates)))
    for vector in plan.candidates[1:]:
        if span.add(vector, len(found)):
            found.append(vector)
    vectors = [apply(found, code) for code in range(1 << len(found))]
    return found, vectors


def _coordinates(basis: Sequence[int], vector: int) -> int:
    remainder, code = Echelon(basis).reduce(vector)
    assert not remainder, "all registers that are asked for are candidates"
    return code


def _moved(assembly: Assembly, lane: str, index: str, along: Sequence[int]) -> str:
    """Return a lane xored with what the bits of an index select."""
    moves: dict[int, int] = {}
    for bit, image in enumerate(along):
        for target in range(LANE_BITS):
            if image >> target & 1:
                moves[target - bit] = moves.get(target - bit, 0) | 1 << bit
    for distance, mask in sorted(moves.items()):
        part = assembly.word()
        assembly.add(f"and.b32 {part}, {index}, {mask};")
        if distance:
            opcode = "shl.b32" if distance > 0 else "shr.u32"
            assembly.add(f"{opcode} {part}, {part}, {abs(distance)};")
        total = assembly.word()
        assembly.add(f"xor.b32 {total}, {lane}, {part};")
        lane = total
    return lane


def _odd(assembly: Assembly, index: str, mask: int, threads: int) -> str:
    """Return a predicate: the parity of bits of an index and of the thread."""
    word = assembly.word()
    assembly.add(f"and.b32 {word}, {index}, {mask};")
    if mask & mask - 1 or threads:
        assembly.add(f"popc.b32 {word}, {word};")
        if threads:
            assembly.add(f"xor.b32 {word}, {word}, {assembly.parity(threads)};")
        assembly.add(f"and.b32 {word}, {word}, 1;")
    predicate = assembly.predicate()
    assembly.add(f"setp.ne.b32 {predicate}, {word}, 0;")
    return predicate


def _chosen(assembly: Assembly, one: str, zero: str, predicate: str) -> str:
    result = assembly.word()
    assembly.add(f"selp.b32 {result}, {one}, {zero}, {predicate};")
    return result
