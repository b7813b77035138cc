from collections.abc import Sequence
from typing import Any

import torch

from compiler import torch_api
from compiler.frontend import compile_captured
from compiler.options import Options


def compiled(function: Any) -> Any:
    def backend(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        return compile_captured(graph, inputs, Options())

    torch_api.reset()
    return torch.compile(function, backend=backend)


def test_inference_and_training() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() * x).sum()

    run = compiled(f)
    x = torch.randn(5)
    torch.testing.assert_close(run(x), f(x))
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    run(ours).backward()
    f(theirs).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_overlap_is_seen_in_every_call() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + y

    run = compiled(f)
    torch.testing.assert_close(
        run(torch.ones(3), torch.ones(3)), torch.tensor([3.0, 3.0, 3.0])
    )
    for start in (0, 1, 3, 2):
        ours, theirs = torch.arange(6.0), torch.arange(6.0)
        torch.testing.assert_close(
            run(ours[:3], ours[start : start + 3]),
            f(theirs[:3], theirs[start : start + 3]),
        )
        torch.testing.assert_close(ours, theirs)


def test_the_same_argument_twice() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + y

    run = compiled(f)
    ours, theirs = torch.ones(3), torch.ones(3)
    torch.testing.assert_close(run(ours, ours), f(theirs, theirs))
    torch.testing.assert_close(run(ours, torch.ones(3)), f(theirs, torch.ones(3)))
