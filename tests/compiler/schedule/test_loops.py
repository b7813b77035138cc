"""Loops follow memory, and free arrays follow the loops."""

from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, contiguous_strides, digit, index
from compiler.ir.kernel import Reduction, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, load
from compiler.schedule.loops import accesses, laid_out, loop_order, reordered, tile_of
from compiler.schedule.nest import Nest

A, B, C = digit("i0"), digit("i1"), digit("i2")
TYPE = "float32"
AXES = (Axis(A, index(8)), Axis(B, index(16)), Axis(C, index(32)))


def array(name: str, *shape: int, strides: tuple[int, ...] | None = None) -> Buffer:
    steps = contiguous_strides(shape) if strides is None else tuple(map(index, strides))
    return Buffer(name, TYPE, tuple(map(index, shape)), "cpu", steps)


def free(name: str, *shape: int) -> Buffer:
    return Buffer(name, TYPE, tuple(map(index, shape)), "cpu")


def pointwise(value: Expression) -> Nest:
    return Nest(AXES, (), (Store("y", (A, B, C), value, False),))


def order_of(nest: Nest, *arrays: Buffer) -> list[Expression]:
    buffers = {b.name: b for b in arrays}
    return [axis.digit for axis in loop_order(nest, accesses(nest, buffers))]


def test_the_smallest_stride_is_the_last_loop() -> None:
    nest = pointwise(load("x", (A, B, C), TYPE))
    last = array("x", 8, 16, 32, strides=(512, 1, 16))
    assert order_of(nest, last, free("y", 8, 16, 32)) == [A, C, B]
    assert order_of(nest, free("x", 8, 16, 32), free("y", 8, 16, 32)) == [A, B, C]


def test_more_bytes_have_more_votes() -> None:
    small = load("b", (C, B), TYPE)
    nest = pointwise(apply("add", load("x", (A, B, C), TYPE), small))
    found = order_of(
        nest, array("x", 8, 16, 32), array("b", 32, 16), free("y", 8, 16, 32)
    )
    assert found == [A, B, C]


def test_a_free_array_takes_the_layout_of_what_is_read() -> None:
    nest = pointwise(load("x", (A, B, C), TYPE))
    buffers = {
        "x": array("x", 8, 16, 32, strides=(512, 1, 16)),
        "y": free("y", 8, 16, 32),
    }
    laid_out(nest, loop_order(nest, accesses(nest, buffers)), buffers)
    strides = buffers["y"].strides
    assert strides is not None
    assert [constant_value(s) for s in strides] == [512, 1, 16]


def test_positions_fix_the_order_of_the_reduced_axes() -> None:
    x = load("x", (A, B, C), TYPE)

    def nest(reducer: str) -> Nest:
        stage = Reduction(("p",), reducer, (x,), (TYPE,))
        return Nest(AXES[:1], AXES[1:], (stage,))

    buffers = {"x": array("x", 8, 16, 32, strides=(512, 1, 16))}
    for reducer, expected in (("sum", [C, B]), ("argmax", [B, C])):
        made = nest(reducer)
        turned = reordered(made, loop_order(made, accesses(made, buffers)))
        assert [axis.digit for axis in turned.inner] == expected


def test_two_adjacent_digits_ask_for_a_tile() -> None:
    turned = load("t", (B, A), TYPE)
    value = apply("add", load("x", (A, B), TYPE), turned)
    nest = Nest(AXES[:2], (), (Store("y", (A, B), value, False),))
    buffers = {"x": array("x", 8, 16), "y": array("y", 8, 16), "t": array("t", 16, 8)}
    assert tile_of(accesses(nest, buffers)) == (A, B)
    plain = Nest(AXES[:2], (), (Store("y", (A, B), load("x", (A, B), TYPE), False),))
    assert tile_of(accesses(plain, buffers)) == (B,)


def test_small_operands_ask_for_nothing() -> None:
    value = apply("add", load("x", (A, B, C), TYPE), load("t", (B,), TYPE))
    buffers = {
        "x": array("x", 8, 16, 32),
        "t": array("t", 16),
        "y": array("y", 8, 16, 32),
    }
    assert tile_of(accesses(pointwise(value), buffers)) == (C,)
