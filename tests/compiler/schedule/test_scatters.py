"""Writes in place get the copies that they need, and no others."""

from compiler.ir.expression import make
from compiler.ir.index import add, contiguous_strides, digit, index, mod
from compiler.ir.node import Assign, Axis, Buffer, Map, Node, Program, Reduce, Scatter
from compiler.ir.scalar import load
from compiler.schedule.scatters import with_bases_copied, with_temporaries

A = digit("i0")
TYPE = "float32"
AXES = (Axis(A, index(4)),)


def array(name: str, *, free: bool = True) -> Buffer:
    strides = None if free else contiguous_strides((4,))
    return Buffer(name, TYPE, (index(4),), "cpu", strides)


def scatter(name: str, base: str, value: str = "v") -> Scatter:
    key = make("checked_index", (load("k", (A,), "int64"), index(4)), "index", False)
    return Scatter(array(name), base, AXES, (key,), load(value, (A,), TYPE), "add")


def kinds(*nodes: Node, outputs: tuple[str, ...] = ("y",)) -> list[str]:
    program = Program((array("x", free=False),), nodes, outputs)
    out = []
    for node in with_bases_copied(program, []).nodes:
        if isinstance(node, Scatter):
            assert node.base == node.buffer.name
            out.append(f"scatter {node.buffer.name}")
        elif isinstance(node, Map):
            out.append(f"{node.buffer.name} = {node.value!r}")
        elif isinstance(node, Reduce):
            out.append(f"reduce {node.buffers[0].name}")
    return out


def test_an_input_is_copied() -> None:
    assert kinds(scatter("y", "x")) == ["y = x[i0]", "scatter y"]


def test_a_dead_array_of_ours_takes_the_name() -> None:
    base = Map(array("b"), AXES, load("x", (A,), TYPE))
    assert kinds(base, scatter("y", "b")) == ["y = x[i0]", "scatter y"]
    total = Reduce(
        (array("b"),),
        AXES,
        (Axis(digit("r0"), index(3)),),
        "sum",
        (load("x", (A,), TYPE),),
    )
    assert kinds(total, scatter("y", "b")) == ["reduce y", "scatter y"]


def test_a_chain_of_scatters_has_one_array() -> None:
    assert kinds(scatter("a", "x"), scatter("y", "a")) == [
        "y = x[i0]",
        "scatter y",
        "scatter y",
    ]


def test_a_base_with_another_reader_is_copied() -> None:
    base = Map(array("b"), AXES, load("x", (A,), TYPE))
    assert kinds(base, scatter("y", "b"), outputs=("y", "b"))[1] == "y = b[i0]"
    assert kinds(base, scatter("y", "b", "b"))[1] == "y = b[i0]"


def test_a_base_with_strides_of_its_own_is_copied() -> None:
    base = Map(array("b", free=False), AXES, load("x", (A,), TYPE))
    assert kinds(base, scatter("y", "b"))[1] == "y = b[i0]"


def test_a_shift_in_place_goes_through_memory() -> None:
    shifted = Assign("x", AXES, load("x", (mod(add(A, 1), 4),), TYPE))
    program = Program((array("x", free=False),), (shifted,), ())
    notes: list[str] = []
    fresh, last = with_temporaries(program, notes).nodes
    assert isinstance(fresh, Map) and isinstance(last, Assign)
    assert last.value is load(fresh.buffer.name, (A,), TYPE)
    assert len(notes) == 1


def test_an_update_at_its_own_points_does_not() -> None:
    own = Assign("x", AXES, load("x", (A,), TYPE))
    program = Program((array("x", free=False),), (own,), ())
    assert with_temporaries(program, []).nodes == (own,)
