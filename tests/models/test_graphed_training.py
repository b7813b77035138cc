"""Training with CUDA graphs: the same gradients, replays alone after a few steps.

On the CPU a recorder repeats the work, by addresses, as a graph does.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from compiler.frontend import recording
from compiler.runtime import graphs
from compiler.runtime.graphs import GraphedCall
from tests.compiler.runtime.test_graphs import Recorder
from tilewright.backend import compile as tilewright

ON_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, ON_GPU])]

Step = Callable[[Any, Any, torch.Tensor], torch.Tensor]


class Net(nn.Module):
    """Convolutions with batch statistics, and a linear layer; returns a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()),
        )
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.body(x).mean((2, 3)))
        return scores.square().mean()


def zero_first(net: Any, optimizer: Any, x: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    loss: torch.Tensor = net(x)
    loss.backward()
    optimizer.step()
    return loss


def zero_between(net: Any, optimizer: Any, x: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = net(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def accumulate(net: Any, optimizer: Any, x: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    for part in x.chunk(2):
        loss: torch.Tensor = net(part)
        loss.backward()
    optimizer.step()
    return loss


def two_at_once(net: Any, optimizer: Any, x: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    one, two = (net(part) for part in x.chunk(2))
    loss: torch.Tensor = one + two
    loss.backward()
    optimizer.step()
    return loss


def trained(
    step: Step, device: str, way: Callable[[Any], Any], after: Callable[[int], None]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the losses, all held meanwhile, and the weights after 20 steps."""
    torch.manual_seed(0)
    net = Net().to(device, torch.float64)
    ready, optimizer = way(net), torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    losses, junk = [], []
    for number in range(20):
        # random inputs that lie elsewhere each time, and a held loss
        junk.append(torch.empty(2**16 + 2**9 * number, device=device))
        x = torch.randn(8, 3, 8, 8, dtype=torch.float64).to(device)
        losses.append(step(ready, optimizer, x))
        after(number)
    return losses, [value.detach() for value in net.state_dict().values()]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("step", [zero_first, zero_between, accumulate, two_at_once])
def test_training_is_the_same_with_graphs(
    step: Step, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[GraphedCall] = []
    recorder = Recorder()

    def graphed(run: Any, **options: Any) -> GraphedCall:
        if device == "cpu":
            options["record"] = recorder
        calls.append(GraphedCall(run, **options))
        return calls[-1]

    monkeypatch.setattr(graphs, "GraphedCall", graphed)
    if device == "cpu":
        monkeypatch.setattr(recording, "recordable", lambda schedule: "")
    counts: list[tuple[int, int]] = []

    def count(number: int) -> None:
        replays = sum(call.replays for call in calls)
        counts.append((replays, sum(len(call.recordings) for call in calls)))

    def with_graphs(net: Any) -> Any:
        options: dict[str, Any] = {"mode": "reduce-overhead", "cache": False}
        return torch.compile(net, backend=tilewright, options=options)

    def without(net: Any) -> Any:
        return torch.compile(net, backend=tilewright, options={"cache": False})

    torch._dynamo.reset()
    found = trained(step, device, with_graphs, count)
    torch._dynamo.reset()
    exact = trained(step, device, without, lambda number: None)
    for ours, theirs in zip(found, exact, strict=True):
        for one, two in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)
    forward, backward = calls
    assert not forward.reason and not backward.reason
    per_step = 2 if step in (zero_first, zero_between) else 4
    replays = [after[0] - before[0] for before, after in itertools.pairwise(counts)]
    assert replays[6:] == [per_step] * 13, counts
    assert counts[6][1] == counts[-1][1], counts
    # nothing that the forward pass kept is copied: only the loss's gradient
    sizes = [
        memory.numel() for r in backward.recordings for memory in r.copied.values()
    ]
    assert all(size == 1 for size in sizes), sizes
    if step is zero_first:
        (first,), (then,) = forward.recordings, backward.recordings
        assert first.pool is then.pool
        assert then.taken  # what was kept may be written over, or given again
