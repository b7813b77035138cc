import operator

import pytest
import torch

from compiler import torch_api
from compiler.frontend.freeze import freeze
from compiler.lower import decompositions

aten = torch.ops.aten
# torch.export uses what torch deprecates
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


def frozen(
    model: torch.nn.Module, *inputs: torch.Tensor
) -> tuple[torch.fx.GraphModule, dict[str, torch.Tensor]]:
    program = torch.export.export(model.eval(), inputs)
    program = program.run_decompositions(decompositions())
    graph, weights, _ = torch_api.exported_graph(program)
    return graph, freeze(graph, weights)


def targets(graph: torch.fx.GraphModule) -> list[object]:
    return [n.target for n in graph.graph.nodes if n.op == "call_function"]


def test_a_normalisation_goes_into_its_convolution() -> None:
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm2d(4)
    norm.running_mean = torch.randn(4)
    norm.running_var = torch.rand(4) + 0.5
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    for bias in (True, False):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, bias=bias), norm)
        x = torch.randn(2, 3, 6, 6)
        graph, weights = frozen(model, x)
        assert targets(graph) == [aten.convolution.default]
        (result,) = graph(*weights.values(), x)
        torch.testing.assert_close(result, model.eval()(x))


def test_a_convolution_that_others_read_stays() -> None:
    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 1)
            self.norm = torch.nn.BatchNorm2d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.conv(x)
            return torch.add(y, self.norm(y))

    model, x = Both(), torch.randn(1, 3, 2, 2)
    graph, weights = frozen(model, x)
    assert operator.getitem in targets(graph)
    (result,) = graph(*weights.values(), x)
    torch.testing.assert_close(result, model(x))


def test_what_weights_alone_decide_is_computed_now() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.mm(x, (self.weight.exp() / 2).t())

    model, x = Scaled(), torch.randn(2, 3)
    graph, weights = frozen(model, x)
    assert targets(graph) == [aten.mm.default]
    (value,) = weights.values()
    torch.testing.assert_close(value, (model.weight.exp() / 2).t())
    torch.testing.assert_close(graph(value, x)[0], model(x))


def test_random_operators_are_left_to_the_run() -> None:
    class Noise(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.rand_like(self.weight)

    graph, weights = frozen(Noise(), torch.randn(3))
    assert len(targets(graph)) == 2 and len(weights) <= 1
