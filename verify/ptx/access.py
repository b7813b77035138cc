"""Loads and stores: parameters, global memory, shared memory, matrix tiles."""

import re

import numpy as np

from .arithmetic import kind_of
from .buffers import INPUT, OUTPUT, Misfit
from .halt import FaultError, UnsupportedError
from .machine import WARP, Machine
from .memory import Indices
from .moves import resize
from .provenance import LAST_CONSTANT, Codes
from .syntax import Address, Instruction, Operand, Register, Symbol, Vector
from .word import Word, codes_of, from_codes, unknown

_HINT = re.compile(r"(nc|L[12]::\w+|ca|cg|cs|cv|lu|wb|wt|evict_\w+|weak)$")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_SHARED = ("shared", "shared::cta")


def load(machine: Machine, instruction: Instruction) -> None:
    """``ld`` from parameters, global and shared memory."""
    space, count, text = _shape(machine, instruction)
    kind, bits = _type(machine, instruction, text)
    target, source = instruction.operands[:2]
    if not isinstance(source, Address):
        raise machine.unsupported(instruction, "this form of address")
    if space == "param":
        machine.write(instruction, target, _parameter(machine, instruction, source))
        return
    offsets = _offsets(machine, instruction, source, space, count * bits // 8)
    if space == "global":
        codes = _load_global(machine, instruction, offsets)
    else:
        codes = _load_shared(machine, instruction, offsets)
    for i, item in enumerate(_items(machine, instruction, target, count)):
        if item is None:
            continue
        word = from_codes(codes[:, i * bits // 8 : (i + 1) * bits // 8])
        held = machine.width(item, instruction)
        if held < bits:
            raise machine.unsupported(instruction, f"{held} bits are too few")
        word = resize(machine, instruction, word, held, kind)
        machine.write(instruction, item, word)


def store(machine: Machine, instruction: Instruction) -> None:
    """``st`` to global and shared memory."""
    space, count, text = _shape(machine, instruction)
    _, bits = _type(machine, instruction, text)
    target, source = instruction.operands[:2]
    if not isinstance(target, Address):
        raise machine.unsupported(instruction, "this form of address")
    offsets = _offsets(machine, instruction, target, space, count * bits // 8)
    items = _items(machine, instruction, source, count)
    words = [machine.read(instruction, item, bits) for item in items]
    if any(word.base is not None for word in words):
        raise machine.unsupported(instruction, "a pointer is stored")
    codes = np.concatenate([codes_of(word) for word in words], axis=1)
    if space == "global":
        _store_global(machine, instruction, offsets, codes)
    else:
        _store_shared(machine, instruction, offsets, codes)


def _shape(machine: Machine, instruction: Instruction) -> tuple[str, int, str]:
    """Return state space, length of the vector and type."""
    space, count = None, 1
    for part in instruction.parts[1:-1]:
        if part in ("param", "global", *_SHARED):
            space = "shared" if part in _SHARED else part
        elif part in _VECTORS:
            count = _VECTORS[part]
        elif not _HINT.match(part):
            raise machine.unsupported(instruction, f"modifier .{part}")
    if space is None:
        raise machine.unsupported(instruction, "a generic address")
    return space, count, instruction.parts[-1]


def _type(machine: Machine, instruction: Instruction, text: str) -> tuple[str, int]:
    if text in ("f32", "f64"):
        text = "b" + text[1:]
    return kind_of(machine, instruction, text)


def _items(
    machine: Machine, instruction: Instruction, operand: Operand, count: int
) -> tuple[Operand, ...]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        raise machine.unsupported(instruction, f"{len(items)} registers for {count}")
    return items


def _parameter(machine: Machine, instruction: Instruction, source: Address) -> Word:
    name = source.base.name if isinstance(source.base, Symbol) else ""
    found = machine.parameters.get(name)
    bits = machine.width(instruction.operands[0], instruction)
    if found is None or source.offset or found.bits != bits:
        code = machine.table.unknown(f"parameter {name} is not given")
        return unknown(bits, code, machine.threads)
    return found


def _offsets(
    machine: Machine,
    instruction: Instruction,
    address: Address,
    space: str,
    size: int,
) -> Indices:
    """Return the byte offsets of an access in its buffer [threads, bytes]."""
    word = machine.read(
        instruction, address.base, _width(machine, instruction, address)
    )
    shared = word.base in machine.extents
    known = shared if space == "shared" else word.base in (INPUT, OUTPUT)
    if word.base is None or not known:
        raise _no_address(machine, instruction, word, space)
    if size > machine.alignment(word.base):
        raise machine.unsupported(
            instruction,
            f"{word.base} is aligned to {machine.alignment(word.base)} bytes only",
        )
    first = word.signed + address.offset
    crooked = (first % size != 0) & machine.active
    if crooked.any():
        thread = int(np.flatnonzero(crooked)[0])
        raise machine.fault(
            instruction,
            "misaligned address",
            thread,
            f"a multiple of {size} bytes",
            f"offset {int(first[thread])}",
        )
    if shared:
        first = _within(machine, instruction, word.base, first, size)
    found: Indices = first[:, None] + np.arange(size)
    return found


def _width(machine: Machine, instruction: Instruction, address: Address) -> int:
    """Return the width of an address [bits]."""
    if isinstance(address.base, Register):
        return machine.width(address.base, instruction)
    return 32


def _within(
    machine: Machine, instruction: Instruction, name: str, first: Indices, size: int
) -> Indices:
    """Return places in all of shared memory, if they lie in the variable."""
    start, end = machine.extents[name]
    wrong = ((first < 0) | (first + size > end - start)) & machine.active
    if wrong.any():
        thread = int(np.flatnonzero(wrong)[0])
        raise machine.fault(
            instruction,
            "outside shared memory",
            thread,
            f"a place below byte {end - start} of {name}",
            f"byte {int(first[thread])}",
        )
    return first + start


def _no_address(
    machine: Machine, instruction: Instruction, word: Word, space: str
) -> UnsupportedError | FaultError:
    """Return the error for an address that is no pointer into the space."""
    if word.codes is not None:
        return machine.not_known(instruction, word.codes, "an address")
    why = "no pointer" if word.base is None else f"a pointer to {word.base}"
    return machine.unsupported(instruction, f"{why} as an address of {space}")


def _base(machine: Machine, instruction: Instruction, operand: Operand) -> str | None:
    assert isinstance(operand, Address)
    bits = _width(machine, instruction, operand)
    return machine.read(instruction, operand.base, bits).base


def _load_global(machine: Machine, instruction: Instruction, offsets: Indices) -> Codes:
    if _base(machine, instruction, instruction.operands[1]) != INPUT:
        raise machine.unsupported(instruction, "the output is read back")
    _judge(machine, instruction, machine.buffers.outside(offsets, machine.active))
    return machine.buffers.load(offsets, machine.active)


def _store_global(
    machine: Machine, instruction: Instruction, offsets: Indices, codes: Codes
) -> None:
    if _base(machine, instruction, instruction.operands[0]) != OUTPUT:
        thread = int(np.flatnonzero(machine.active)[0])
        raise machine.fault(
            instruction, "store to the input", thread, "the output", "the input"
        )
    _judge(machine, instruction, machine.buffers.outside(offsets, machine.active))
    misfit = machine.buffers.store(offsets, codes, machine.active, machine.running)
    _judge(machine, instruction, misfit)


def _judge(machine: Machine, instruction: Instruction, found: Misfit | None) -> None:
    if found is None:
        return
    size = machine.buffers.element_bytes
    element, byte = divmod(found.offset, size)
    if found.kind != "wrong element":
        raise machine.fault(
            instruction,
            found.kind,
            found.thread,
            f"an element below {machine.buffers.elements}",
            f"byte {byte} of element {element}",
        )
    due = machine.buffers.describe(found.offset)
    if found.code < LAST_CONSTANT:
        codes = np.zeros((machine.threads, 1), np.int32)
        codes[found.thread] = found.code
        raise machine.not_known(instruction, codes, due, awake=machine.running)
    actual = machine.table.describe(found.code, size)
    raise machine.fault(instruction, found.kind, found.thread, due, actual)


def _load_shared(machine: Machine, instruction: Instruction, offsets: Indices) -> Codes:
    codes = np.full(offsets.shape, 0, np.int32)
    who = np.flatnonzero(machine.active)
    size = offsets.shape[1]
    found, conflict = machine.shared.read(
        instruction.line, np.repeat(who, size), offsets[who].ravel()
    )
    if conflict:
        raise machine.conflict(instruction, conflict)
    codes[who] = found.reshape(-1, size)
    return codes


def _store_shared(
    machine: Machine, instruction: Instruction, offsets: Indices, codes: Codes
) -> None:
    who = np.flatnonzero(machine.active)
    conflict = machine.shared.write(
        instruction.line,
        np.repeat(who, offsets.shape[1]),
        offsets[who].ravel(),
        codes[who].ravel(),
    )
    if conflict:
        raise machine.conflict(instruction, conflict)


def load_matrix(machine: Machine, instruction: Instruction) -> None:
    """``ldmatrix``: 8 x 8 tiles of 16-bit elements, also transposed."""
    count, threads, offsets = _tiles(machine, instruction, instruction.operands[1])
    codes, conflict = machine.shared.read(
        instruction.line, np.repeat(threads, 4), offsets.ravel()
    )
    if conflict:
        raise machine.conflict(instruction, conflict)
    found = codes.reshape(count, machine.threads, 4)
    items = _items(machine, instruction, instruction.operands[0], count)
    for tile, item in zip(found, items, strict=True):
        machine.write(instruction, item, from_codes(tile))


def store_matrix(machine: Machine, instruction: Instruction) -> None:
    """``stmatrix``: the inverse of ``ldmatrix``."""
    count, threads, offsets = _tiles(machine, instruction, instruction.operands[0])
    items = _items(machine, instruction, instruction.operands[1], count)
    words = [machine.read(instruction, item, 32) for item in items]
    if any(word.base is not None for word in words):
        raise machine.unsupported(instruction, "a pointer is stored")
    codes = np.concatenate([codes_of(word) for word in words])
    conflict = machine.shared.write(
        instruction.line, np.repeat(threads, 4), offsets.ravel(), codes.ravel()
    )
    if conflict:
        raise machine.conflict(instruction, conflict)


_MATRIX = re.compile(
    r"(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(::cta)?\.b16$"
)


def _tiles(
    machine: Machine, instruction: Instruction, address: Operand
) -> tuple[int, Indices, Indices]:
    """Return the number of tiles, and where each thread's bytes lie.

    Lane ``8 t + r`` gives the address of row ``r`` of tile ``t``. Lane ``l`` holds two
    elements of each tile: number ``2 (l % 4)`` and the next one, of row ``l // 4`` or,
    transposed, of column ``l // 4``.

    Returns:
        Tiles; threads, tile by tile [tiles * threads]; byte offsets [same, 4].
    """
    match = _MATRIX.match(instruction.opcode)
    if match is None or not isinstance(address, Address):
        raise machine.unsupported(instruction, "this shape of matrix")
    if not machine.active.all() or machine.threads % WARP:
        raise machine.unsupported(instruction, "not all lanes take part")
    count = int(match[2])
    rows = _rows(machine, instruction, address, count)
    lane = machine.index % WARP
    warp = machine.index - lane
    tile = np.arange(count)[:, None]
    pair = 2 * (lane % 4)
    if match[3]:
        first = rows[warp + 8 * tile + pair] + 2 * (lane // 4)
        second = rows[warp + 8 * tile + pair + 1] + 2 * (lane // 4)
    else:
        first = rows[warp + 8 * tile + lane // 4] + 2 * pair
        second = first + 2
    offsets = np.stack([first, first + 1, second, second + 1], axis=-1)
    threads = np.broadcast_to(machine.index, (count, machine.threads)).ravel()
    return count, threads, offsets.reshape(-1, 4)


def _rows(
    machine: Machine, instruction: Instruction, address: Address, count: int
) -> Indices:
    """Return each lane's row address; only those of lanes that give one count."""
    used = machine.index % WARP < 8 * count
    every, machine.active = machine.active, used
    try:
        return _offsets(machine, instruction, address, "shared", 16)[:, 0]
    finally:
        machine.active = every
