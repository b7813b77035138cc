from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compiler.ir import index
from compiler.ir.check import SpecError
from compiler.ir.check_schedule import check_schedule
from compiler.ir.expression import Expression
from compiler.ir.index import contiguous_strides
from compiler.ir.kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
)
from compiler.ir.node import Alias, Axis, Buffer, Extern, Reference
from compiler.ir.scalar import apply, load, local

i, j = index.digit("i"), index.digit("j")


def buffer(name: str, *shape: int, dtype: str = "float32") -> Buffer:
    extents = tuple(map(index.index, shape))
    return Buffer(name, dtype, extents, "cpu", contiguous_strides(extents))


def axis(digit: Expression, extent: int) -> Axis:
    return Axis(digit, index.index(extent))


x = load("x", (i, j), "float32")
SUM = Reduction(("s",), "sum", (x,), ("float32",))
STORE = Store("y", (i, j), apply("sub", x, local("s", "float32")), True)
ROWS = Kernel(
    "rows",
    (axis(i, 3),),
    (axis(j, 4),),
    (SUM, STORE, Store("t", (i,), local("s", "float32"), False)),
    {b.name: b for b in (buffer("x", 3, 4), buffer("y", 3, 4), buffer("t", 3))},
)
TWICE = Kernel(
    "twice",
    (axis(i, 3),),
    (),
    (
        Store(
            "u",
            (i,),
            apply("add", load("t", (i,), "float32"), load("t", (i,), "float32")),
            False,
        ),
    ),
    {b.name: b for b in (buffer("t", 3), buffer("u", 3))},
)
STEPS: tuple[Any, ...] = (
    Allocate(buffer("y", 3, 4)),
    Allocate(buffer("t", 3)),
    ROWS,
    Allocate(buffer("u", 3), reuse="t"),
    TWICE,
    Alias(buffer("v", 12), "y"),
    Extern((buffer("e", 3),), max, (Reference("u"),), {}),
    Free("u"),
)


def schedule(steps: tuple[Any, ...] = STEPS) -> Schedule:
    return Schedule((buffer("x", 3, 4),), steps, ("v", "e"))


def test_a_schedule_that_keeps_the_rules() -> None:
    check_schedule(schedule())


def without(number: int) -> tuple[Any, ...]:
    return STEPS[:number] + STEPS[number + 1 :]


def with_rows(**parts: Any) -> tuple[Any, ...]:
    return (*STEPS[:2], replace(ROWS, **parts), *STEPS[3:])


def with_store(**parts: Any) -> tuple[Any, ...]:
    return with_rows(stages=(SUM, replace(STORE, **parts), ROWS.stages[2]))


FAULTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "y is used before it is made": lambda: without(0),
    "t is read before it is written": lambda: without(2),
    "made twice": lambda: (STEPS[0], *STEPS),
    "freed": lambda: (*STEPS[:6], Free("u"), *STEPS[6:]),
    "reused by u": lambda: (*STEPS, Free("t")),
    "of int32 reuses float32": lambda: (
        *STEPS[:3],
        Allocate(buffer("u", 3, dtype="int32"), reuse="t"),
        *STEPS[4:],
    ),
    "as an output": lambda: without(6)[:-1],
    "two kernels": lambda: (*STEPS[:3], ROWS, *STEPS[3:]),
    "read before its stage": lambda: with_rows(stages=ROWS.stages[1:]),
    "s is float32, read as int32": lambda: with_store(value=local("s", "int32")),
    "which is not listed": lambda: with_store(buffer="q"),
    "said to be distinct": lambda: with_store(target=(i, index.index(0))),
    "leaves y": lambda: with_store(target=(i, index.add(j, 1))),
    "belongs to no loop": lambda: with_store(inner=False),
    "and written at": lambda: with_store(
        value=load("y", (i, index.sub(3, j)), "float32")
    ),
    "two stages give s": lambda: with_rows(stages=(SUM, *ROWS.stages)),
    "the strides of x": lambda: with_rows(
        buffers={**ROWS.buffers, "x": replace(ROWS.buffers["x"], strides=None)}
    ),
    "is listed as z": lambda: with_rows(
        buffers={**ROWS.buffers, "z": buffer("y", 3, 4)}
    ),
    "a scan along 0 axes": lambda: (
        *STEPS[:2],
        replace(
            TWICE,
            buffers=ROWS.buffers,
            stages=(Prefix(("p",), "sum", load("x", (i, i), "float32"), ("float32",)),),
        ),
    ),
}


@pytest.mark.parametrize("words", FAULTS)
def test_planted_faults_are_found(words: str) -> None:
    with pytest.raises(SpecError) as found:
        check_schedule(schedule(FAULTS[words]()))
    assert any(words in fault for fault in found.value.faults)
