"""Conditions of loads: what limits them, and never by what they decide."""

import itertools

import pytest
import torch

from compiler.codegen.cpp.conditions import (
    ALWAYS,
    both,
    conditions,
    either,
    expression,
)
from compiler.ir.expression import Expression, make, nodes
from compiler.ir.index import digit
from compiler.ir.scalar import apply, constant, from_index, load

I = digit("i")  # noqa: E741
A, B, C = (apply("lt", from_index(I, "int64"), constant(n, "int64")) for n in (1, 2, 3))


def guarded(condition: Expression, value: Expression) -> Expression:
    return make("guard", (condition, value, constant(0.0, value.dtype)), value.dtype)


def test_a_clause_that_implies_another_adds_nothing() -> None:
    inside = both(both(ALWAYS, A), B)
    assert inside == ((A, B),) and both(inside, A) == inside
    assert either(inside, both(ALWAYS, A)) == ((A,),)
    assert either(both(ALWAYS, A), inside) == ((A,),)
    assert either(inside, ALWAYS) == ALWAYS and expression(ALWAYS) is None
    apart = either(both(ALWAYS, A), both(ALWAYS, B))
    assert expression(apart) is make("bitwise_or", (A, B), "bool")
    deeper = both(apart, C)
    assert len(deeper) == 1 and either(deeper, apart) == (*deeper, *apart)


def test_conditions_mean_what_paths_through_guards_mean() -> None:
    """Every path from a root to a load gives a clause; the condition is their sum."""
    value = load("x", (I,), "float32")
    for shape in itertools.product((A, B, C, None), repeat=4):
        tops = []
        for first, second in (shape[:2], shape[2:]):
            inner = value if second is None else guarded(second, value)
            tops.append(inner if first is None else guarded(first, inner))
        found = conditions([(top, None) for top in tops])[id(value)]
        for number in range(5):
            holds = {A: number < 1, B: number < 2, C: number < 3, None: True}
            wanted = any(
                holds[first] and holds[second]
                for first, second in (shape[:2], shape[2:])
            )
            assert truth(found, holds) == wanted, shape


def truth(condition: Expression | None, holds: dict[Expression | None, bool]) -> bool:
    if condition in holds:
        return holds[condition]
    assert condition is not None
    left, right = (truth(arg, holds) for arg in condition.args)
    return left and right if condition.op == "bitwise_and" else left or right


def test_what_a_guard_asks_is_not_under_it() -> None:
    key = load("keys", (I,), "int64")
    asked = apply("lt", key, constant(5, "int64"))
    value = guarded(asked, load("x", (I,), "float32"))
    for outer in (None, A):
        root = value if outer is None else guarded(outer, value)
        used = make("add", (root, guarded(asked, from_key(key))), "float32")
        top = used if outer is None else guarded(outer, used)
        found = conditions([(top, None)])
        condition = found[id(key)]
        assert condition is None or key not in nodes(condition)


def from_key(key: Expression) -> Expression:
    return make("cast", (key,), "float32")


@pytest.mark.parametrize("shape", [(4, 3), (12, 8), (5, 16), (3, 3)])
def test_positions_that_are_looked_up_in_padding(shape: tuple[int, int]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        inner = torch.nn.functional.avg_pool1d(x[1 : x.shape[0] - 1][None], 2)[0]
        zeros = torch.zeros(inner.shape[0], 2, dtype=torch.int64)
        taken = torch.take_along_dim(inner, zeros, 1)
        return torch.nn.functional.pad(taken, (1, taken.shape[0] % 3), value=2.0)

    torch.compiler.reset()
    compiled = torch.compile(
        function, backend="tilewright", dynamic=True, options={"fallback": False}
    )
    x = torch.randn(shape)
    torch.testing.assert_close(compiled(x), function(x))
