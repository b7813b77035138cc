import torch
from torch import fx

from compiler.frontend.constants import attribute, lift_constants


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.tensor([1.0, 2.0])
        self.inner = torch.nn.Module()
        self.inner.register_buffer("shift", torch.tensor([3.0, 4.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shift = self.inner.shift
        assert isinstance(shift, torch.Tensor)
        return x * self.table + shift - self.table


def test_tensors_become_last_arguments() -> None:
    graph = fx.symbolic_trace(Holder())
    x = torch.tensor([5.0, 6.0])
    wanted = graph(x)
    tensors = lift_constants(graph)
    assert [t.tolist() for t in tensors] == [[1.0, 2.0], [3.0, 4.0]]
    kinds = [node.op for node in graph.graph.nodes]
    assert "get_attr" not in kinds
    assert kinds[:3] == ["placeholder"] * 3
    assert torch.equal(graph(x, *tensors), wanted)


def test_a_graph_without_tensors_stays() -> None:
    graph = fx.symbolic_trace(torch.nn.Identity())
    assert lift_constants(graph) == []


def test_a_graph_without_arguments() -> None:
    class Alone(torch.nn.Module):
        table = torch.ones(2)

        def forward(self) -> torch.Tensor:
            return self.table + 1

    graph = fx.symbolic_trace(Alone())
    (table,) = lift_constants(graph)
    assert torch.equal(graph(table), torch.full((2,), 2.0))


def test_dotted_names() -> None:
    assert attribute(Holder(), "inner.shift").tolist() == [3.0, 4.0]
