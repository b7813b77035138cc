"""Flat addresses and merged axes: equal kernels, by evaluation of their indices."""

from collections.abc import Callable

from compiler.codegen.triton.flat import flattened, indices, recombined
from compiler.ir.expression import Expression
from compiler.ir.index import add, digit, floordiv, index, mod, mul
from compiler.ir.kernel import Kernel, Store
from compiler.ir.points import Points
from compiler.ir.scalar import load

X, Y, Z = digit("i"), digit("j"), digit("k")
Make = Callable[..., Kernel]


def value(expression: Expression, sizes: dict[Expression, int]) -> list[int]:
    points = Points(list(sizes), list(sizes.values()), {}, {}, "cpu")
    shape = list(sizes.values())
    found: list[int] = points.tensor(expression).expand(shape).reshape(-1).tolist()
    return found


def test_contiguous_axes_become_one(make_kernel: Make) -> None:
    store = Store("out", (X, Y, Z), load("a", (X, Y, Z), "float32"), False)
    arrays = {name: ("float32", (3, 4, 5)) for name in ("a", "out")}
    kernel = flattened(make_kernel([store], arrays, {X: 3, Y: 4, Z: 5}))
    (axis,) = kernel.outer
    assert axis.extent is index(60)
    assert all(root is axis.digit for root in indices(kernel))


def test_axes_that_a_broadcast_tells_apart_stay(make_kernel: Make) -> None:
    store = Store("out", (X, Y, Z), load("a", (Y, Z), "float32"), False)
    arrays = {"a": ("float32", (4, 5)), "out": ("float32", (3, 4, 5))}
    kernel = flattened(make_kernel([store], arrays, {X: 3, Y: 4, Z: 5}))
    assert [axis.extent for axis in kernel.outer] == [index(3), index(20)]


def test_axes_of_extent_one_vanish_but_a_reduction_keeps_one(make_kernel: Make) -> None:
    from compiler.ir.kernel import Reduction
    from compiler.ir.scalar import local

    stages = [
        Reduction(("s",), "sum", (load("a", (X, Y), "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", (1, 1)), "out": ("float32", (1,))}
    kernel = flattened(make_kernel(stages, arrays, {X: 1}, {Y: 1}))
    assert kernel.outer == () and len(kernel.inner) == 1


def test_quotients_and_remainders_meet_again() -> None:
    sizes = {X: 60}
    split = add(mul(floordiv(X, 12), 36), mul(mod(X, 12), 3))
    assert recombined(split) is mul(X, 3)
    kept = add(mul(floordiv(X, 12), 40), mod(X, 12))
    assert recombined(kept) is kept
    deep = add(mul(floordiv(X, 20), 20), mul(mod(floordiv(X, 5), 4), 5), mod(X, 5))
    assert value(recombined(deep), sizes) == value(deep, sizes) == list(range(60))
    assert recombined(deep) is X
