import pytest

from compiler.ir import index
from compiler.ir.expression import Expression, make
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, cast, checked_index, constant, load, local
from compiler.ir.wellformed import Scope

i, j = index.digit("i"), index.digit("j")
X = Buffer("x", "float32", (index.index(4),), "cpu")
HALF = Buffer("h", "float16", (index.index(4),), "cpu")
SCOPE = Scope(
    {"x": X, "h": HALF}, (Axis(i, index.index(4)),), frozenset(), {"m": "int64"}
)

x = load("x", (i,), "float32")
half = load("h", (i,), "float16")

GOOD = [
    x,
    cast(apply("exp", cast(half, "float32")), "float16"),
    apply("guard", apply("lt", x, x), load("x", (index.add(i, 9),), "float32"), x),
    load("x", (checked_index(local("m", "int64"), 4),), "float32"),
    load("x", (index.mod(index.add(i, 2), 4),), "float32"),
    load("x", (index.sub(3, i),), "float32"),
]

BAD = {
    "leaves its array": load("x", (index.add(i, 1),), "float32"),
    "belongs to no loop": load("x", (j,), "float32"),
    "not there": load("y", (i,), "float32"),
    "reads float32 as int32": load("x", (i,), "int32"),
    "has 2 indices": load("x", (i, i), "float32"),
    "before its stage": local("q", "float32"),
    "is int64, read as float32": local("m", "float32"),
    "not among the inputs": load("x", (index.symbol("s"),), "float32"),
    "computes in float16": make("add", (half, half), "float16"),
    "have types": make("add", (x, half), "float32"),
    "gives bool": make("lt", (x, x), "float32"),
    "the condition of where": make("where", (x, x, x), "float32"),
    "no operation frobnicate": make("frobnicate", (x,), "float32"),
    "no operation add of 1": make("add", (x,), "float32"),
    "divides by 0": load(
        "x", (make("floordiv", (i, index.index(0)), "index"),), "float32"
    ),
    "wider or narrower": make("bitcast", (x,), "int16"),
    "takes an integer": load(
        "x", (make("checked_index", (x, index.index(4)), "index", True),), "float32"
    ),
    "read at a value": make("load", (constant(0, "int64"),), "float32", "x"),
    "takes two int64": make("random_bits", (x, x), "int32"),
}


@pytest.mark.parametrize("value", GOOD)
def test_what_is_well_formed(value: Expression) -> None:
    assert not list(SCOPE.faults(value))


@pytest.mark.parametrize("words", BAD)
def test_what_is_not(words: str) -> None:
    assert any(words in fault for fault in SCOPE.faults(BAD[words]))


def test_loops_that_never_run_leave_nothing() -> None:
    empty = Scope({"x": X}, (Axis(i, index.index(0)),), frozenset())
    assert not list(empty.faults(load("x", (index.add(i, 9),), "float32")))
