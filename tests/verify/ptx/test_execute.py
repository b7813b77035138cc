from collections.abc import Callable

import pytest

from verify.ptx.execute import HANDLERS
from verify.ptx.halt import FaultError, UnsupportedError
from verify.ptx.machine import Machine

Run = Callable[..., Machine]


def test_a_branch_forward(run: Run) -> None:
    text = """
    setp.lt.u32 %p1, %r1, 8; mov.b32 %r2, 1;
    @%p1 bra DONE;
    mov.b32 %r2, 2;
    DONE:
    add.s32 %r3, %r2, 10;"""
    found = run(text).registers["%r3"].numbers.tolist()
    assert found == [11] * 8 + [12] * 24


def test_two_ways_that_meet(run: Run) -> None:
    text = """
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra FIRST;
    mov.b32 %r2, 2; bra.uni BOTH;
    FIRST: mov.b32 %r2, 1;
    BOTH: add.s32 %r3, %r2, 10;"""
    found = run(text).registers["%r3"].numbers.tolist()
    assert found == [11] * 8 + [12] * 24


def test_who_returns_does_no_more(run: Run) -> None:
    text = "setp.lt.u32 %p1, %r1, 8; mov.b32 %r2, 1; @%p1 ret; mov.b32 %r2, 2;"
    machine = run(text)
    assert machine.registers["%r2"].numbers.tolist() == [1] * 8 + [2] * 24
    assert machine.branched


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HERE: bra HERE;", "a loop"),
        ("setp.lt.u32 %p1, %r1, 8; @%p1 bar.sync 0;", "not all threads reach"),
        ("setp.lt.u32 %p1, %r1, 8; @%p1 ret; bar.sync 0;", "not all threads reach"),
        ("bar.warp.sync 255;", "a part of a warp"),
        ("bar.arrive 0, 64;", "this kind of barrier"),
        ("bar.sync %r1;", "chosen at run time"),
        ("mma.sync.aligned.m16n8k16 %r1, %r1, %r1;", "unknown opcode"),
        ("setp.ne.u32 %p1, 0, 0; @%p1 call f;", "unknown opcode"),
        ("brx.idx %r1, TABLE;", "unknown opcode"),
        ("setp.lt.u32 %p1, %r1, 8; @%p1 bra %r1;", "this form of branch"),
    ],
)
def test_what_is_not_modelled(run: Run, text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run(text)


@pytest.mark.parametrize(
    "text",
    [
        "bar.sync 0;",
        "barrier.sync 0, 64;",
        "barrier.cta.sync.aligned 1;",
        "fence.acq_rel.cta;",
    ],
)
def test_barriers_and_fences(run: Run, text: str) -> None:
    run(text, threads=64)


def test_a_trap_that_nobody_reaches(run: Run) -> None:
    run("setp.gt.u32 %p1, %r1, 99; @%p1 trap;")
    with pytest.raises(FaultError, match="trap: thread 3"):
        run("setp.eq.u32 %p1, %r1, 3; @%p1 trap;")


@pytest.mark.parametrize("opcode", sorted(HANDLERS))
def test_each_opcode_rejects_strange_modifiers(run: Run, opcode: str) -> None:
    """Never a pass: a modifier that is not read would be one that is ignored."""
    with pytest.raises(UnsupportedError):
        run(f"{opcode}.strange.b32 %r2, [%r1], %r1, %r1;")
