"""Stores that write once, twice, and not everything."""

from collections.abc import Callable
from itertools import product

from algebra.verdict import Proved, Refuted
from compiler.ir.expression import Expression, make
from compiler.ir.index import add, digit, mul
from compiler.ir.kernel import Kernel
from verify.obligations.points import accesses, ranges_of
from verify.obligations.stores import coverage, is_mixed_radix, write_once
from verify.symbolic.question import Solver

MakeKernel = Callable[..., Kernel]
ROW, COLUMN = digit("i"), digit("j")


def load(name: str, at: Expression) -> Expression:
    return make("load", (at,), "float32", name)


def test_every_small_affine_target_is_decided_as_counting_does(
    one_store: MakeKernel,
) -> None:
    """y[i * a + j * b] over 3 x 2: all small a and b."""
    for a, b in product(range(5), range(5)):
        at = add(mul(ROW, a), mul(COLUMN, b))
        axes = {ROW: 3, COLUMN: 2}
        kernel = one_store(load("x", ROW), (at,), axes, {"x": (3,), "y": (20,)})
        ranges = ranges_of(kernel, {})
        places = [i * a + j * b for i in range(3) for j in range(2)]
        once = len(set(places)) == 6
        verdict = write_once(kernel, accesses(kernel), ranges, Solver())
        assert isinstance(verdict, Proved if once else Refuted), (a, b)
        if is_mixed_radix([at], kernel.outer, ranges):
            assert once


def test_coverage_counts(one_store: MakeKernel) -> None:
    for elements in (5, 6, 7):
        kernel = one_store(
            load("x", ROW), (ROW,), {ROW: 6}, {"x": (6,), "y": (elements,)}
        )
        verdict = coverage(kernel, accesses(kernel), {"y"}, Proved())
        assert isinstance(verdict, Proved if elements == 6 else Refuted)
