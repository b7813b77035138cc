"""Definitions of a program's arrays, and contents that change in place."""

from compiler.ir.expression import make
from compiler.ir.index import digit, index
from compiler.ir.kernel import Allocate, Schedule
from compiler.ir.node import Alias, Assign, Axis, Buffer, Extern, Map, Program, Reduce
from verify.obligations.definitions import (
    Definitions,
    Storage,
    scheduled_arrays,
    shared,
)

ROW = digit("i")
FOUR = Axis(ROW, index(4))


def array(name: str) -> Buffer:
    return Buffer(name, "float32", (index(4),), "cpu", (index(1),))


def test_contents_are_told_apart_by_what_was_changed_before() -> None:
    before = make("load", (ROW,), "float32", "x")
    program = Program(
        (array("x"),),
        (
            Alias(array("view"), "x"),
            Map(array("y"), (FOUR,), before),
            Assign("x", (FOUR,), make("load", (ROW,), "float32", "y")),
            Map(array("z"), (FOUR,), make("load", (ROW,), "float32", "view")),
            Extern((), None, (), {}, mutates=("x",)),
            Map(array("w"), (FOUR,), before),
        ),
        ("z",),
    )
    found = Definitions.read(program)
    assert found.of["y"].values[0].data == "x"
    assert found.of["z"].values[0].data == "view@1"
    assert found.of["w"].values[0].data == "x@2"
    changes = found.writes["x"]
    assert changes[0] is not None and changes[0].values[0].data == "y"
    assert changes[1] is None


def test_each_result_of_a_reduction_has_its_number() -> None:
    buffers = (array("m"), array("s"))
    inner = Axis(digit("r"), index(3))
    value = make("load", (ROW,), "float32", "x")
    node = Reduce(buffers, (FOUR,), (inner,), "online_softmax", (value,))
    found = Definitions.read(Program((array("x"),), (node,), ("m",)))
    assert [found.of[name].result for name in ("m", "s")] == [0, 1]
    assert found.of["s"].axes == (FOUR,)


def test_memory_that_is_shared() -> None:
    storage = Storage()
    storage.join("b", "a")
    storage.join("c", "b")
    assert storage.root("c") == "a" and storage.now("c") == "c"
    assert storage.changed("b") == 0 and storage.changed("c") == 1
    assert storage.now("a") == "a@2"
    call = Extern((array("o"),), None, (), {}, aliases={"o": ("a", "b")})
    assert list(shared(call)) == [("o", "a"), ("o", "b")]


def test_arrays_of_a_schedule() -> None:
    steps = (
        Allocate(array("y")),
        Extern((array("o"), None), None, (), {}),
        Alias(array("v"), "o"),
    )
    found = scheduled_arrays(Schedule((array("x"),), steps, ()))
    assert set(found) == {"x", "y", "o", "v"}
