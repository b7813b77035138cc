"""Tiles of pointwise kernels, chosen from strides and sizes."""

from collections.abc import Callable

from compiler.codegen.triton.plan import plan
from compiler.ir.index import constant_value, digit
from compiler.ir.kernel import Kernel, Store
from compiler.ir.scalar import apply, cast, load

X, Y, Z = digit("i"), digit("j"), digit("k")
Make = Callable[..., Kernel]


def test_a_transpose_gets_square_tiles(make_kernel: Make) -> None:
    store = Store("out", (X, Y), load("a", (Y, X), "float32"), False)
    arrays = {"a": ("float32", (512, 256)), "out": ("float32", (256, 512))}
    chosen = plan(make_kernel([store], arrays, {X: 256, Y: 512}))
    assert [axis.name for axis in chosen.tile] == ["y", "x"]


def test_large_transposes_get_larger_tiles(make_kernel: Make) -> None:
    def side(rows: int) -> int:
        store = Store("out", (X, Y), load("a", (Y, X), "bfloat16"), False)
        arrays = {"a": ("bfloat16", (8192, rows)), "out": ("bfloat16", (rows, 8192))}
        return plan(make_kernel([store], arrays, {X: rows, Y: 8192})).tile[0].block

    assert (side(512), side(1 << 16)) == (64, 128)


def test_small_work_is_spread_over_the_multiprocessors(make_kernel: Make) -> None:
    def programs(size: int) -> int:
        store = Store("out", (X,), load("a", (X,), "float32"), False)
        arrays = {name: ("float32", (size,)) for name in ("a", "out")}
        count = constant_value(plan(make_kernel([store], arrays, {X: size})).grid)
        assert count is not None
        return count

    assert programs(1) == 1
    assert programs(1 << 16) >= 132


def test_only_costly_columns_are_shared(make_kernel: Make) -> None:
    def rank(operation: str) -> int:
        column = apply(operation, load("v", (Y,), "float32"))
        value = apply("add", load("a", (X, Y), "float32"), column)
        store = Store("out", (X, Y), value, False)
        matrix, row = ("float32", (1 << 16, 256)), ("float32", (256,))
        arrays = {"a": matrix, "out": matrix, "v": row}
        return len(plan(make_kernel([store], arrays, {X: 1 << 16, Y: 256})).tile)

    assert rank("neg") == 1 and rank("tan") == 2


def test_a_byte_for_a_row_widens_no_tile(make_kernel: Make) -> None:
    def block(dtype: str) -> int:
        flag = cast(load("v", (X,), dtype), "float32")
        a = cast(load("a", (X, Y), "bfloat16"), "float32")
        value = cast(apply("add", a, flag), "bfloat16")
        matrix = ("bfloat16", (8192, 50257))
        arrays = {"a": matrix, "out": matrix, "v": (dtype, (8192,))}
        kernel = make_kernel(
            [Store("out", (X, Y), value, False)], arrays, {X: 8192, Y: 50257}
        )
        return plan(kernel).tile[-1].block

    assert block("bool") == block("float32")
