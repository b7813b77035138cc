from collections.abc import Callable

import pytest

from verify.ptx.halt import FaultError, UnsupportedError
from verify.ptx.machine import Machine

Run = Callable[..., Machine]
LOAD = "ld.global.b32 %r2, [%rd3]; ld.global.b32 %r3, [%rd3+4];"


def codes(machine: Machine, register: str, thread: int = 0) -> list[int]:
    found = machine.registers[register].codes
    assert found is not None
    return [int(code) for code in found[thread]]


def test_unpack_and_pack(run: Run) -> None:
    text = "mov.b32 {%rs1, %rs2}, %r2; mov.b32 %r4, {%rs2, %rs1};"
    assert codes(run(LOAD + text), "%r4") == [3, 4, 1, 2]


def test_the_sink(run: Run) -> None:
    machine = run(LOAD + "mov.b32 {_, %rs2}, %r2;")
    assert codes(machine, "%rs2") == [3, 4]


def test_wide_words(run: Run) -> None:
    text = "mov.b64 %rd5, {%r3, %r2}; mov.b64 {%r4, %r5}, %rd5;"
    machine = run(LOAD + text)
    assert codes(machine, "%rd5") == [5, 6, 7, 8, 1, 2, 3, 4]
    assert codes(machine, "%r5") == [1, 2, 3, 4]


def test_selp(run: Run) -> None:
    text = "setp.lt.u32 %p1, %r1, 3; selp.b32 %r4, %r2, %r3, %p1;"
    machine = run(LOAD + text)
    assert codes(machine, "%r4", 2) == [9, 10, 11, 12]
    assert codes(machine, "%r4", 3) == [17, 18, 19, 20]


@pytest.mark.parametrize(
    ("text", "register", "expected"),
    [
        ("cvt.u16.u32 %rs1, %r1;", "%rs1", lambda t: t),
        ("sub.s32 %r4, %r1, 9; cvt.s64.s32 %rd5, %r4;", "%rd5", lambda t: t - 9),
        ("sub.s32 %r4, %r1, 9; cvt.u64.u32 %rd5, %r4;", "%rd5", lambda t: t - 9),
        ("add.s32 %r4, %r1, 120; cvt.s32.s8 %r5, %r4;", "%r5", lambda t: t + 120),
        ("add.s32 %r4, %r1, 250; cvt.u32.u8 %r5, %r4;", "%r5", lambda t: t + 250),
    ],
)
def test_cvt_of_numbers(
    run: Run, text: str, register: str, expected: Callable[[int], int]
) -> None:
    found = run(text).registers[register]
    for thread in range(32):
        value = expected(thread)
        if "s8" in text:
            value = (value + 128) % 256 - 128
        if "u8" in text:
            value %= 256
        if "u64.u32" in text:
            value %= 1 << 32
        assert found.numbers[thread] == value % (1 << found.bits)


def test_cvt_of_data(run: Run) -> None:
    machine = run(LOAD + "cvt.u16.u32 %rs1, %r2; cvt.u32.u16 %r4, %rs1;")
    assert codes(machine, "%r4") == [1, 2, -1, -1]
    machine = run(LOAD + "cvt.s32.s8 %r4, %r2;")
    assert "sign" in machine.table.reason(codes(machine, "%r4")[1])


def manual_shfl(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Return source lane and predicate, as the PTX manual computes them."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & mask) | (cval & ~mask & 31)
    min_lane = lane & mask
    if mode == "up":
        j = lane - bval
        p = j >= max_lane
    elif mode == "down":
        j = lane + bval
        p = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        p = j <= max_lane
    else:
        j = min_lane | (bval & ~mask & 31)
        p = j <= max_lane
    return (j if p else lane), p


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("b", [0, 1, 3, 16, 31])
@pytest.mark.parametrize("c", [31, 0, 7, 0x1C1F, 0x100F])
def test_shfl(run: Run, mode: str, b: int, c: int) -> None:
    text = f"shfl.sync.{mode}.b32 %r4|%p1, %r1, {b}, {c}, -1;"
    registers = run(text, threads=64).registers
    for thread in range(64):
        lane, inside = manual_shfl(mode, thread % 32, b, c)
        assert registers["%r4"].numbers[thread] == thread // 32 * 32 + lane
        assert registers["%p1"].numbers[thread] == inside


def test_shfl_of_data(run: Run) -> None:
    text = "xor.b32 %r4, %r1, 5; shfl.sync.idx.b32 %r5, %r2, %r4, 31, -1;"
    assert codes(run(LOAD + text), "%r5", 1)[0] == 4 * 4 + 1


def test_a_lane_outside_the_mask(run: Run) -> None:
    with pytest.raises(FaultError, match="shuffle outside its mask"):
        run("shfl.sync.bfly.b32 %r4, %r1, 1, 31, 0xFFFF;")


def test_a_lane_that_sleeps(run: Run) -> None:
    machine = run(
        "setp.lt.u32 %p1, %r1, 16; @%p1 shfl.sync.bfly.b32 %r4, %r1, 16, 31, -1;"
    )
    assert "takes no part" in machine.table.reason(codes(machine, "%r4")[0])


def test_a_lane_from_data(run: Run) -> None:
    with pytest.raises(UnsupportedError, match="a lane depends on data"):
        run(LOAD + "shfl.sync.idx.b32 %r4, %r1, %r2, 31, -1;")
