import torch

from compiler.frontend.source_lines import source_line
from compiler.torch_api import reset


def test_the_innermost_line_of_the_user() -> None:
    found: list[str] = []

    def keep(graph: torch.fx.GraphModule, inputs: list[object]) -> object:
        found.extend(source_line(node) for node in graph.graph.nodes)
        return graph.forward

    def inner(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    reset()
    torch.compile(lambda x: inner(x), backend=keep)(torch.ones(2))
    lines = [line for line in found if line]
    assert lines and all("test_source_lines.py" in line for line in lines)
    assert any(line.endswith("return x.sin()") for line in lines)


def test_nothing_is_known_of_nodes_without_a_trace() -> None:
    graph = torch.fx.Graph()
    assert source_line(graph.placeholder("x")) == ""
