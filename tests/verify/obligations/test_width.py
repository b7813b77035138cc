"""Indices at the edge of 32 and 64 bits."""

from collections.abc import Callable

from algebra.verdict import Proved, Refuted
from compiler.ir.expression import Expression, make
from compiler.ir.index import digit, mul
from compiler.ir.kernel import Kernel
from verify.obligations.points import accesses, ranges_of
from verify.obligations.width import no_wrap

MakeKernel = Callable[..., Kernel]
ROW = digit("i")


def load(name: str, at: Expression) -> Expression:
    return make("load", (at,), "float32", name)


def test_the_edge_of_a_type(one_store: MakeKernel) -> None:
    for bits in (32, 64):
        for over in (0, 1):
            step = (1 << (bits - 1)) - 1 + over
            kernel = one_store(
                load("x", mul(ROW, step)),
                (ROW,),
                {ROW: 2},
                {"x": (step + 1,), "y": (2,)},
            )
            verdict = no_wrap(kernel, accesses(kernel), ranges_of(kernel, {}), bits)
            assert isinstance(verdict, Refuted if over else Proved)
