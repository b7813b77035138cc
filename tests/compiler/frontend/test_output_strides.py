from collections.abc import Callable

import pytest
import torch
from torch import fx

from compiler.frontend.output_strides import captured_strides

Function = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]


def scattered(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    places = torch.zeros(x.shape, dtype=torch.int64)
    x.scatter_(0, places, 2)
    return x % 3, x


def scattered_copy(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x + 1
    y.scatter_(0, torch.zeros(x.shape, dtype=torch.int64), 2)
    return y * 2, y.sum(0)


def two_that_share(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x + 1
    y.scatter_(0, torch.zeros(x.shape, dtype=torch.int64), 2)
    return y, y[0]


def beside_a_write(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = torch.nn.functional.logsigmoid(x)  # row-major, whatever x is
    z = torch.index_fill(x.expand(2, *x.shape), -1, torch.tensor([0]), 3)
    x.mul_(2)
    return y < -1e-4, z, x + 1


FUNCTIONS = [scattered, scattered_copy, two_that_share, beside_a_write]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("gradients", [False, True], ids=["inference", "training"])
def test_results_have_the_strides_of_capture(
    function: Function, gradients: bool
) -> None:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return function(x * 1 if gradients else x)

    ours, theirs = (
        torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1).requires_grad_(gradients)
        for _ in range(2)
    )
    torch.compiler.reset()
    found = torch.compile(run, backend="tilewright")(ours)
    wanted = run(theirs)
    for one, other in zip((*found, ours), (*wanted, theirs), strict=True):
        assert torch.equal(one, other)
        assert one.stride() == other.stride()
    memory = [value.untyped_storage().data_ptr() for value in found]
    assert (len(set(memory)) == 1) == (function is two_that_share)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_have_them_for_symbolic_sizes(function: Function) -> None:
    torch.compiler.reset()
    compiled = torch.compile(function, backend="tilewright", dynamic=True)
    for size in (4, 5):
        ours, theirs = (
            torch.arange(6.0 * size).view(2, 3, size).permute(2, 0, 1) for _ in range(2)
        )
        found, wanted = compiled(ours), function(theirs)
        for one, other in zip((*found, ours), (*wanted, theirs), strict=True):
            assert torch.equal(one, other)
            assert one.stride() == other.stride()


def test_only_graphs_that_write_are_looked_at() -> None:
    class Module(torch.nn.Module):
        def __init__(self, writes: bool) -> None:
            super().__init__()
            self.writes = writes

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
            return (x.add_(1).t() if self.writes else x.add(1).t(),)

    for writes in (False, True):
        graph = fx.symbolic_trace(Module(writes))
        for node in graph.graph.nodes:
            node.meta["example_value"] = torch.zeros(3, 2).t()
        assert captured_strides(graph) == ({0: (1, 2)} if writes else {})
