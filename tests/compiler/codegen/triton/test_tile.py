"""Quotients of tiles, numbers of programs, accesses."""

from collections.abc import Callable

from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.tile import (
    accesses,
    lies_across,
    programs_of,
    rounded,
    tiles_apart,
)
from compiler.ir.expression import Expression, nodes
from compiler.ir.index import constant_value, digit, floordiv, index
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.points import Points
from compiler.ir.scalar import apply, load, local

X, Y, Z = digit("i"), digit("j"), digit("k")
Make = Callable[..., Kernel]


def test_quotients_of_tiles_are_scalars(make_kernel: Make) -> None:
    """A weight for 4096 elements each: no lane divides."""
    value = load("a", (floordiv(X, 4096),), "float32")
    value2 = load("b", (X,), "float32")
    store = Store("out", (X,), apply("add", value, value2), False)
    arrays = {name: ("float32", (1 << 20,)) for name in ("b", "out")}
    arrays["a"] = ("float32", (256,))
    chosen = tiles_apart(plan(make_kernel([store], arrays, {X: 1 << 20})))
    roots = [stage.value for stage in chosen.kernel.stages if isinstance(stage, Store)]
    divided = [n for n in nodes(*roots) if n.op == "floordiv"]
    assert divided and all(n.args[0].data == "x_block" for n in divided)


def test_programs_visit_each_tile_of_each_point_once(make_kernel: Make) -> None:
    store = Store("out", (X, Y), load("a", (Y,), "float32"), False)
    arrays = {"a": ("float32", (5000,)), "out": ("float32", (6, 5000))}
    chosen = plan(make_kernel([store], arrays, {X: 6, Y: 5000}))
    count = constant_value(chosen.grid)
    assert count is not None
    points = Points([digit("program")], [count], {}, {}, "cpu")
    columns = [points.tensor(e).expand(count) for e in programs_of(chosen).values()]
    visited = set(zip(*(column.tolist() for column in columns), strict=True))
    assert len(visited) == count


def test_accesses_know_their_strides(make_kernel: Make) -> None:
    place = (floordiv(X, 4), Y)
    store = Store("out", (X, Y), load("a", place, "bfloat16"), False)
    arrays = {"a": ("bfloat16", (2, 9)), "out": ("bfloat16", (8, 9))}
    kernel = plan(make_kernel([store], arrays, {X: 8, Y: 9})).kernel
    loaded, stored = accesses(kernel)
    (x,) = {n for n in nodes(loaded.address) if n.op == "digit"}
    assert (loaded.width, stored.width) == (2, 2)
    assert loaded.stride(x) is None and stored.stride(x) == 1


def test_extents_are_rounded_up_to_whole_tiles() -> None:
    assert rounded(index(100), 64) is index(128)
    assert rounded(index(128), 64) is index(128)


def test_transposed_reads_and_sums_of_columns_lie_across(make_kernel: Make) -> None:
    arrays = {"a": ("float32", (64, 64)), "out": ("float32", (64, 64))}

    def copied(*place: Expression) -> bool:
        store = Store("out", (X, Y), load("a", place, "float32"), False)
        return lies_across(plan(make_kernel([store], arrays, {X: 64, Y: 64})))

    assert copied(Y, X) and not copied(X, Y)

    def summed(*place: Expression) -> bool:
        value = load("a", place, "float32")
        total = Reduction(("t",), "sum", (value,), ("float32",))
        store = Store("out", (X, index(0)), local("t", "float32"), False)
        return lies_across(plan(make_kernel([total, store], arrays, {X: 64}, {Y: 64})))

    assert summed(Y, X) and not summed(X, Y)


def test_what_is_small_beside_a_tile_does_not_lie_across(make_kernel: Make) -> None:
    """Results of rows, a few to a program: they are adjacent, and one each."""
    value = load("a", (X, Y), "float32")
    total = Reduction(("t",), "sum", (value,), ("float32",))
    store = Store("out", (X,), local("t", "float32"), False)
    arrays = {"a": ("float32", (8192, 64)), "out": ("float32", (8192,))}
    chosen = plan(make_kernel([total, store], arrays, {X: 8192}, {Y: 64}))
    assert len(chosen.tile) == 2 and not lies_across(chosen)
