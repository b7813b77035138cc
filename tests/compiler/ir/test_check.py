from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compiler.ir import index
from compiler.ir.check import SpecError, check_program
from compiler.ir.expression import Expression
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
)
from compiler.ir.scalar import apply, cast, constant, load

i, j = index.digit("i"), index.digit("j")


def buffer(name: str, *shape: Any, dtype: str = "float32", **more: Any) -> Buffer:
    return Buffer(name, dtype, tuple(map(index.index, shape)), "cpu", **more)


def axis(digit: Expression, extent: Any) -> Axis:
    return Axis(digit, index.index(extent))


x = load("x", (i, j), "float32")
NODES: dict[str, Any] = {
    "total": Reduce((buffer("total", 3),), (axis(i, 3),), (axis(j, 4),), "sum", (x,)),
    "map": Map(
        buffer("map", 3, 4),
        (axis(i, 3), axis(j, 4)),
        apply("sub", x, load("total", (i,), "float32")),
    ),
    "scan": Scan((buffer("scan", 3, 4),), (axis(i, 3), axis(j, 4)), 1, "sum", x),
    "scatter": Scatter(
        buffer("scatter", 3, 4),
        "x",
        (axis(i, 3),),
        (i, index.index(1)),
        load("total", (i,), "float32"),
        "add",
    ),
    "view": Alias(
        buffer("view", 4, 3, strides=(index.index(1), index.index(4))), "map"
    ),
    "call": Extern(
        (buffer("call", 3),), max, (Reference("view"), [Reference("x")]), {}
    ),
    "assign": Assign("x", (axis(i, 3), axis(j, 4)), load("scan", (i, j), "float32")),
}


def program(**changed: Any) -> Program:
    nodes = {**NODES, **changed}
    outputs = ("map", "scatter", "call", index.symbol("s"), None)
    return Program(
        (buffer("x", 3, 4), index.symbol("s")), tuple(nodes.values()), outputs
    )


def test_a_program_that_keeps_the_rules() -> None:
    check_program(program())


def node(name: str, **parts: Any) -> Callable[[], Program]:
    return lambda: program(**{name: replace(NODES[name], **parts)})


FAULTS: dict[str, Callable[[], Program]] = {
    "written twice": node("scan", buffers=(buffer("map", 3, 4),)),
    "fill an array of shape": node("map", buffer=buffer("map", 4, 3)),
    "a value of float64": node("map", value=cast(x, "float64")),
    "not distinct digits": node("map", axes=(axis(i, 3), axis(i, 4))),
    "the reducer mean": node("total", reducer="mean"),
    "gives int64, not": node("total", reducer="argmax"),
    "takes 1 and gives 3": node("total", reducer="welford"),
    "sum of truth": node("total", values=(apply("lt", x, x),)),
    "accumulates in float16": node(
        "total",
        values=(cast(x, "float16"),),
        buffers=(buffer("total", 3, dtype="float16"),),
    ),
    "any of float32": node("total", reducer="any"),
    "axis 2 of 2": node("scan", along=2),
    "the scan mean": node("scan", kind="mean"),
    "a scan argmax": node("scan", kind="argmax"),
    "base y is not there": node("scatter", base="y"),
    "another shape or type": node("scatter", base="total"),
    "the mode swap": node("scatter", mode="swap"),
    "1 indices into scatter": node("scatter", target=(i,)),
    "leaves scatter": node("scatter", target=(index.add(i, 1), index.index(1))),
    "the condition of a write": node("scatter", condition=constant(1.0, "float32")),
    "assigns to what is no input": node("assign", target="map"),
    "a view has no strides": node("view", buffer=buffer("view", 4, 3)),
    "base q is not there": node("view", base="q"),
    "as int16": node(
        "view", buffer=buffer("view", 1, dtype="int16", strides=(index.index(1),))
    ),
    "the argument q": node("call", args=(Reference("q"),)),
    "it writes q": node("call", mutates=("q",)),
    "has the extent -1": node("call", outputs=(buffer("call", -1),)),
    "has 1 strides": node("call", outputs=(buffer("call", 3, 3, strides=(i,)),)),
    "the type complex64": node("map", buffer=buffer("map", 3, 4, dtype="complex64")),
    "the output lost": lambda: replace(program(), outputs=("lost",)),
    "s is not among": lambda: replace(program(), inputs=(buffer("x", 3, 4),)),
    "reads an array that is not there": lambda: replace(
        program(), nodes=(NODES["map"], NODES["total"]), outputs=()
    ),
}


@pytest.mark.parametrize("words", FAULTS)
def test_planted_faults_are_found(words: str) -> None:
    with pytest.raises(SpecError) as found:
        check_program(FAULTS[words]())
    assert any(words in fault for fault in found.value.faults)


def test_a_view_that_leaves_its_base_is_found() -> None:
    strides = (index.index(4), index.index(1))
    base = replace(NODES["map"], buffer=buffer("map", 3, 4, strides=strides))
    wide = buffer("view", 4, 4, strides=strides)
    with pytest.raises(SpecError, match="reaches element 15 of 12"):
        check_program(program(map=base, view=replace(NODES["view"], buffer=wide)))
