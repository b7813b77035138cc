"""What a run leaves behind."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from verify.oracle.outcome import leaves, outcome, seed_generators, shared, slopes


@dataclass
class Pair:
    a: torch.Tensor
    n: int


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [1, 3]),
        ([1], (1,)),
        ({"a": 1}, {"b": 1}),
        (1, True),
        (1, 1.0),
        (None, "None"),
        ({1, 2}, {1, 3}),
        (Pair(torch.ones(1), 2), Pair(torch.ones(1), 3)),
        (torch.nn.Linear(1, 1), torch.nn.Linear(1, 1, bias=False)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_different_values_have_different_leaves(one: Any, other: Any) -> None:
    assert repr(leaves(one)) != repr(leaves(other))
    assert repr(leaves(one)) == repr(leaves(one))


def test_results_arguments_and_gradients_come_in_order() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    log: list[str] = []

    def program(x: torch.Tensor, log: list[str]) -> tuple[torch.Tensor, ...]:
        log.append("ran")
        return (x * x,)

    found = outcome(program, [x, log], gradients=True)
    assert [place for place, _ in found] == [0, 1, 2, 2, 3]
    assert found[-1][1].tolist() == [4.0, 12.0]  # 2 x, weighted by 1 and 2
    assert outcome(program, [x, []])[-1][1] == "'ran'"


def test_shared_storage_is_seen() -> None:
    x = torch.ones(3)
    assert shared([(0, x[1:]), (1, x.clone()), (2, x)]) == {(0, 2)}


def test_gradients_lie_in_contiguous_memory_of_their_own() -> None:
    x = torch.ones(3, 2).t().requires_grad_()
    y = torch.ones(2, 3).requires_grad_()
    first, second = slopes([(x + y).t()], [x, y])
    assert first.is_contiguous() and second.is_contiguous()
    assert first.data_ptr() != second.data_ptr()


@pytest.mark.parametrize("seed", [0, 7, 2**40 + 1])
def test_generators_are_seeded_as_torch_seeds_them(seed: int) -> None:
    torch.manual_seed(seed)
    wanted = torch.randn(5)
    assert not torch.equal(torch.randn(5), wanted)
    seed_generators(seed)
    assert torch.equal(torch.randn(5), wanted)
