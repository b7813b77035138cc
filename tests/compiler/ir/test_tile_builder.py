import pytest

from compiler.ir import scalar
from compiler.ir.index import constant_value, symbol
from compiler.ir.tile import TileView, coordinate
from compiler.ir.tile_builder import TileBuilder, both, less, read, weighted


def test_operands_are_broadcast() -> None:
    b = TileBuilder("one")
    row, column = b.full([8], 0.0, "float32"), b.full([4, 1], 0.0, "float32")
    made = b.apply("add", row, column)
    assert made.shape == (4, 8)
    kinds = [o.kind for o in b.operators if isinstance(o, TileView)]
    assert kinds == ["expand_dims", "broadcast", "broadcast"]
    b.graph()


def test_a_tile_may_be_read_twice() -> None:
    b = TileBuilder("one")
    x = b.full([8], 2.0, "float32")
    b.apply("mul", x, x)
    assert b.operators[-1].operands == (x,)


def test_shapes_follow() -> None:
    b = TileBuilder("one")
    x = b.full([4, 2], 0.0, "float32")
    assert b.transpose(x, [1, 0]).shape == (2, 4)
    assert b.join(x, x).shape == (4, 2, 2)
    assert b.split(x)[1].shape == (4,)
    assert b.reduce("sum", x, 0).shape == (2,)
    assert b.scan("sum", x, 0).shape == (4, 2)
    assert b.upcast(b.full([4, 2], 0, "uint8"), 0, "float16").shape == (8, 2)
    assert b.fit(b.full([2], 0.0, "float32"), [4, 2]).shape == (4, 2)
    assert b.cast(x, "float32") is x
    assert b.expand_dims(x, 2).shape == (4, 2, 1)
    assert b.reshape(x, [8]).shape == (8,)
    b.graph()


def test_sizes_have_promises() -> None:
    b = TileBuilder("one")
    assert b.size("n", divisible=16, typical=128) is symbol("n")
    graph = b.graph()
    assert (graph.divisible["n"], graph.typical["n"]) == (16, 128)


def test_conditions_and_weights() -> None:
    inside = less(coordinate(0), symbol("n"))
    assert inside.dtype == both(inside, inside).dtype == "bool"
    assert constant_value(weighted(5, [])) == 5
    b = TileBuilder("one")
    assert read(b.full([2], 0, "int32")).dtype == "int32"
    with pytest.raises(TypeError):
        scalar.apply("add", inside, inside)


def test_strides_default_to_row_major() -> None:
    b = TileBuilder("one")
    b.buffer("x", "float32", [4, 8])
    b.buffer("y", "float32", [4, 8], [1, 4])
    strides = b.buffers["x"].strides
    assert strides is not None and [constant_value(s) for s in strides] == [8, 1]
