"""A machine for the straight-line PTX of the permutation kernels, on numpy arrays."""

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from compiler.codegen.gluon.plan_block import Block

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
SOURCE, TARGET = 1 << 40, 1 << 44
WIDTHS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def bits(values: Words, count: int) -> Words:
    return values & np.uint64((1 << count) - 1)


def signed(values: Words, count: int) -> Words:
    sign = np.uint64(1 << (count - 1))
    return (bits(values, count) ^ sign) - sign


class Machine:
    """All threads of one program in step; reads and writes outside of memory fail."""

    def __init__(self, source: Bytes, target: Bytes, shared: int, threads: int) -> None:
        self.memory = {SOURCE: source, TARGET: target}
        self.shared = np.full(shared, 0xEE, np.uint8)
        self.threads = threads
        self.registers: dict[str, Words] = {}

    def run(self, ptx: str, program: int) -> None:
        self.registers = {
            "%tid.x": np.arange(self.threads, dtype=np.uint64),
            "%ctaid.x": np.full(self.threads, program, np.uint64),
            "global_smem": np.zeros(self.threads, np.uint64),
        }
        body = re.sub(r"//[^\n]*|\$L__\w+:|\.loc[^\n]*", "", ptx[ptx.index("%bb.0:") :])
        for text in re.split(r"[;\n]", body):
            statement = text.replace("\t", " ").strip(" {}")
            if statement.startswith("ret"):
                break
            if statement and not statement.startswith((".reg", "%bb", "bar")):
                self.step(*statement.partition(" ")[::2])

    def step(self, name: str, rest: str) -> None:
        vector = re.search(r"\{([^}]*)", rest)
        operands = [o.strip(" {}") for o in re.sub(r"\{[^}]*\}?", "V", rest).split(",")]
        parts = name.split(".")
        if name.startswith("ld.param"):
            pointer = TARGET if operands[1].strip("[]").endswith("_1") else SOURCE
            self.registers[operands[0]] = np.full(self.threads, pointer, np.uint64)
        elif name.startswith("cp.async.c") and "group" not in name:
            assert operands[2:] == ["0x10", "0x10"]
            self.copy(operands[0], operands[1])
        elif parts[0] in ("ld", "st"):
            names = vector[1].split(",") if vector else [operands[parts[0] == "st"]]
            self.move(parts, operands[parts[0] == "ld"], [n.strip() for n in names])
        elif parts[0] not in ("cp", "bar"):
            values = [self.value(o) for o in operands[1:]]
            self.registers[operands[0]] = compute(parts, values)

    def value(self, operand: str) -> Words:
        if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+U?", operand):
            number = int(operand.rstrip("U"), 0) & (2**64 - 1)
            return np.full(self.threads, number, np.uint64)
        return self.registers[operand]

    def address(self, text: str) -> Words:
        base, _, offset = text.strip("[] ").partition("+")
        return self.value(base.strip()) + np.uint64(int(offset or 0))

    def places(self, space: str, text: str, width: int) -> tuple[Bytes, Words]:
        address = self.address(text)
        if space == "shared":
            memory, first = self.shared, address
        else:
            start = TARGET if int(address.min()) >= TARGET else SOURCE
            memory, first = self.memory[start], address - np.uint64(start)
        assert int(first.max()) + width <= len(memory), f"{space} out of bounds"
        assert not (first % np.uint64(width)).any(), f"{space} not aligned"
        steps: Words = np.arange(width, dtype=np.uint64)
        places: Words = np.add(first[:, None], steps, dtype=np.uint64)
        return memory, places

    def copy(self, onto: str, source: str) -> None:
        memory, there = self.places("shared", onto, 16)
        other, here = self.places("global", source, 16)
        memory[there] = other[here]

    def move(self, parts: list[str], text: str, names: list[str]) -> None:
        width = WIDTHS[parts[-1]]
        space = "shared" if "shared" in parts else "global"
        memory, places = self.places(space, text, width * len(names))
        shifts = 8 * np.arange(width, dtype=np.uint64)
        for number, name in enumerate(names):
            here = places[:, number * width : (number + 1) * width]
            if parts[0] == "st":
                memory[here] = bits(self.value(name)[:, None] >> shifts, 8)
            else:
                word = (memory[here].astype(np.uint64) << shifts).sum(1)
                self.registers[name] = word.astype(np.uint64)


def compute(parts: list[str], v: list[Words]) -> Words:
    """Return the result of one instruction."""
    kind = next((p for p in parts[1:] if re.fullmatch(r"[busf]\d+", p)), "b32")
    size = int(parts[-1][1:]) if parts[0] == "cvt" else int(kind[1:])
    operands = [bits(x, size) for x in v]
    match parts[0]:
        case "mov":
            result = v[0]
        case "xor":
            result = v[0] ^ v[1]
        case "or":
            result = v[0] | v[1]
        case "and":
            result = v[0] & v[1]
        case "add":
            result = v[0] + v[1]
        case "sub":
            result = v[0] - v[1]
        case "neg":
            result = np.uint64(0) - v[0]
        case "shl":
            result = v[0] << v[1]
        case "shr":
            result = operands[0] >> v[1]
        case "mul" | "mad":
            wide = signed if parts[-1].startswith("s") else bits
            a, b = (wide(v[0], size), wide(v[1], size)) if "wide" in parts else v[:2]
            result = a * b + (v[2] if parts[0] == "mad" else np.uint64(0))
            size = 2 * size if "wide" in parts else size
        case "bfe":
            count = int(v[2][0])
            field = bits(operands[0] >> v[1], count)
            result = signed(field, count) if kind.startswith("s") else field
        case "cvt":
            result = signed(v[0], size) if parts[-1].startswith("s") else operands[0]
            size = int(kind[1:])
        case "setp":
            equal = v[0] == v[1]
            result = np.where(equal == (parts[1] == "eq"), np.uint64(1), np.uint64(0))
        case "selp":
            result = np.where(v[2] != 0, v[0], v[1])
        case "prmt":
            both = operands[0] | operands[1] << np.uint64(32)
            result = np.zeros_like(both)
            for place in range(0, 32, 8):
                nibble = bits(v[2] >> np.uint64(place // 2), 3)
                byte = bits(both >> (nibble * np.uint64(8)), 8)
                result |= byte << np.uint64(place)
        case _:
            raise AssertionError(f"an instruction without a meaning: {parts}")
    words: Words = bits(result, size) if size < 64 else result
    return words


@pytest.fixture
def execute() -> Callable[..., None]:
    """Run every program of a kernel over a source and a target."""

    def run(
        ptx: str,
        source: Bytes,
        target: Bytes,
        *,
        shared: int,
        warps: int,
        programs: int,
    ) -> None:
        for program in range(programs):
            Machine(source, target, shared, 32 * warps).run(ptx, program)

    return run


Ints = npt.NDArray[np.int64]
WARP = 32


class BlockMachine:
    """Runs a block of PTX on all threads of a block; shared memory is in words."""

    def __init__(self, made: Block, operands: Sequence[Ints], outputs: int) -> None:
        threads = len(operands[0])
        self.registers: dict[str, Ints] = {}
        self.memory = np.full(1 << 14, -1, np.int64)
        self.threads = np.arange(threads)
        names = {"thread": self.threads}
        for line in made.computed:
            name, _, expression = line.partition(" = ")
            assert re.fullmatch(r"[\w\s&^<>+]+", expression), expression
            names[name] = eval(expression, {}, names) + 0 * self.threads
        given = [names[name] for name in made.given]
        for number, value in enumerate([*operands, *given], start=outputs):
            self.registers[f"${number}"] = value
        for line in made.text.splitlines()[1:-1]:
            self.step(line.strip().rstrip(";"))

    def step(self, line: str) -> None:
        if line.startswith(".") or line.startswith("bar"):
            return
        guard, _, rest = line.partition(" ") if line[0] == "@" else ("", "", line)
        active = np.ones(len(self.threads), bool)
        if guard:
            active = self.registers[guard[1:]].astype(bool)
        opcode, _, text = rest.partition(" ")
        operands = [part.strip() for part in text.split(",")]
        if opcode == "st.shared.b32":
            places = self.value(operands[0].strip("[]"))[active] // 4
            self.memory[places] = self.value(operands[1])[active]
            return
        values = [self.value(o.strip("[]")) for o in operands[1:]]
        self.registers[operands[0]] = self.compute(opcode, values)

    def value(self, name: str) -> Ints:
        if name == "tile":
            return 0 * self.threads
        if name in self.registers:
            return self.registers[name]
        return int(name, 0) + 0 * self.threads

    def compute(self, opcode: str, v: list[Ints]) -> Ints:
        warp = self.threads // WARP * WARP
        lane = self.threads % WARP
        results: dict[str, Callable[[], Ints]] = {
            "mov.b32": lambda: v[0],
            "mov.u32": lambda: v[0],
            "and.b32": lambda: v[0] & v[1],
            "xor.b32": lambda: v[0] ^ v[1],
            "shl.b32": lambda: v[0] << v[1],
            "shr.u32": lambda: v[0] >> v[1],
            "add.u32": lambda: v[0] + v[1],
            "add.s32": lambda: v[0] + v[1],
            "max.s32": lambda: np.maximum(v[0], v[1]),
            "popc.b32": lambda: np.array([int(x).bit_count() for x in v[0]]),
            "setp.ne.b32": lambda: (v[0] != v[1]).astype(np.int64),
            "setp.eq.b32": lambda: (v[0] == v[1]).astype(np.int64),
            "selp.b32": lambda: np.where(v[2] != 0, v[0], v[1]),
            "shfl.sync.bfly.b32": lambda: v[0][warp | (lane ^ v[1])],
            "shfl.sync.idx.b32": lambda: v[0][warp | v[1]],
            "ld.shared.b32": lambda: self.memory[v[0] // 4],
        }
        found: Ints = results[opcode]()
        return found

    def outputs(self, count: int) -> Ints:
        return np.stack([self.registers[f"${i}"] for i in range(count)], axis=1)


@pytest.fixture
def block_machine() -> type[BlockMachine]:
    """What runs blocks of reductions and gathers."""
    return BlockMachine
