"""Integer instructions: exact on numbers, a few on pointers and on whole bytes of data.

Anything else done to data gives a word that is not known, with the line as the reason:
no fault, unless it is used.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .machine import Machine
from .memory import Indices
from .provenance import Codes
from .syntax import Instruction, Pair
from .word import (
    Numbers,
    Word,
    codes_of,
    from_codes,
    number,
    predicate,
    unknown,
)

_ZERO = np.int32(-1)


def kind_of(machine: Machine, instruction: Instruction, text: str) -> tuple[str, int]:
    """Return signedness (``s``, ``u``, ``b``) and width of an integer type."""
    if text == "pred":
        return "p", 1
    if text[0] not in "sub" or text[1:] not in ("8", "16", "32", "64"):
        raise machine.unsupported(instruction, f"type .{text}")
    return text[0], int(text[1:])


def only_type(machine: Machine, instruction: Instruction) -> tuple[str, int]:
    """Return the type of an opcode that has nothing else, e.g. ``add.s32``."""
    if len(instruction.parts) != 2:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    return kind_of(machine, instruction, instruction.parts[1])


def operands(
    machine: Machine, instruction: Instruction, *bits: int
) -> tuple[Word, ...]:
    """Read the operands after the result, one width each."""
    given = instruction.operands[1:]
    if len(given) != len(bits):
        raise machine.unsupported(instruction, f"{len(given)} operands")
    return tuple(
        machine.read(instruction, operand, width)
        for operand, width in zip(given, bits, strict=True)
    )


def add(machine: Machine, instruction: Instruction) -> None:
    """``add``: numbers; pointer and number; data where one side is zero."""
    _, bits = only_type(machine, instruction)
    a, b = operands(machine, instruction, bits, bits)
    machine.write(
        instruction, instruction.operands[0], plus(machine, instruction, a, b)
    )


def plus(machine: Machine, instruction: Instruction, a: Word, b: Word) -> Word:
    """Return the sum of two words of one width."""
    if a.is_number and b.is_number:
        return number(a.bits, a.numbers + b.numbers)
    for pointer, other in ((a, b), (b, a)):
        if pointer.base is not None and other.is_number:
            total = number(a.bits, pointer.numbers + other.numbers)
            return Word(a.bits, total.numbers, None, pointer.base)
    if a.base is None and b.base is None:
        x, y = codes_of(a), codes_of(b)
        if ((x == _ZERO) | (y == _ZERO)).all():
            return from_codes(np.where(x == _ZERO, y, x), a.bits)
    found = machine.blame(instruction, a, b)
    assert found is not None
    return found


def sub(machine: Machine, instruction: Instruction) -> None:
    """``sub``: numbers; number from pointer; pointers with one base."""
    _, bits = only_type(machine, instruction)
    a, b = operands(machine, instruction, bits, bits)
    if b.is_number and a.codes is None:
        total = number(bits, a.numbers - b.numbers)
        result = Word(bits, total.numbers, None, a.base)
    elif a.base is not None and a.base == b.base:
        result = number(bits, a.numbers - b.numbers)
    else:
        result = machine.blame(instruction, b, a) or a
    machine.write(instruction, instruction.operands[0], result)


def _wide(word: Word, kind: str) -> Numbers:
    return word.signed.view(np.uint64) if kind == "s" else word.numbers


def mul(machine: Machine, instruction: Instruction) -> None:
    """``mul`` and ``mad`` (``.lo``, ``.wide``) on numbers; ``mad`` onto a pointer."""
    name, *rest = instruction.parts
    if len(rest) != 2 or rest[0] not in ("lo", "wide"):
        raise machine.unsupported(instruction, "modifiers of this opcode")
    kind, bits = kind_of(machine, instruction, rest[1])
    out = 2 * bits if rest[0] == "wide" else bits
    if out > 64:
        raise machine.unsupported(instruction, "a product of more than 64 bits")
    widths = (bits, bits) if name == "mul" else (bits, bits, out)
    a, b, *c = operands(machine, instruction, *widths)
    blamed = machine.blame(instruction, a, b)
    scaled = None if c or kind == "s" else _scaled(machine, instruction, a, b, out)
    if scaled is not None:
        result = scaled
    elif blamed is not None:
        result = unknown(out, int(codes_of(blamed)[0, 0]), machine.threads)
    else:
        result = number(out, _wide(a, kind) * _wide(b, kind))
        if c:
            result = plus(machine, instruction, result, c[0])
    machine.write(instruction, instruction.operands[0], result)


def _scaled(
    machine: Machine, instruction: Instruction, data: Word, factor: Word, out: int
) -> Word | None:
    """Return data times a power of two, which is a shift; None for other products."""
    if data.codes is None or data.base is not None or not factor.is_number:
        return None
    value = int(factor.numbers[0])
    if value == 0 or value & value - 1 or (factor.numbers != value).any():
        return None
    codes = codes_of(data)
    missing = out // 8 - codes.shape[1]
    wide = np.concatenate(
        [codes, np.full((codes.shape[0], missing), _ZERO, codes.dtype)], axis=1
    )
    up = np.full(codes.shape[0], 1 - value.bit_length(), np.int64)
    return from_codes(move_bytes(machine, instruction, wide, up, _ZERO), out)


def extremum(machine: Machine, instruction: Instruction) -> None:
    """``min`` and ``max`` of numbers."""
    kind, bits = only_type(machine, instruction)
    a, b = operands(machine, instruction, bits, bits)
    result = machine.blame(instruction, a, b)
    if result is None:
        smaller = a.signed < b.signed if kind == "s" else a.numbers < b.numbers
        least = instruction.parts[0] == "min"
        result = machine.select(smaller if least else ~smaller, a, b)
    machine.write(instruction, instruction.operands[0], result)


def neg(machine: Machine, instruction: Instruction) -> None:
    """``neg`` and ``abs`` of a number."""
    _, bits = only_type(machine, instruction)
    (a,) = operands(machine, instruction, bits)
    result = machine.blame(instruction, a)
    if result is None:
        negated = number(bits, ~a.numbers + np.uint64(1))
        if instruction.parts[0] == "abs":
            negated = machine.select(a.signed < 0, negated, a)
        result = negated
    machine.write(instruction, instruction.operands[0], result)


def shift(machine: Machine, instruction: Instruction) -> None:
    """``shl`` and ``shr``: numbers by any amount, data by whole bytes."""
    kind, bits = only_type(machine, instruction)
    a, by = operands(machine, instruction, bits, 32)
    left = instruction.parts[0] == "shl"
    result = machine.blame(instruction, by)
    if result is not None:
        result = unknown(bits, int(codes_of(result)[0, 0]), machine.threads)
    elif a.is_number:
        amount = np.minimum(by.numbers, np.uint64(63))
        if kind == "s" and not left:
            shifted = (a.signed >> amount.view(np.int64)).view(np.uint64)
        elif left:
            shifted = a.numbers << amount
        else:
            shifted = a.numbers >> amount
        gone = by.numbers >= np.uint64(bits)
        if kind != "s" or left:
            shifted = np.where(gone, np.uint64(0), shifted)
        result = number(bits, shifted)
    elif a.base is not None:
        result = machine.opaque(instruction, bits, "a pointer shifted")
    else:
        amount = np.minimum(by.numbers, np.uint64(bits))
        moved = -amount.view(np.int64) if left else amount.view(np.int64)
        fill = None if kind == "s" and not left else _ZERO
        codes = move_bytes(machine, instruction, codes_of(a), moved, fill)
        result = from_codes(codes, bits)
    machine.write(instruction, instruction.operands[0], result)


def move_bytes(
    machine: Machine,
    instruction: Instruction,
    codes: Codes,
    down: Indices,
    fill: np.int32 | None,
) -> Codes:
    """Return bytes moved down by so many bits a thread.

    Args:
        machine: The state.
        instruction: Blamed for what cannot be known.
        codes: Bytes [threads, bytes].
        down: Distance, negative for up [bits].
        fill: What comes in; ``None``: not known.
    """
    odd = machine.opaque(instruction, 8, "data shifted by a part of a byte")
    lost = int(codes_of(odd)[0, 0])
    size = codes.shape[1]
    places = np.arange(size)[None, :] + (down >> 3)[:, None]
    inside = (places >= 0) & (places < size)
    picked = np.take_along_axis(codes, np.clip(places, 0, size - 1), axis=1)
    result = np.where(inside, picked, lost if fill is None else fill)
    found: Codes = np.where((down & 7 != 0)[:, None], lost, result).astype(np.int32)
    return found


def funnel(machine: Machine, instruction: Instruction) -> None:
    """``shf``: 32 bits out of 64."""
    _, side, mode, *kind = instruction.parts
    if kind != ["b32"] or mode not in ("wrap", "clamp") or side not in "lr":
        raise machine.unsupported(instruction, "modifiers of this opcode")
    low, high, by = operands(machine, instruction, 32, 32, 32)
    result = machine.blame(instruction, by)
    if result is None:
        amount = by.numbers.view(np.int64)
        amount = amount & 31 if mode == "wrap" else np.minimum(amount, 32)
        down = amount if side == "r" else 32 - amount
        if low.is_number and high.is_number:
            whole: Numbers = low.numbers | (high.numbers << np.uint64(32))
            whole = whole >> down.view(np.uint64)
            result = number(32, whole)
        elif low.base is None and high.base is None:
            both = np.concatenate([codes_of(low), codes_of(high)], axis=1)
            moved = move_bytes(machine, instruction, both, down, _ZERO)
            result = from_codes(moved[:, :4])
        else:
            result = machine.opaque(instruction, 32, "a pointer shifted")
    machine.write(instruction, instruction.operands[0], result)


_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def setp(machine: Machine, instruction: Instruction) -> None:
    """``setp``: compare numbers; pointers with one base."""
    parts = instruction.parts
    if len(parts) != 3 or parts[1] not in _COMPARE:
        raise machine.unsupported(instruction, "modifiers of this opcode")
    kind, bits = kind_of(machine, instruction, parts[2])
    a, b = operands(machine, instruction, bits, bits)
    if a.base is not None and a.base == b.base and parts[1] in ("eq", "ne"):
        a, b = number(bits, a.numbers), number(bits, b.numbers)
    blamed = machine.blame(instruction, a, b)
    if blamed is not None:
        result = unknown(1, int(codes_of(blamed)[0, 0]), machine.threads)
        opposite = result
    else:
        compare = _COMPARE[parts[1]]
        if kind == "s" and parts[1] in ("lt", "le", "gt", "ge"):
            truth = np.asarray(compare(a.signed, b.signed))
        else:
            truth = np.asarray(compare(a.numbers, b.numbers))
        result, opposite = predicate(truth), predicate(~truth)
    target = instruction.operands[0]
    if isinstance(target, Pair):
        machine.write(instruction, target.first, result)
        machine.write(instruction, target.second, opposite)
    else:
        machine.write(instruction, target, result)
