"""The Triton kernel in Triton's interpreter, against the loop."""

import pytest
import torch
from torch import Tensor

from manifolds.charts import SO
from manifolds.recurrent.launch import Cut, launch
from manifolds.recurrent.loop import backward_loop, forward_loop

CASES = {
    "one row a program": (5, 3, 3, Cut(1, 16, 16, 1, 1, rows=1)),
    "rows in turn, one missing": (5, 3, 3, Cut(1, 16, 16, 1, 1, rows=2)),
    "three tiles": (41, 2, 2, Cut(3, 16, 16, 1, 1, rows=1)),
    "columns shared by two": (20, 3, 2, Cut(1, 32, 16, 2, 1, rows=2)),
    "three tiles, shared": (60, 2, 2, Cut(3, 32, 16, 2, 1, rows=1)),
}


def draw(n: int, batch: int, steps: int) -> tuple[Tensor, ...]:
    return (
        torch.randn(steps, batch, n),
        torch.randn(batch, n),
        SO().sample((n, n)),
        torch.randn(n) / 3,
        torch.randn(steps, batch, n),
    )


@pytest.mark.parametrize("name", CASES)
def test_both_scans_are_the_loop(name: str) -> None:
    n, batch, steps, chosen = CASES[name]
    x, start, weight, bias, gradient = draw(n, batch, steps)
    sizes = (batch,) * steps
    states = forward_loop(x.flatten(0, 1), start, weight, bias, sizes)
    found, _ = launch(x, start, weight, bias, None, chosen=chosen, interpret=True)
    torch.testing.assert_close(found.flatten(0, 1), states, rtol=2e-6, atol=5e-6)
    wanted, to_bias = backward_loop(gradient.flatten(0, 1), states, weight, bias, sizes)
    before, sums = launch(
        gradient,
        torch.zeros_like(start),
        weight.T,
        bias,
        states.view_as(x),
        chosen=chosen,
        interpret=True,
    )
    torch.testing.assert_close(before.flatten(0, 1), wanted, rtol=2e-6, atol=5e-6)
    torch.testing.assert_close(sums, to_bias, rtol=2e-6, atol=1e-5)


def test_nan_stays_in_its_row_and_zero_is_zero() -> None:
    x, start, weight, bias, gradient = draw(5, 2, 2)
    x[0, 1, 2] = torch.nan
    x[0, 0] = -(start[0] @ weight)
    x[0, 0, 3] = 0
    start[0] = 0
    x[0, 0] = 0
    chosen = Cut(1, 16, 16, 1, 1, rows=1)
    states, _ = launch(x, start, weight, bias + 1, None, chosen=chosen, interpret=True)
    assert not states[0, 0].any() and states[0, 1, 2].isnan()
    assert states[1, 1].isnan().all() and not states[:, 0].isnan().any()
    before, _ = launch(
        gradient,
        torch.zeros_like(start),
        weight.T,
        bias,
        states,
        chosen=chosen,
        interpret=True,
    )
    assert not before[0, 0].any() and before[1, 1].isnan().all()
