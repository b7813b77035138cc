"""Accesses in bounds, and just outside."""

from collections.abc import Callable

from algebra.verdict import Proved, Refuted
from compiler.ir.expression import Expression, make
from compiler.ir.index import add, digit, index, mul
from compiler.ir.kernel import Kernel
from verify.obligations.bounds import in_bounds
from verify.obligations.points import accesses, ranges_of
from verify.symbolic.question import Solver

MakeKernel = Callable[..., Kernel]
ROW = digit("i")


def load(name: str, at: Expression) -> Expression:
    return make("load", (at,), "float32", name)


def test_every_small_window_is_decided_as_counting_does(one_store: MakeKernel) -> None:
    """x[i * step + shift] of 7 elements, 3 points: all steps and shifts."""
    for step in range(4):
        for shift in range(-2, 8):
            at = add(mul(ROW, step), shift)
            kernel = one_store(load("x", at), (ROW,), {ROW: 3}, {"x": (7,), "y": (3,)})
            verdict = in_bounds(
                kernel, accesses(kernel), ranges_of(kernel, {}), Solver()
            )
            inside = all(0 <= i * step + shift < 7 for i in range(3))
            assert isinstance(verdict, Proved if inside else Refuted), (step, shift)


def test_an_array_that_is_not_the_kernels_is_refuted(one_store: MakeKernel) -> None:
    kernel = one_store(load("z", index(0)), (ROW,), {ROW: 3}, {"y": (3,)})
    verdict = in_bounds(kernel, accesses(kernel), ranges_of(kernel, {}), Solver())
    assert isinstance(verdict, Refuted)


def test_what_never_happens_is_in_bounds(one_store: MakeKernel) -> None:
    for points in (0, 1):
        kernel = one_store(
            load("x", index(0)), (ROW,), {ROW: points}, {"x": (0,), "y": (points,)}
        )
        verdict = in_bounds(kernel, accesses(kernel), ranges_of(kernel, {}), Solver())
        assert isinstance(verdict, Refuted if points else Proved), points
