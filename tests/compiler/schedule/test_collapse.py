"""Loops that walk on in one stride are one loop."""

from compiler.ir.expression import Expression, make
from compiler.ir.index import (
    add,
    constant_value,
    contiguous_strides,
    digit,
    index,
    mul,
    symbol,
)
from compiler.ir.kernel import Prefix, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, cast, from_index, load
from compiler.schedule.collapse import collapsed, merged_index
from compiler.schedule.nest import Nest

A, B, C = digit("i0"), digit("i1"), digit("i2")
TYPE = "float32"


def array(
    name: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None
) -> Buffer:
    steps = contiguous_strides(shape) if strides is None else map(index, strides)
    return Buffer(name, TYPE, tuple(map(index, shape)), "cpu", tuple(steps))


def merged(
    value: Expression, shape: tuple[int, ...], *others: Buffer
) -> tuple[Nest, dict[str, Buffer]]:
    leaves = (A, B, C)[: len(shape)]
    axes = tuple(Axis(d, index(e)) for d, e in zip(leaves, shape, strict=True))
    nest = Nest(axes, (), (Store("y", leaves, value, False),))
    buffers = {b.name: b for b in (array("y", shape), *others)}
    return collapsed(nest, buffers)


def extents(nest: Nest) -> list[int | None]:
    return [constant_value(axis.extent) for axis in nest.axes]


def test_contiguous_loops_are_one() -> None:
    nest, seen = merged(load("x", (A, B, C), TYPE), (2, 3, 4), array("x", (2, 3, 4)))
    assert extents(nest) == [24]
    assert seen["x"].shape == (index(24),) and seen["x"].strides == (index(1),)
    (store,) = nest.stages
    assert isinstance(store, Store)
    assert store.target == store.value.args == (digit("x0"),)


def test_a_row_vector_keeps_rows_and_columns_apart() -> None:
    value = apply("add", load("x", (A, B, C), TYPE), load("b", (C,), TYPE))
    nest, _ = merged(value, (2, 3, 4), array("x", (2, 3, 4)), array("b", (4,)))
    assert extents(nest) == [6, 4]


def test_strides_with_gaps_keep_loops_apart() -> None:
    gaps = array("x", (2, 3, 4), (24, 8, 1))
    nest, seen = merged(load("x", (A, B, C), TYPE), (2, 3, 4), gaps)
    assert extents(nest) == [6, 4]
    assert seen["x"].strides == (index(8), index(1))


def test_indices_that_are_values_count() -> None:
    place = cast(from_index(B, "int64"), TYPE)
    value = apply("mul", load("x", (A, B, C), TYPE), place)
    nest, _ = merged(value, (2, 3, 4), array("x", (2, 3, 4)))
    assert extents(nest) == [2, 3, 4]
    whole = cast(from_index(add(mul(B, 4), C), "int64"), TYPE)
    value = apply("mul", load("x", (A, B, C), TYPE), whole)
    assert extents(merged(value, (2, 3, 4), array("x", (2, 3, 4)))[0]) == [2, 12]


def test_gathered_rows_merge_by_their_keys() -> None:
    key = make("checked_index", (load("k", (A, B), TYPE), index(9)), "index", False)
    value = load("w", (key, C), TYPE)
    nest, seen = merged(value, (2, 3, 4), array("k", (2, 3)), array("w", (9, 4)))
    assert extents(nest) == [6, 4]
    assert len(seen["k"].shape) == 1 and len(seen["w"].shape) == 2


def test_divided_digits_stay() -> None:
    divided = make("floordiv", (C, index(3)), "index")
    value = load("x", (A, B, divided), TYPE)
    nest, _ = merged(value, (2, 3, 4), array("x", (2, 3, 2)))
    assert extents(nest) == [6, 4]


def test_symbolic_extents_merge() -> None:
    n = symbol("n")
    axes = (Axis(A, n), Axis(B, index(4)))
    nest = Nest(axes, (), (Store("y", (A, B), load("x", (A, B), TYPE), False),))
    shape = (n, index(4))
    strides = contiguous_strides(shape)
    buffers = {name: Buffer(name, TYPE, shape, "cpu", strides) for name in "xy"}
    assert [a.extent for a in collapsed(nest, buffers)[0].outer] == [mul(n, 4)]


def test_the_axis_of_a_scan_stays_alone() -> None:
    scan = Prefix(("c",), "sum", load("x", (A, B), TYPE), (TYPE,))
    store = Store("y", (A, B), make("local", (), TYPE, "c"), True)
    nest = Nest((Axis(A, index(3)),), (Axis(B, index(4)),), (scan, store))
    out, _ = collapsed(nest, {"x": array("x", (3, 4)), "y": array("y", (3, 4))})
    assert [axis.digit for axis in out.axes] == [digit("x0"), digit("r0")]


def test_a_merged_index_is_row_major() -> None:
    assert merged_index(array("x", (2, 3, 4)), [1, 2], (A, B, C)) is add(mul(B, 4), C)
