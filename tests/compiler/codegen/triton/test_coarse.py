"""What is rounded to a half type before anything can tell."""

from compiler.codegen.triton.coarse import coarse_nodes
from compiler.ir.expression import Expression
from compiler.ir.index import digit
from compiler.ir.scalar import apply, cast, constant, load

X = digit("i")
VALUE = cast(load("a", (X,), "bfloat16"), "float32")
ONE = constant(1.0, "float32")


def exponential() -> Expression:
    return apply("exp", apply("neg", VALUE))


def test_a_silu_is_coarse_throughout() -> None:
    e = exponential()
    total = apply("add", ONE, e)
    quotient = apply("truediv", VALUE, total)
    assert {e, total, quotient} <= coarse_nodes([cast(quotient, "bfloat16")])


def test_differences_and_float32_results_are_not() -> None:
    e = exponential()
    assert e not in coarse_nodes([cast(apply("sub", e, ONE), "bfloat16")])
    minus = constant(-1.0, "float32")
    assert e not in coarse_nodes([cast(apply("add", e, minus), "bfloat16")])
    assert e not in coarse_nodes([apply("mul", e, e)])
    assert e not in coarse_nodes([cast(apply("mul", e, e), "float64")])


def test_one_exact_use_makes_a_value_exact() -> None:
    e = exponential()
    compared = apply("lt", e, ONE)
    assert e not in coarse_nodes([cast(apply("mul", e, e), "float16"), compared])
