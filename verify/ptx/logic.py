"""Bitwise instructions, bit fields and byte permutes."""

import numpy as np

from .arithmetic import only_type, operands
from .machine import Machine
from .provenance import LAST_CONSTANT, Codes
from .syntax import Immediate, Instruction
from .word import Numbers, Word, codes_of, from_codes, number, unknown


def _on_numbers(name: str, a: Numbers, b: Numbers) -> Numbers:
    if name == "and":
        return a & b
    return a | b if name == "or" else a ^ b


def combine(
    machine: Machine, instruction: Instruction, name: str, a: Word, b: Word
) -> Word:
    """Return ``and``, ``or`` or ``xor`` of two words of one width."""
    if a.is_number and b.is_number:
        return Word(a.bits, _on_numbers(name, a.numbers, b.numbers))
    if a.base is not None or b.base is not None:
        return _low_bits(machine, instruction, name, a, b)
    if a.bits == 1:
        return _predicates(machine, name, a, b)
    rule = {
        "and": machine.table.conjunction,
        "or": machine.table.disjunction,
        "xor": machine.table.xor,
    }[name]
    return from_codes(rule(codes_of(a), codes_of(b)), a.bits)


def _low_bits(
    machine: Machine, instruction: Instruction, name: str, a: Word, b: Word
) -> Word:
    """Change only those bits of a pointer that its base, being aligned, leaves zero."""
    pointer, mask = (a, b) if a.base is not None else (b, a)
    assert pointer.base is not None
    beneath = np.uint64(machine.alignment(pointer.base) - 1)
    high = ~beneath & np.uint64((1 << a.bits) - 1)
    kept = high if name == "and" else np.uint64(0)
    if mask.is_number and ((mask.numbers & high) == kept).all():
        low = _on_numbers(name, pointer.numbers, mask.numbers) & beneath
        rest = pointer.numbers & ~beneath
        return Word(a.bits, rest | low, None, pointer.base)
    return machine.opaque(instruction, a.bits, "a pointer in bitwise logic")


def _predicates(machine: Machine, name: str, a: Word, b: Word) -> Word:
    x, y = codes_of(a), codes_of(b)
    lost = np.minimum(np.minimum(x, y), LAST_CONSTANT - 1)
    if name == "xor":
        deciding = np.zeros(x.shape, bool)
        value = np.int32(-1)
    else:
        value = np.int32(-1 if name == "and" else -2)
        deciding = (x == value) | (y == value)
    plain = (x >= LAST_CONSTANT) & (y >= LAST_CONSTANT)
    exact = ~_on_numbers(name, a.numbers, b.numbers).astype(np.int32)[:, None]
    codes = np.where(deciding, value, np.where(plain, exact, lost))
    return from_codes(codes.astype(np.int32), 1)


def bitwise(machine: Machine, instruction: Instruction) -> None:
    """``and``, ``or``, ``xor``."""
    _, bits = only_type(machine, instruction)
    a, b = operands(machine, instruction, bits, bits)
    result = combine(machine, instruction, instruction.parts[0], a, b)
    machine.write(instruction, instruction.operands[0], result)


def invert(machine: Machine, instruction: Instruction) -> None:
    """``not``."""
    _, bits = only_type(machine, instruction)
    (a,) = operands(machine, instruction, bits)
    machine.write(instruction, instruction.operands[0], _not(machine, instruction, a))


def _not(machine: Machine, instruction: Instruction, a: Word) -> Word:
    if a.bits == 1 and a.codes is not None:
        plain = a.codes >= LAST_CONSTANT
        return from_codes(np.where(plain, -3 - a.codes, a.codes), 1)
    ones = number(a.bits, np.full(machine.threads, ~np.uint64(0), np.uint64))
    return combine(machine, instruction, "xor", a, ones)


def lop3(machine: Machine, instruction: Instruction) -> None:
    """``lop3``: any function of three bits, as an xor of conjunctions."""
    if instruction.parts != ("lop3", "b32"):
        raise machine.unsupported(instruction, "modifiers of this opcode")
    *_, table = instruction.operands
    if not isinstance(table, Immediate):
        raise machine.unsupported(instruction, "a table that is no constant")
    a, b, c, _ = operands(machine, instruction, 32, 32, 32, 32)
    zero = number(32, np.zeros(machine.threads, np.uint64))
    ones = number(32, np.full(machine.threads, 0xFFFFFFFF, np.uint64))
    result = zero
    for monomial in range(8):
        # Moebius: the coefficient is the parity over all smaller inputs
        smaller = [i for i in range(8) if i & monomial == i]
        if sum(table.value >> i & 1 for i in smaller) % 2:
            product = ones
            for bit, word in ((4, a), (2, b), (1, c)):
                if monomial & bit:
                    product = combine(machine, instruction, "and", product, word)
            result = combine(machine, instruction, "xor", result, product)
    machine.write(instruction, instruction.operands[0], result)


def extract(machine: Machine, instruction: Instruction) -> None:
    """``bfe``: a bit field of a number, or whole bytes of data."""
    kind, bits = only_type(machine, instruction)
    a, start, length = operands(machine, instruction, bits, 32, 32)
    result = machine.blame(instruction, start, length)
    if result is not None:
        result = unknown(bits, int(codes_of(result)[0, 0]), machine.threads)
    elif a.is_number:
        result = number(bits, _field(a, start.numbers, length.numbers, kind))
    elif a.base is None and kind == "u":
        cut = _byte_field(start, length, bits)
        if cut is not None:
            first, count = cut
            codes = np.full((machine.threads, bits // 8), -1, np.int32)
            codes[:, :count] = codes_of(a)[:, first : first + count]
            result = from_codes(codes)
    if result is None:
        result = machine.opaque(instruction, bits, "a bit field of data")
    machine.write(instruction, instruction.operands[0], result)


def _field(a: Word, start: Numbers, length: Numbers, kind: str) -> Numbers:
    first = start & np.uint64(255)
    count = np.minimum(length & np.uint64(255), np.uint64(a.bits))
    sixty = np.uint64(63)
    if kind == "s":
        # move the field's sign to the top, then down again
        end = np.minimum(first + count, np.uint64(a.bits))
        end = np.where(first >= np.uint64(a.bits), np.uint64(a.bits), end)
        low = np.minimum(first, np.uint64(a.bits - 1))
        up = np.minimum(np.uint64(64) - end, sixty)
        moved = (a.numbers << up).view(np.int64) >> (up + low).view(np.int64)
        return np.where(count == 0, np.uint64(0), moved.view(np.uint64))
    shifted = np.where(
        first >= np.uint64(a.bits), np.uint64(0), a.numbers >> np.minimum(first, sixty)
    )
    mask = (np.uint64(1) << np.minimum(count, sixty)) - np.uint64(1)
    return np.where(count > sixty, shifted, shifted & mask)


def _byte_field(start: Word, length: Word, bits: int) -> tuple[int, int] | None:
    """Return first byte and number of bytes of a field that is whole bytes."""
    first, count = int(start.numbers[0]), int(length.numbers[0])
    uniform = (start.numbers == first).all() and (length.numbers == count).all()
    if not uniform or first % 8 or count % 8 or first + count > bits:
        return None
    return first // 8, count // 8


def insert(machine: Machine, instruction: Instruction) -> None:
    """``bfi``: replace a bit field of a number, or whole bytes of data."""
    _, bits = only_type(machine, instruction)
    a, b, start, length = operands(machine, instruction, bits, bits, 32, 32)
    result = machine.blame(instruction, start, length)
    if result is not None:
        result = unknown(bits, int(codes_of(result)[0, 0]), machine.threads)
    elif a.is_number and b.is_number:
        first = start.numbers & np.uint64(255)
        count = np.minimum(length.numbers & np.uint64(255), np.uint64(bits))
        sixty = np.uint64(63)
        mask = (np.uint64(1) << np.minimum(count, sixty)) - np.uint64(1)
        mask = np.where(count > sixty, ~np.uint64(0), mask)
        place = np.minimum(first, sixty)
        mask = np.where(first >= np.uint64(bits), np.uint64(0), mask << place)
        inserted = (a.numbers << place) & mask
        result = number(bits, inserted | (b.numbers & ~mask))
    elif a.base is None and b.base is None:
        cut = _byte_field(start, length, bits)
        if cut is not None:
            low, size = cut
            codes = codes_of(b).copy()
            codes[:, low : low + size] = codes_of(a)[:, :size]
            result = from_codes(codes)
    if result is None:
        result = machine.opaque(instruction, bits, "a bit field of data")
    machine.write(instruction, instruction.operands[0], result)


def prmt(machine: Machine, instruction: Instruction) -> None:
    """``prmt``: each byte of the result is a byte of two words."""
    if instruction.parts != ("prmt", "b32"):
        raise machine.unsupported(instruction, "modifiers of this opcode")
    a, b, selector = operands(machine, instruction, 32, 32, 32)
    result = machine.blame(instruction, selector)
    if result is None and (a.base is not None or b.base is not None):
        result = machine.opaque(instruction, 32, "a pointer in bytes")
    if result is None:
        both = np.concatenate([codes_of(a), codes_of(b)], axis=1)
        shifts = np.arange(4, dtype=np.uint64) * np.uint64(4)
        nibbles = (selector.numbers[:, None] >> shifts).astype(np.int64) & 15
        picked = np.take_along_axis(both, nibbles & 7, axis=1)
        if (nibbles & 8).any():
            picked = np.where(nibbles & 8 != 0, _signs(machine, picked), picked)
        result = from_codes(picked)
    machine.write(instruction, instruction.operands[0], result)


def _signs(machine: Machine, codes: Codes) -> Codes:
    """Return each byte's sign bit in all of its bits."""
    lost = machine.table.unknown("the sign of data")
    signs = np.where(~codes >= 128, LAST_CONSTANT, -1)
    plain = (codes < 0) & (codes >= LAST_CONSTANT)
    found: Codes = np.where(plain, signs, lost).astype(np.int32)
    return found
