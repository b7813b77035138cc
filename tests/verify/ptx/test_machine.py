from collections.abc import Callable

import pytest

from verify.ptx.halt import UnsupportedError
from verify.ptx.machine import Machine

Run = Callable[..., Machine]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("%tid.x", lambda t: t),
        ("%tid.y", lambda t: 0),
        ("%ntid.x", lambda t: 64),
        ("%ntid.z", lambda t: 1),
        ("%laneid", lambda t: t % 32),
    ],
)
def test_special_registers(run: Run, name: str, expected: Callable[[int], int]) -> None:
    found = run(f"mov.u32 %r2, {name};", threads=64).registers["%r2"].numbers
    assert found.tolist() == [expected(thread) for thread in range(64)]


@pytest.mark.parametrize("name", ["%ctaid.x", "%nctaid.x", "%warpid", "%clock"])
def test_what_the_cta_does_not_fix(run: Run, name: str) -> None:
    machine = run(f"mov.u32 %r2, {name};")
    codes = machine.registers["%r2"].codes
    assert codes is not None
    assert name in machine.table.reason(int(codes[0, 0]))


def test_a_guard_leaves_the_rest_alone(run: Run) -> None:
    text = "setp.lt.u32 %p1, %r1, 4; mov.b32 %r2, 1; @!%p1 mov.b32 %r2, 2;"
    assert run(text).registers["%r2"].numbers.tolist() == [1] * 4 + [2] * 28


def test_a_register_written_in_some_threads(run: Run) -> None:
    machine = run("setp.lt.u32 %p1, %r1, 4; @%p1 mov.b32 %r2, 1;")
    codes = machine.registers["%r2"].codes
    assert codes is not None
    assert codes[0].tolist() == [-2, -1, -1, -1]
    assert machine.table.is_undefined(int(codes[4, 0]))


def test_a_pointer_in_some_threads(run: Run) -> None:
    text = "setp.lt.u32 %p1, %r1, 4; mov.b64 %rd5, 0; @%p1 mov.b64 %rd5, %rd3;"
    machine = run(text)
    codes = machine.registers["%rd5"].codes
    assert codes is not None
    assert "pointer" in machine.table.reason(int(codes[0, 0]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov.b32 %x1, 0;", "%x1 is not declared"),
        ("mov.b32 %r2, %x1;", "%x1 is not declared"),
        ("mov.b64 %rd5, %r1;", "%r1 is narrower"),
        ("mov.b32 %rd5, 0;", "%rd5 has 64 bits"),
        ("mov.b32 %r2, elsewhere;", "elsewhere is no shared variable"),
        ("mov.b32 5, %r1;", "a register was needed"),
        ("mov.b32 %r2, [%r1];", "this form of operand"),
        ("mov.b32 %r2, [%r1, {%r2}];", "this form of operand"),
        ("selp.b32 %r2, 1, 2, !%p1;", "this form of operand"),
    ],
)
def test_operands_that_do_not_fit(run: Run, text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run(text)


def test_part_of_a_pointer(run: Run) -> None:
    machine = run("mov.b32 %r2, %rd3;")
    assert machine.registers["%r2"].codes is not None


def test_shared_variables_have_places(run: Run) -> None:
    text = """
    .shared .align 8 .b8 mine[12];
    .shared .b64 one;
    mov.b32 %r2, mine; mov.b32 %r3, one; mov.b32 %r4, smem;"""
    machine = run(text)
    assert machine.extents == {
        "smem": (0, 4096),
        "mine": (4096, 4108),
        "one": (4108, 4116),
    }
    assert machine.shared.size == 4116
    assert machine.registers["%r3"].base == "one"
    assert [machine.alignment(n) for n in ("mine", "one", "smem")] == [8, 8, 16]
