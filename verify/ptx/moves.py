"""Instructions that carry bits along: ``mov``, ``selp``, ``cvt``, ``shfl``."""

import numpy as np

from .arithmetic import kind_of, operands
from .machine import WARP, Machine
from .memory import Indices
from .syntax import Instruction, Operand, Pair, Vector
from .word import Mask, Word, codes_of, from_codes, number, unknown


def mov(machine: Machine, instruction: Instruction) -> None:
    """``mov``: copy; pack a vector into a register, or unpack one."""
    parts = instruction.parts
    if len(parts) != 2:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    # floats are moved as the bits they are
    kind = "b" + parts[1][1:] if parts[1] in ("f32", "f64") else parts[1]
    _, bits = kind_of(machine, instruction, kind)
    target, source = instruction.operands
    if isinstance(source, Vector):
        word = _pack(machine, instruction, source, bits)
    else:
        word = machine.read(instruction, source, bits)
    if isinstance(target, Vector):
        _unpack(machine, instruction, target, word)
    else:
        machine.write(instruction, target, word)


def _pack(
    machine: Machine, instruction: Instruction, source: Vector, bits: int
) -> Word:
    each = bits // len(source.items)
    words = [machine.read(instruction, item, each) for item in source.items]
    if any(word.base is not None for word in words):
        return machine.opaque(instruction, bits, "a pointer in a vector")
    return from_codes(np.concatenate([codes_of(word) for word in words], axis=1))


def _unpack(
    machine: Machine, instruction: Instruction, target: Vector, word: Word
) -> None:
    each = word.bits // len(target.items)
    if word.base is not None:
        word = machine.opaque(instruction, word.bits, "part of a pointer")
    codes = codes_of(word)
    for i, item in enumerate(target.items):
        part = codes[:, i * each // 8 : (i + 1) * each // 8]
        machine.write(instruction, item, from_codes(part))


def selp(machine: Machine, instruction: Instruction) -> None:
    """``selp``: one of two words, as a predicate says."""
    text = instruction.parts[-1]
    kind = "b" + text[1:] if text in ("f32", "f64") else text
    if len(instruction.parts) != 2:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    _, bits = kind_of(machine, instruction, kind)
    a, b, choice = operands(machine, instruction, bits, bits, 1)
    if choice.codes is None:
        truth = choice.numbers.astype(bool)
        result = machine.select(truth, a, b)
    else:
        result = machine.opaque(instruction, bits, "a choice that depends on data")
    machine.write(instruction, instruction.operands[0], result)


def cvt(machine: Machine, instruction: Instruction) -> None:
    """``cvt`` between integers: cut, or extend by the sign or by zero."""
    if len(instruction.parts) != 3:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    out_kind, out_bits = kind_of(machine, instruction, instruction.parts[1])
    in_kind, in_bits = kind_of(machine, instruction, instruction.parts[2])
    target, source = instruction.operands
    held = machine.width(target, instruction)
    word = machine.read(instruction, source, in_bits)
    word = resize(machine, instruction, word, out_bits, in_kind)
    word = resize(machine, instruction, word, held, out_kind)
    machine.write(instruction, target, word)


def resize(
    machine: Machine, instruction: Instruction, word: Word, bits: int, kind: str
) -> Word:
    """Return the word cut or extended to ``bits``.

    Args:
        machine: The state.
        instruction: Blamed for what cannot be known.
        word: To be resized.
        bits: New width [bits].
        kind: ``s`` extends by the sign, anything else by zero.
    """
    if bits == word.bits:
        return word
    if word.base is not None:
        # an address in shared memory is below 2**31
        if bits > word.bits and word.base in machine.extents:
            return Word(bits, word.numbers, None, word.base)
        return machine.opaque(instruction, bits, "a pointer of another width")
    if bits < word.bits:
        return machine.cut(word, bits)
    if word.codes is None:
        values = word.signed if kind == "s" else word.numbers
        return number(bits, values)
    codes = np.full((machine.threads, bits // 8), -1, np.int32)
    codes[:, : word.bits // 8] = word.codes
    if kind == "s":
        lost = machine.table.unknown(f"the sign of data at line {instruction.line}")
        codes[:, word.bits // 8 :] = lost
    return from_codes(codes)


def shfl(machine: Machine, instruction: Instruction) -> None:
    """``shfl.sync``: each thread gets a word from a thread of its warp."""
    parts = instruction.parts
    modes = ("up", "down", "bfly", "idx")
    if len(parts) != 4 or parts[1] != "sync" or parts[2] not in modes:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    if machine.threads % WARP:
        raise machine.unsupported(instruction, "a warp that is not full")
    value, by, clamp, members = operands(machine, instruction, 32, 32, 32, 32)
    for word in (by, clamp, members):
        if word.codes is not None:
            raise machine.not_known(instruction, word.codes, "a lane")
        if word.base is not None:
            raise machine.unsupported(instruction, "a pointer as a lane")
    lane = machine.index % WARP
    source, inside = _source_lane(parts[2], lane, by, clamp)
    source = np.where(inside, source, lane)
    giver = machine.index - lane + source
    result = _gather(value, giver)
    mask = members.numbers.view(np.int64)
    alive = machine.active[giver] & (mask >> source & 1).astype(bool)
    joined = (mask >> lane & 1).astype(bool) | ~machine.active
    if not joined.all():
        thread = int(np.flatnonzero(~joined)[0])
        raise machine.fault(
            instruction,
            "shuffle outside its mask",
            thread,
            "a mask that names the executing lane",
            f"mask {int(mask[thread]):#x}",
        )
    if not alive.all():
        code = machine.table.unknown(
            f"line {instruction.line} reads a lane that takes no part", undefined=True
        )
        result = machine.select(alive, result, unknown(32, code, machine.threads))
    target: Operand = instruction.operands[0]
    if isinstance(target, Pair):
        machine.write(instruction, target.second, Word(1, inside.astype(np.uint64)))
        target = target.first
    machine.write(instruction, target, result)


def _source_lane(
    mode: str,
    lane: Indices,
    by: Word,
    clamp: Word,
) -> tuple[Indices, Mask]:
    """Return the lane that is read, and whether it lies in the segment."""
    step = by.numbers.view(np.int64) & 31
    segment = clamp.numbers.view(np.int64) >> 8 & 31
    last = (lane & segment) | (clamp.numbers.view(np.int64) & 31 & ~segment)
    if mode == "up":
        source = lane - step
        return source, source >= last
    if mode == "down":
        source = lane + step
    elif mode == "bfly":
        source = lane ^ step
    else:
        source = (lane & segment) | (step & ~segment)
    return source, source <= last


def _gather(word: Word, giver: Indices) -> Word:
    codes = None if word.codes is None else word.codes[giver]
    if codes is None:
        return Word(word.bits, word.numbers[giver], None, word.base)
    return from_codes(codes, word.bits)
