"""A load of what another point stores."""

from collections.abc import Callable

from algebra.verdict import Proved, Refuted
from compiler.ir.expression import Expression, make
from compiler.ir.index import add, digit, index, mul
from compiler.ir.kernel import Kernel
from verify.obligations.points import accesses, ranges_of
from verify.obligations.races import no_race
from verify.symbolic.question import Solver

MakeKernel = Callable[..., Kernel]
ROW = digit("i")


def load(name: str, at: Expression) -> Expression:
    return make("load", (at,), "float32", name)


def test_in_place_is_safe_at_the_same_element_only(one_store: MakeKernel) -> None:
    for shift in (-1, 0, 1):
        at = add(ROW, shift)
        kernel = one_store(load("y", at), (ROW,), {ROW: 4}, {"y": (6,)})
        verdict = no_race(kernel, accesses(kernel), ranges_of(kernel, {}), Solver())
        assert isinstance(verdict, Refuted if shift else Proved)


def test_the_other_half_is_not_touched(one_store: MakeKernel) -> None:
    kernel = one_store(load("y", add(ROW, 4)), (ROW,), {ROW: 4}, {"y": (8,)})
    verdict = no_race(kernel, accesses(kernel), ranges_of(kernel, {}), Solver())
    assert isinstance(verdict, Proved)
    mirrored = add(mul(ROW, -1), index(3))
    kernel = one_store(load("y", mirrored), (ROW,), {ROW: 4}, {"y": (8,)})
    verdict = no_race(kernel, accesses(kernel), ranges_of(kernel, {}), Solver())
    assert isinstance(verdict, Refuted)
