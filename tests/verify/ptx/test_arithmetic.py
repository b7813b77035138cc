"""Numbers against what the PTX manual says, in Python integers."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from verify.ptx.machine import Machine

Run = Callable[..., Machine]
MASK = 0xFFFFFFFF
EDGES = [0, 1, 2, 7, 8, 31, 32, 33, 255, 256, 0x7FFFFFFF, 0x80000000, MASK]


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def pairs(count: int) -> list[tuple[int, int]]:
    rng = Random(0)
    return [(a, b) for a in EDGES for b in EDGES] + [
        (rng.getrandbits(32), rng.getrandbits(32)) for _ in range(count)
    ]


def shift_left(a: int, b: int) -> int:
    return a << b if b < 32 else 0


def shift_right(a: int, b: int) -> int:
    return a >> b if b < 32 else 0


BINARY: dict[str, Callable[[int, int], int]] = {
    "add.s32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.s32": lambda a, b: a * b,
    "min.s32": lambda a, b: min(signed(a), signed(b)),
    "max.s32": lambda a, b: max(signed(a), signed(b)),
    "min.u32": min,
    "max.u32": max,
    "shl.b32": shift_left,
    "shr.u32": shift_right,
    "shr.s32": lambda a, b: signed(a) >> min(b, 31),
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("opcode", BINARY)
def test_two_operands(run: Run, opcode: str) -> None:
    cases = pairs(30)
    body = "".join(
        f"mov.b32 %r2, {a}; mov.b32 %r3, {b}; {opcode} %r{4 + i % 30}, %r2, %r3;"
        for i, (a, b) in enumerate(cases[-30:])
    )
    machine = run(body)
    for i, (a, b) in enumerate(cases[-30:]):
        found = machine.registers[f"%r{4 + i % 30}"].numbers.tolist()
        assert set(found) == {BINARY[opcode](a, b) & MASK}, (a, b)


@pytest.mark.parametrize("opcode", BINARY)
def test_two_operands_at_the_edges(run: Run, opcode: str) -> None:
    """A thread for each second operand."""
    for a in EDGES:
        body = f"mov.b32 %r2, {a}; mov.b32 %r3, 0;"
        for thread, b in enumerate(EDGES):
            body += f"setp.eq.u32 %p1, %r1, {thread}; selp.b32 %r3, {b}, %r3, %p1;"
        found = run(body + f"{opcode} %r4, %r2, %r3;").registers["%r4"].numbers
        expected = [BINARY[opcode](a, b) & MASK for b in EDGES]
        assert found.tolist()[: len(EDGES)] == expected


@pytest.mark.parametrize(
    ("text", "register", "expected"),
    [
        ("neg.s32 %r2, %r1;", "%r2", lambda t: -t & MASK),
        ("sub.s32 %r2, %r1, 9; abs.s32 %r3, %r2;", "%r3", lambda t: abs(t - 9)),
        ("mul.wide.s32 %rd5, %r1, -3;", "%rd5", lambda t: -3 * t & (1 << 64) - 1),
        ("mul.wide.u32 %rd5, %r1, -3;", "%rd5", lambda t: t * (MASK - 2)),
        ("mad.lo.s32 %r2, %r1, 5, 7;", "%r2", lambda t: 5 * t + 7),
        ("mad.wide.u32 %rd5, %r1, 5, 7;", "%rd5", lambda t: 5 * t + 7),
        ("mov.b64 %rd5, 1; shl.b64 %rd5, %rd5, %r1;", "%rd5", lambda t: 1 << t),
        (
            "mov.b32 %r2, 0x12345678; mov.b32 %r3, 0x9ABCDEF0;"
            "shf.l.wrap.b32 %r4, %r2, %r3, %r1;",
            "%r4",
            lambda t: 0x9ABCDEF012345678 << t >> 32 & MASK,
        ),
        (
            "mov.b32 %r2, 0x12345678; mov.b32 %r3, 0x9ABCDEF0;"
            "shf.r.wrap.b32 %r4, %r2, %r3, %r1;",
            "%r4",
            lambda t: 0x9ABCDEF012345678 >> t & MASK,
        ),
    ],
)
def test_a_result_a_thread(
    run: Run, text: str, register: str, expected: Callable[[int], int]
) -> None:
    found = run(text).registers[register].numbers.tolist()
    assert found == [expected(thread) for thread in range(32)]


@pytest.mark.parametrize(
    ("compare", "expected"),
    [
        ("eq.s32", lambda a, b: a == b),
        ("ne.b32", lambda a, b: a != b),
        ("lt.s32", lambda a, b: signed(a) < signed(b)),
        ("le.s32", lambda a, b: signed(a) <= signed(b)),
        ("gt.u32", lambda a, b: a > b),
        ("ge.u32", lambda a, b: a >= b),
        ("lo.u32", lambda a, b: a < b),
        ("hi.u32", lambda a, b: a > b),
    ],
)
def test_comparisons(
    run: Run, compare: str, expected: Callable[[int, int], bool]
) -> None:
    for a, b in [(0, 0), (1, MASK), (MASK, 1), (0x80000000, 0x7FFFFFFF)]:
        text = f"mov.b32 %r2, {a}; mov.b32 %r3, {b}; setp.{compare} %p1|%p2, %r2, %r3;"
        registers = run(text).registers
        assert registers["%p1"].numbers.all() == expected(a, b)
        assert registers["%p2"].numbers.any() != expected(a, b)


def test_pointers_keep_their_base(run: Run) -> None:
    text = "add.s64 %rd5, %rd3, 8; sub.s64 %rd6, %rd5, 4; sub.s64 %rd7, %rd6, %rd3;"
    registers = run(text).registers
    assert registers["%rd6"].base == "the input"
    assert registers["%rd6"].numbers.tolist() == [4 * t + 4 for t in range(32)]
    assert registers["%rd7"].is_number
    assert set(registers["%rd7"].numbers.tolist()) == {4}


@pytest.mark.parametrize(
    ("text", "bytes_of"),
    [
        ("shl.b32 %r3, %r2, 8;", [None, 0, 1, 2]),
        ("shr.u32 %r3, %r2, 16;", [2, 3, None, None]),
        ("shl.b32 %r3, %r2, 32;", [None] * 4),
        ("add.s32 %r3, %r2, 0;", [0, 1, 2, 3]),
        ("shf.l.wrap.b32 %r3, %r2, %r2, 8;", [3, 0, 1, 2]),
        ("mul.lo.u32 %r3, %r2, 256;", [None, 0, 1, 2]),
        ("mul.lo.u32 %r3, 65536, 1; mul.lo.u32 %r3, %r2, %r3;", [None, None, 0, 1]),
        ("shf.r.clamp.b32 %r3, %r2, 0, 8;", [1, 2, 3, None]),
    ],
)
def test_whole_bytes_of_data(run: Run, text: str, bytes_of: list[Any]) -> None:
    found = run("ld.global.b32 %r2, [%rd3];" + text).registers["%r3"]
    for thread in (0, 5):
        expected = [-1 if b is None else 4 * thread + b + 1 for b in bytes_of]
        codes = [-1] * 4 if found.codes is None else found.codes[thread].tolist()
        assert codes == expected


@pytest.mark.parametrize(
    "text",
    [
        "shl.b32 %r3, %r2, 4;",
        "add.s32 %r3, %r2, 1;",
        "mul.lo.s32 %r3, %r2, 2;",
        "mul.lo.u32 %r3, %r2, 2;",
        "mul.lo.u32 %r3, %r2, 768;",
        "mul.lo.u32 %r3, 256, %r2;",
        "mad.lo.s32 %r3, %r2, 2, 1;",
        "min.s32 %r3, %r2, 2;",
        "neg.s32 %r3, %r2;",
        "shl.b32 %r3, 1, %r2;",
        "shr.s32 %r3, %r2, 8;",
        "shf.l.wrap.b32 %r3, %r2, %r2, %r2;",
        "setp.eq.s32 %p1, %r2, 0; selp.b32 %r3, 1, 2, %p1;",
    ],
)
def test_what_is_not_known_of_data(run: Run, text: str) -> None:
    machine = run("ld.global.b32 %r2, [%rd3];" + text)
    codes = machine.registers["%r3"].codes
    assert codes is not None
    assert machine.table.reason(int(codes.min()))
