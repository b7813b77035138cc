from collections.abc import Callable

import pytest

from verify.mlir import Dense, read_module
from verify.symbolic.question import Solver
from verify.symbolic.terms import invert
from verify.ttir import evaluate
from verify.ttir.hints import sizes_of

Text = Callable[..., str]


def holds(text: str) -> bool:
    program = evaluate(read_module(text))
    solver = Solver()
    return all(
        solver.satisfy([claim.guard, invert(claim.condition)], 5.0) is False
        for claim in program.claims
    )


@pytest.mark.parametrize(
    ("start", "hint", "true"),
    [
        (0, "tt.contiguity = dense<64> : tensor<1xi32>", True),
        (0, "tt.divisibility = dense<64> : tensor<1xi32>", False),
        (
            0,
            "tt.contiguity = dense<64> : tensor<1xi32>, "
            "tt.divisibility = dense<64> : tensor<1xi32>",
            True,
        ),
        (
            1,
            "tt.contiguity = dense<64> : tensor<1xi32>, "
            "tt.divisibility = dense<2> : tensor<1xi32>",
            False,
        ),
        (0, "tt.constancy = dense<2> : tensor<1xi32>", False),
    ],
)
def test_hints_are_true_or_not(ttir: Text, start: int, hint: str, true: bool) -> None:
    line = f"%r = tt.make_range {{end = {64 + start} : i32, start = {start} : i32, "
    assert holds(ttir(f"{line}{hint}}} : tensor<64xi32>")) is true


def test_a_scalar_may_be_a_multiple(ttir: Text) -> None:
    body = (
        "%c = arith.constant 16 : i32\n"
        "%a = arith.muli %n, %c {tt.divisibility = dense<16> : tensor<1xi32>} : i32"
    )
    assert holds(ttir(body))
    assert not holds(ttir(body.replace("constant 16", "constant 8")))


def test_sizes() -> None:
    assert sizes_of(Dense((1, 8)), 2) == (1, 8) and sizes_of(16, 1) == (16,)
