from typing import Any

import pytest
import torch

from verify.checking.arguments import Buffer, Scalar
from verify.checking.aten import base_of, captured
from verify.checking.setting import Memory, memory_of, scalar_names
from verify.checking.traced import NotTracedError
from verify.symbolic.terms import symbol

NAMES = scalar_names({"M": Scalar("i32", 1), "N": Scalar("i32", 1)}, {})


def memories(**shapes: tuple[Any, ...]) -> dict[str, Memory]:
    return {n: memory_of(n, Buffer("fp32", s), NAMES) for n, s in shapes.items()}


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: torch.cumsum(x, 1), "aten.cumsum"),
        (lambda x: x.T + x, "may differ|a graph"),
        (lambda x: x + torch.ones(3, 4).double() if x.shape[0] == 3 else x, "graph"),
        (lambda x: 3, "."),
        (lambda x: (x > 0).sum(1), "conversion|reduction"),
        (lambda x: torch.pow(x, 2.5), "pow"),
    ],
)
def test_what_has_no_meaning_is_named(function: Any, said: str) -> None:
    with pytest.raises(NotTracedError, match=said):
        results, conditions = captured(function, memories(x=("M", "N")), [])
        results[0].at((symbol("i", 0), symbol("j", 0))[: results[0].ndim])
        assert not conditions, conditions
        raise AssertionError(results)


def test_what_pytorch_takes_for_granted_is_a_condition() -> None:
    held = memories(x=("M", "N"), b=("N",))
    _, conditions = captured(lambda x, b: x + b, held, [])
    assert not conditions
    _, conditions = captured(lambda x, b: x.view(x.shape[0], b.shape[0]), held, [])
    assert not conditions


def test_changes_in_place_are_only_understood_of_fresh_values() -> None:
    def fresh(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).add_(1)

    def seen_by_a_view(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        first = y[0]
        y.add_(1)
        return first

    def used_later(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        z = y + 1
        y.add_(1)
        return y + z

    def an_argument(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    held = memories(x=("M", "N"))
    results, _ = captured(fresh, held, [])
    assert results[0].ndim == 2
    for function in (seen_by_a_view, used_later, an_argument):
        with pytest.raises(NotTracedError, match="used elsewhere"):
            captured(function, held, [])


def test_names_have_no_overloads() -> None:
    assert base_of("aten.add_.Tensor") == "add_" and base_of("prims.iota") == "iota"
