"""Run a PTX kernel on numbers: what a GPU would compute, by numpy.

``verify.ptx.prove_conversion`` proves where data goes; this interpreter also does the
arithmetic, matrix instructions included, so that a compiled kernel can be compared with
its reference on a machine without a GPU. All threads of some programs run in step, as
arrays; branches on which threads part are refused, and so is what is not modelled.
Memory is checked: each access must lie in a buffer, and be aligned.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from verify.ptx.halt import UnsupportedError
from verify.ptx.reader import parse
from verify.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Kernel,
    Label,
    Operand,
    Register,
    Symbol,
    Vector,
)

from .background import Background
from .floats import Bits
from .matrix import multiply
from .memory import Memory
from .operations import Operation, operation_of
from .warpgroup import POISON, THREADS, places, product, shape_of

_POLICY: Final = re.compile(r"^[ \t]*createpolicy[^\n]*$", re.MULTILINE)
_SHUFFLE: Final = re.compile(r"shfl\.sync\.bfly\.b32$")


def run_kernel(
    ptx: str,
    arguments: Sequence[npt.NDArray[Any] | float | int],
    grid: tuple[int, int, int],
    *,
    shared_bytes: int = 227 * 1024,
    batch: int = 64,
) -> int:
    """Run a kernel; the arrays that are its arguments are changed in place.

    Args:
        ptx: A module whose first entry is the kernel.
        arguments: In the kernel's order: contiguous arrays for pointers, numbers.
            Parameters that Triton adds at the end are zero.
        grid: Programs along x, y and z.
        shared_bytes: Dynamic shared memory of a program [bytes].
        batch: Programs that run in step; 1 where programs wait for each other's
            memory, as in a kernel whose last program adds what all have stored.

    Returns:
        Number of instructions run.

    Raises:
        UnsupportedError: The text has a construct that is not modelled, or threads of a
            batch part at a branch; names the line.
        FaultError: An access that is misaligned or outside all buffers.

    Example:
        >>> twice = '''
        ... .visible .entry twice(.param .u64 .ptr .global a) .reqntid 32 {
        ...   .reg .b32 %r<3>; .reg .b64 %rd<3>;
        ...   ld.param.b64 %rd1, [a];
        ...   mov.u32 %r1, %tid.x;
        ...   mad.wide.u32 %rd2, %r1, 4, %rd1;
        ...   ld.global.b32 %r2, [%rd2];
        ...   add.s32 %r2, %r2, %r2;
        ...   st.global.b32 [%rd2], %r2;
        ...   ret;
        ... }'''
        >>> values = np.arange(32, dtype=np.int32)
        >>> run_kernel(twice, [values], (1, 1, 1))
        7
        >>> values[:4].tolist()
        [0, 2, 4, 6]
    """
    kernel = parse(_POLICY.sub("", ptx))
    programs = [
        (x, y, z)
        for z in range(grid[2])
        for y in range(grid[1])
        for x in range(grid[0])
    ]
    memory = Memory([a for a in arguments if isinstance(a, np.ndarray)])
    values: dict[str, int] = {}
    pointers = iter(memory.bases)
    given = list(arguments) + [0] * (len(kernel.parameters) - len(arguments))
    for (name, _), value in zip(kernel.parameters, given, strict=True):
        if isinstance(value, np.ndarray):
            values[name] = next(pointers)
        elif isinstance(value, float):
            values[name] = int(np.float32(value).view(np.uint32))
        else:
            values[name] = int(value)
    count = 0
    for start in range(0, len(programs), batch):
        machine = _Machine(
            kernel, programs[start : start + batch], memory, values, shared_bytes
        )
        count += machine.run()
    memory.write_back()
    return count


class _Machine:
    """Registers of all threads of a batch of programs."""

    def __init__(
        self,
        kernel: Kernel,
        programs: Sequence[tuple[int, int, int]],
        memory: Memory,
        parameters: Mapping[str, int],
        shared_bytes: int,
    ) -> None:
        assert kernel.threads is not None
        self.kernel, self.memory, self.parameters = kernel, memory, parameters
        self.threads = kernel.threads * len(programs)
        lane = np.arange(kernel.threads, dtype=np.uint64)
        where = np.repeat(np.array(programs, np.uint64), kernel.threads, axis=0)
        zero = np.zeros(self.threads, np.uint64)
        self.registers: dict[str, Bits] = {
            "%tid.x": np.tile(lane, len(programs)),
            "%tid.y": zero,
            "%tid.z": zero,
            "%ctaid.x": where[:, 0].copy(),
            "%ctaid.y": where[:, 1].copy(),
            "%ctaid.z": where[:, 2].copy(),
        }
        starts, size = {}, 0
        for name, (known, alignment) in kernel.variables.items():
            size = -(-size // alignment) * alignment
            starts[name] = size
            size += shared_bytes if known is None else known
        self.symbols = starts
        self.shared_size = max(size, 16)
        self.shared = np.full(self.shared_size * len(programs), 0xA5, np.uint8)
        self.program = np.repeat(
            np.arange(len(programs), dtype=np.uint64), kernel.threads
        )
        self.labels = {
            item.name: i
            for i, item in enumerate(kernel.body)
            if isinstance(item, Label)
        }
        self.count = 0
        self.copies, self.products = Background(), Background()
        self.fenced = self.shared.copy()

    def run(self) -> int:
        body, here = self.kernel.body, 0
        while here < len(body):
            item = body[here]
            here += 1
            if isinstance(item, Label):
                continue
            self.count += 1
            opcode = item.parts[0]
            if opcode == "ret":
                if self._holds(item).all():
                    break
                raise UnsupportedError(item.line, "some threads return early")
            if opcode == "bra":
                taken = self._holds(item)
                if taken.all():
                    target = item.operands[0]
                    assert isinstance(target, Symbol)
                    here = self.labels[target.name]
                elif taken.any():
                    raise UnsupportedError(item.line, "threads part at a branch")
                continue
            self._execute(item)
        return self.count

    def _holds(self, item: Instruction) -> npt.NDArray[np.bool_]:
        if item.guard is None:
            return np.ones(self.threads, bool)
        truth: npt.NDArray[np.bool_] = self.registers[item.guard.name] != 0
        return ~truth if item.guard.negated else truth

    def _execute(self, item: Instruction) -> None:
        kind = item.parts[0]
        if kind in ("bar", "barrier") and "red" in item.parts:
            self._count_at_barrier(item)
            return
        if item.parts[:3] == ("fence", "proxy", "async"):
            self.fenced = self.shared.copy()
            return
        if kind in ("bar", "barrier", "griddepcontrol", "fence", "membar"):
            return
        if kind in ("ld", "st", "atom"):
            self._access(item)
            return
        if kind == "cp":
            self._copy(item)
            return
        if kind == "mma":
            self._matrix(item)
            return
        if kind == "wgmma":
            self._warpgroup(item)
            return
        if kind == "stmatrix":
            self._store_matrix(item)
            return
        if kind == "shfl":
            self._shuffle(item)
            return
        if kind == "mov" and any(isinstance(o, Vector) for o in item.operands):
            self._pack(item)
            return
        operation = operation_of(item.opcode)
        if operation is None:
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        self._compute(item, operation)

    def _compute(self, item: Instruction, operation: Operation) -> None:
        sources = [self.read(item, o) for o in item.operands[1:]]
        self.write(item, item.operands[0], operation(*sources))

    def read(self, item: Instruction, operand: Operand) -> Bits:
        """Return an operand's bits, one of each thread."""
        if isinstance(operand, Immediate):
            value = operand.value & 0xFFFFFFFFFFFFFFFF
            return np.full(self.threads, value, np.uint64)
        if isinstance(operand, Symbol):
            if operand.name in self.symbols:
                return np.full(self.threads, self.symbols[operand.name], np.uint64)
            raise UnsupportedError(item.line, f"symbol {operand.name}")
        if not isinstance(operand, Register):
            raise UnsupportedError(item.line, f"operand {operand}")
        if operand.name not in self.registers:
            raise UnsupportedError(item.line, f"{operand.name} was never written")
        held = self.registers[operand.name]
        return (held == 0).astype(np.uint64) if operand.negated else held

    def write(self, item: Instruction, operand: Operand, value: Bits) -> None:
        """Set a register where the guard holds, cut to its width."""
        if operand is None:
            return
        if not isinstance(operand, Register):
            raise UnsupportedError(item.line, f"result {operand}")
        width = self.kernel.width(operand.name)
        if width < 64:
            value = value & np.uint64((1 << width) - 1)
        if item.guard is not None:
            old = self.registers.get(operand.name)
            if old is None:
                old = np.zeros(self.threads, np.uint64)
            value = np.where(self._holds(item), value, old)
        self.registers[operand.name] = value

    def _pack(self, item: Instruction) -> None:
        target, source = item.operands
        if isinstance(target, Vector):
            value = self.read(item, source)
            width = int(item.parts[1][1:]) // len(target.items)
            for i, register in enumerate(target.items):
                self.write(item, register, value >> np.uint64(i * width))
            return
        assert isinstance(source, Vector)
        width = int(item.parts[1][1:]) // len(source.items)
        value = np.zeros(self.threads, np.uint64)
        for i, register in enumerate(source.items):
            part = self.read(item, register) & np.uint64((1 << width) - 1)
            value = value | part << np.uint64(i * width)
        self.write(item, target, value)

    def _matrix(self, item: Instruction) -> None:
        vectors = [o.items for o in item.operands if isinstance(o, Vector)]
        if len(vectors) != 4:
            raise UnsupportedError(item.line, "operands of mma")
        d, a, b, c = vectors
        found = multiply(
            item.opcode, *([self.read(item, r) for r in v] for v in (a, b, c))
        )
        if found is None:
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        for register, value in zip(d, found, strict=True):
            self.write(item, register, value)

    def _warpgroup(self, item: Instruction) -> None:
        """Order, start, close or wait for products of warpgroups."""
        step = item.parts[1]
        if step == "fence":
            return
        if step == "commit_group":
            self.products.commit()
            return
        if step == "wait_group":
            pending = item.operands[0]
            assert isinstance(pending, Immediate)
            self.products.wait(pending.value)
            return
        shape = shape_of(item.opcode)
        d, a, descriptor, adds, *rest = item.operands
        signs = [one.value for one in rest if isinstance(one, Immediate)]
        if (
            shape is None
            or not isinstance(d, Vector)
            or not isinstance(a, Vector)
            or signs != [1, 1, 0]
        ):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        first = self.read(item, descriptor)[::THREADS]
        where = places(first, shape.columns)
        if where is None:
            raise UnsupportedError(item.line, "a block without swizzle")
        if not ((where >= 0) & (where < self.shared_size)).all():
            raise UnsupportedError(item.line, "an access outside shared memory")
        program = self.program[::THREADS].astype(np.int64)[:, None, None]
        where = (where + program * self.shared_size) // 2
        seen = self.fenced.view(np.uint16)[where]
        summed = self.read(item, adds) != 0

        def multiply_now() -> None:
            b = np.where(self.shared.view(np.uint16)[where] == seen, seen, POISON)
            zero = np.zeros(self.threads, np.uint64)
            c = [zero] * len(d.items)
            if summed.any():
                c = [np.where(summed, self.read(item, r), zero) for r in d.items]
            left = [self.read(item, register) for register in a.items]
            found = product(shape, left, b.astype(np.uint16), c)
            for register, value in zip(d.items, found, strict=True):
                self.write(item, register, value)

        self.products.start(multiply_now)

    def _store_matrix(self, item: Instruction) -> None:
        """Store 8 x 8 tiles whose rows are at the addresses of eight lanes."""
        address, moved = item.operands
        if (
            item.parts[-1] != "b16"
            or "trans" in item.parts
            or not isinstance(address, Address)
            or not isinstance(moved, Vector)
        ):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        rows = self._places(item, address).reshape(-1, 4, 8)
        if not (rows < np.uint64(self.shared_size)).all():
            raise UnsupportedError(item.line, "an access outside shared memory")
        for tile, register in enumerate(moved.items):
            row = np.repeat(rows[:, tile], 4, axis=1).reshape(-1)
            lane = np.arange(self.threads, dtype=np.uint64) & np.uint64(3)
            at = row + lane * np.uint64(4) + self.program * np.uint64(self.shared_size)
            _scatter(self.shared, at, self.read(item, register), 4)

    def _count_at_barrier(self, item: Instruction) -> None:
        """Let groups of consecutive warps count the threads whose predicate holds."""
        size, truth = item.operands[2], item.operands[3]
        if "popc" not in item.parts or not isinstance(size, Immediate):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        holds = (self.read(item, truth) != 0).reshape(-1, size.value)
        self.write(
            item,
            item.operands[0],
            np.repeat(holds.sum(1).astype(np.uint64), size.value),
        )

    def _shuffle(self, item: Instruction) -> None:
        distance = item.operands[2]
        if not _SHUFFLE.match(item.opcode) or not isinstance(distance, Immediate):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        value = self.read(item, item.operands[1]).reshape(-1, 32)
        other = value[:, np.arange(32) ^ distance.value].reshape(-1)
        self.write(item, item.operands[0], other)

    def _access(self, item: Instruction) -> None:
        kind, space = item.parts[0], item.parts[1]
        address_at = 0 if kind == "st" else 1
        address = item.operands[address_at]
        if not isinstance(address, Address):
            raise UnsupportedError(item.line, "an address was needed")
        if space == "param":
            assert isinstance(address.base, Symbol)
            known = self.parameters[address.base.name]
            self.write(item, item.operands[0], np.full(self.threads, known, np.uint64))
            return
        places = self._places(item, address)
        mask = self._holds(item)
        width = int(item.parts[-1][1:]) // 8
        if space == "shared":
            inside = places[mask] < np.uint64(self.shared_size)
            if not inside.all():
                raise UnsupportedError(item.line, "an access outside shared memory")
            places = places + self.program * np.uint64(self.shared_size)
            target = self.shared
        elif space == "global":
            target = self.memory.bytes
            self.memory.check(item, places, mask, width * _count(item))
        else:
            raise UnsupportedError(item.line, f"space {space}")
        if kind == "atom":
            self._atomic(item, target, places, mask, width)
            return
        moved = item.operands[1 - address_at]
        items = moved.items if isinstance(moved, Vector) else (moved,)
        for i, register in enumerate(items):
            at = places + np.uint64(i * width)
            if kind == "ld":
                value = np.zeros(self.threads, np.uint64)
                value[mask] = _gather(target, at[mask], width)
                self.write(item, register, value)
            else:
                stored = self.read(item, register)
                _scatter(target, at[mask], stored[mask], width)

    def _copy(self, item: Instruction) -> None:
        """Start copies into shared memory, close their group, or wait for some."""
        if item.opcode == "cp.async.commit_group":
            self.copies.commit()
            return
        if item.opcode == "cp.async.wait_group":
            pending = item.operands[0]
            assert isinstance(pending, Immediate)
            self.copies.wait(pending.value)
            return
        target, source, width, *rest = item.operands
        if (
            item.parts[:2] != ("cp", "async")
            or item.parts[-2:] != ("shared", "global")
            or not isinstance(target, Address)
            or not isinstance(source, Address)
            or not isinstance(width, Immediate)
        ):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        mask, size = self._holds(item), width.value
        places, begin = self._places(item, target), self._places(item, source)
        given = self.read(item, rest[0] if rest else width)
        if not (places[mask] + np.uint64(size) <= np.uint64(self.shared_size)).all():
            raise UnsupportedError(item.line, "an access outside shared memory")
        self.memory.check(item, begin, mask & (given == size), size)
        at = np.arange(size, dtype=np.uint64)
        read = mask[:, None] & (at < given[:, None])
        data = np.zeros((self.threads, size), np.uint8)
        data[read] = self.memory.bytes[(begin[:, None] + at)[read]]
        here = (places + self.program * np.uint64(self.shared_size))[mask]

        def arrive() -> None:
            self.shared[here[:, None] + at] = data[mask]

        self.copies.start(arrive)

    def _places(self, item: Instruction, address: Address) -> Bits:
        base = self.read(item, address.base)
        return base + np.uint64(address.offset & 0xFFFFFFFFFFFFFFFF)

    def _atomic(
        self,
        item: Instruction,
        target: npt.NDArray[np.uint8],
        places: Bits,
        mask: npt.NDArray[np.bool_],
        width: int,
    ) -> None:
        if "add" not in item.parts or item.parts[-1] not in ("u32", "s32"):
            raise UnsupportedError(item.line, f"{item.opcode} is not modelled")
        added = self.read(item, item.operands[2])
        value = np.zeros(self.threads, np.uint64)
        for thread in np.flatnonzero(mask):
            at = places[thread : thread + 1]
            value[thread] = _gather(target, at, width)[0]
            _scatter(target, at, value[thread] + added[thread : thread + 1], width)
        self.write(item, item.operands[0], value)


def _count(item: Instruction) -> int:
    return next((int(p[1:]) for p in item.parts if p in ("v2", "v4", "v8")), 1)


def _gather(target: npt.NDArray[np.uint8], places: Bits, width: int) -> Bits:
    words = target.view(f"u{width}")
    found: Bits = words[places // np.uint64(width)].astype(np.uint64)
    return found


def _scatter(
    target: npt.NDArray[np.uint8], places: Bits, values: Bits, width: int
) -> None:
    words = target.view(f"u{width}")
    words[places // np.uint64(width)] = values.astype(words.dtype)
