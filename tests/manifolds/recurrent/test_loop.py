import torch

from manifolds.charts import SO
from manifolds.recurrent.loop import backward_loop, forward_loop
from manifolds.recurrent.modrelu import modrelu


def test_against_autograd() -> None:
    sizes = (3, 2, 2)
    inputs = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    start = torch.randn(3, 4, dtype=torch.float64)
    weight = SO().sample((4, 4), dtype=torch.float64)
    bias = (torch.randn(4, dtype=torch.float64) / 2).requires_grad_()
    h, steps = start, []
    for x in inputs.split(sizes):
        h = modrelu(x + h[: len(x)] @ weight, bias)
        steps.append(h)
    expected = torch.cat(steps)
    detached = [t.detach() for t in (inputs, start, weight, bias)]
    states = forward_loop(detached[0], detached[1], detached[2], detached[3], sizes)
    torch.testing.assert_close(states, expected.detach())
    gradient = torch.randn_like(states)
    wanted = torch.autograd.grad(expected, (inputs, bias), gradient)
    found = backward_loop(gradient, states, weight, detached[3], sizes)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_no_step() -> None:
    nothing = torch.zeros(0, 2)
    before, to_bias = backward_loop(nothing, nothing, torch.eye(2), torch.zeros(2), ())
    assert before.shape == (0, 2) and not to_bias.any()
