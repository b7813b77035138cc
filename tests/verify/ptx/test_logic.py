"""Bit fields and permutes against the PTX manual's pseudo-code."""

from collections.abc import Callable
from random import Random

import pytest

from verify.ptx.machine import Machine

Run = Callable[..., Machine]
MASK = 0xFFFFFFFF


def manual_bfe(a: int, start: int, length: int, kind: str) -> int:
    pos, size, msb = start & 255, length & 255, 31
    sign = 0 if kind == "u" or not size else a >> min(pos + size - 1, msb) & 1
    bits = [
        a >> (pos + i) & 1 if i < size and pos + i <= msb else sign
        for i in range(msb + 1)
    ]
    return sum(bit << i for i, bit in enumerate(bits))


def manual_bfi(a: int, b: int, start: int, length: int) -> int:
    pos, size, msb = start & 255, length & 255, 31
    for i in range(size):
        if pos + i <= msb:
            b = b & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return b


def manual_prmt(a: int, b: int, selector: int) -> int:
    both = [a >> 8 * i & 255 for i in range(4)] + [b >> 8 * i & 255 for i in range(4)]
    total = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = both[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        total |= byte << 8 * i
    return total


def one(run: Run, text: str) -> int:
    values = set(run(text).registers["%r9"].numbers.tolist())
    assert len(values) == 1
    return int(values.pop())


@pytest.mark.parametrize("kind", ["u", "s"])
def test_bfe(run: Run, kind: str) -> None:
    rng = Random(1)
    for start in (0, 1, 5, 31, 32, 40, 260):
        text = f"mov.b32 %r2, {rng.getrandbits(32) | 1 << 31};"
        for i, length in enumerate((0, 1, 8, 27, 31, 32, 33, 255)):
            text += f"bfe.{kind}32 %r{10 + i}, %r2, {start}, {length};"
        registers = run(text).registers
        a = int(registers["%r2"].numbers[0])
        for i, length in enumerate((0, 1, 8, 27, 31, 32, 33, 255)):
            found = int(registers[f"%r{10 + i}"].numbers[0])
            assert found == manual_bfe(a, start, length, kind), (start, length)


def test_bfi(run: Run) -> None:
    rng = Random(2)
    for start in (0, 1, 5, 31, 32, 40):
        for length in (0, 1, 8, 27, 32, 40):
            a, b = rng.getrandbits(32), rng.getrandbits(32)
            found = one(run, f"bfi.b32 %r9, {a}, {b}, {start}, {length};")
            assert found == manual_bfi(a, b, start, length), (start, length)


def test_prmt(run: Run) -> None:
    rng = Random(3)
    for _ in range(20):
        a, b, selector = (rng.getrandbits(32) for _ in range(3))
        found = one(run, f"prmt.b32 %r9, {a}, {b}, {selector};")
        assert found == manual_prmt(a, b, selector)


def test_lop3(run: Run) -> None:
    rng = Random(4)
    for table in (0, 0x80, 0xCA, 0xE8, 0x96, 0x6A, 0xFF, 0x1B):
        a, b, c = (rng.getrandbits(32) for _ in range(3))
        expected = 0
        for bit in range(32):
            place = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
            expected |= (table >> place & 1) << bit
        assert one(run, f"lop3.b32 %r9, {a}, {b}, {c}, {table};") == expected


def test_not(run: Run) -> None:
    assert one(run, "not.b32 %r9, 5;") == MASK - 5


@pytest.mark.parametrize("operation", ["and", "or", "xor"])
@pytest.mark.parametrize("a", [0, 1])
@pytest.mark.parametrize("b", [0, 1])
def test_predicates(run: Run, operation: str, a: int, b: int) -> None:
    text = (
        f"setp.eq.u32 %p1, {a}, 1; setp.eq.u32 %p2, {b}, 1;"
        f"{operation}.pred %p3, %p1, %p2; not.pred %p4, %p3; selp.b32 %r9, 1, 0, %p4;"
    )
    expected = {"and": a & b, "or": a | b, "xor": a ^ b}[operation]
    assert one(run, text) == 1 - expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("and.pred %p3, %p1, %p2;", 0),
        ("not.pred %p4, %p2; or.pred %p3, %p1, %p4;", 1),
        ("xor.pred %p3, %p1, %p2;", None),
        ("not.pred %p3, %p1;", None),
    ],
)
def test_predicates_of_data(run: Run, text: str, expected: int | None) -> None:
    machine = run(
        "ld.global.b32 %r2, [%rd3]; setp.eq.b32 %p1, %r2, 0; setp.ne.b32 %p2, 0, 0;"
        + text
    )
    found = machine.registers["%p3"]
    if expected is None:
        assert found.codes is not None
    else:
        assert found.is_number
        assert set(found.numbers.tolist()) == {expected}


@pytest.mark.parametrize(
    ("text", "bytes_of"),
    [
        ("and.b32 %r3, %r2, 0xFF00;", [-1, 2, -1, -1]),
        ("or.b32 %r3, %r2, 0;", [1, 2, 3, 4]),
        ("or.b32 %r3, %r2, -16777216;", [1, 2, 3, -256]),
        ("xor.b32 %r3, %r2, %r2;", [-1, -1, -1, -1]),
        ("not.b32 %r4, %r2; not.b32 %r3, %r4;", [1, 2, 3, 4]),
        ("prmt.b32 %r3, %r2, 0, 0x4123;", [4, 3, 2, -1]),
        ("bfe.u32 %r3, %r2, 8, 16;", [2, 3, -1, -1]),
        ("bfi.b32 %r3, %r2, 0, 16, 16;", [-1, -1, 1, 2]),
        ("lop3.b32 %r3, %r2, 7, 0xFFFF, 0xCA;", [1, 2, 3, 4]),
        ("and.b32 %r3, %r2, 7; and.b32 %r3, %r3, 0;", [-1, -1, -1, -1]),
    ],
)
def test_whole_bytes_of_data(run: Run, text: str, bytes_of: list[int]) -> None:
    found = run("ld.global.b32 %r2, [%rd3];" + text).registers["%r3"]
    if "0xCA" in text:  # a ? b : c with data as the choice
        assert found.codes is not None
        assert found.codes[0].min() < -256
        return
    codes = [-1] * 4 if found.codes is None else found.codes[0].tolist()
    assert codes == bytes_of


def test_a_choice_by_mask(run: Run) -> None:
    text = """
    ld.global.b32 %r2, [%rd3]; ld.global.b32 %r4, [%rd3+4]; mov.b32 %r5, 0xFF00FF00;
    lop3.b32 %r3, %r5, %r2, %r4, 0xCA;"""
    codes = run(text, elements=64).registers["%r3"].codes
    assert codes is not None
    assert codes[0].tolist() == [5, 2, 7, 4]


def test_low_bits_of_pointers(run: Run) -> None:
    text = "mov.b32 %r2, smem; or.b32 %r3, %r2, 12; xor.b32 %r4, %r3, 4;"
    registers = run(text).registers
    assert registers["%r4"].base == "smem"
    assert set(registers["%r4"].numbers.tolist()) == {8}
    text = "mov.b32 %r2, smem; or.b32 %r3, %r2, 16;"
    assert run(text).registers["%r3"].base is None
    text = "and.b64 %rd5, %rd3, -16;"
    found = run(text).registers["%rd5"]
    assert found.base == "the input"
    assert found.numbers.tolist() == [4 * t & -16 for t in range(32)]


@pytest.mark.parametrize(
    "text",
    [
        "bfe.u32 %r3, %r2, 4, 8;",
        "bfe.s32 %r3, %r2, 8, 8;",
        "bfi.b32 %r3, %r2, 0, 4, 8;",
        "prmt.b32 %r3, %r2, 0, 0x8888;",
        "prmt.b32 %r3, %r1, 0, %r2;",
        "bfe.u32 %r3, %r1, %r2, 8;",
        "bfi.b32 %r3, %r1, 0, %r2, 8;",
    ],
)
def test_what_is_not_known_of_data(run: Run, text: str) -> None:
    machine = run("ld.global.b32 %r2, [%rd3];" + text)
    codes = machine.registers["%r3"].codes
    assert codes is not None
    assert machine.table.reason(int(codes.min()))
