"""Canonical digits make equal accesses equal expressions."""

from compiler.ir.expression import leaves
from compiler.ir.index import digit, index
from compiler.ir.node import Assign, Axis, Buffer, Map, Program, Reduce, Scatter
from compiler.ir.scalar import apply, from_index, load
from compiler.schedule.arrays import values_of
from compiler.schedule.canonical import canonical, canonical_axes, canonical_node

P, Q = digit("p"), digit("q")
TYPE = "float32"


def array(*shape: int) -> Buffer:
    return Buffer("y", TYPE, tuple(map(index, shape)), "cpu")


def test_equal_values_become_the_same_object() -> None:
    def exp(row: str, column: str) -> Map:
        i, j = digit(row), digit(column)
        axes = (Axis(i, index(3)), Axis(j, index(4)))
        return Map(array(3, 4), axes, apply("exp", load("x", (i, j), TYPE)))

    first, second = (canonical_node(exp(*n), {}) for n in (("a", "b"), ("i1", "i0")))
    assert values_of(first) == values_of(second)


def test_names_may_be_permuted() -> None:
    i0, i1 = digit("i0"), digit("i1")
    axes = (Axis(i1, index(3)), Axis(i0, index(4)))
    node = canonical_node(Map(array(3, 4), axes, load("x", (i1, i0), TYPE)), {})
    assert values_of(node)[0].args == (i0, i1)


def test_digits_of_one_point_are_zero() -> None:
    axes = (Axis(P, index(1)), Axis(Q, index(4)))
    value = apply("add", load("x", (P, Q), TYPE), from_index(P, TYPE))
    node = canonical_node(Map(array(1, 4), axes, value), {})
    assert leaves("digit", *values_of(node)) == [digit("i1")]
    _, renamed = canonical_axes(axes, "i")
    assert renamed[P] is index(0) and renamed[Q] is digit("i1")


def test_all_nodes_are_renamed() -> None:
    axes, inner = (Axis(P, index(3)),), (Axis(Q, index(4)),)
    value = load("x", (P, Q), TYPE)
    nodes = (
        Reduce((array(3),), axes, inner, "sum", (value,)),
        Scatter(array(3), "b", axes, (P,), load("z", (P,), TYPE)),
        Assign("b", axes, load("z", (P,), TYPE)),
    )
    for node in canonical(Program((), nodes, ())).nodes:
        names = {str(leaf.data) for leaf in leaves("digit", *values_of(node))}
        assert names <= {"i0", "r0"}
