import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.ir.node import Assign, Extern, Map, Reduce, written
from compiler.lower import lower
from compiler.lower.liveness import read

aten = torch.ops.aten


def test_what_nothing_needs_is_gone() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        aten.mm(x, x)
        normal: torch.Tensor = aten.native_layer_norm(x, [3], None, None, 1e-5)[0]
        return normal

    gm = make_fx(function, tracing_mode="fake")(torch.randn(3, 3))
    nodes = lower(gm).nodes
    assert [type(node) for node in nodes] == [Reduce, Map]


def test_effects_stay() -> None:
    def function(x: torch.Tensor) -> None:
        x.add_(1)
        torch.rand(3)

    gm = make_fx(function, tracing_mode="fake")(torch.randn(3))
    nodes = lower(gm).nodes
    assert any(isinstance(node, Assign) for node in nodes)


def test_what_nodes_read() -> None:
    def function(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, x).index_put((at,), x[0])
        return torch.as_strided(y, (2,), (1,), 0)

    gm = make_fx(function, tracing_mode="fake")(torch.randn(3, 3), torch.tensor([1]))
    program = lower(gm)
    known = {"x_1", "at_1"}
    for node in program.nodes:
        assert read(node) <= known, node
        known |= {buffer.name for buffer in written(node)}
    assert isinstance(program.nodes[0], Extern)


def test_results_of_calls_that_nothing_needs_are_gone() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        values, _ = x.sort()
        return values

    gm = make_fx(function, tracing_mode="fake")(torch.randn(3))
    (call,) = lower(gm).nodes
    assert isinstance(call, Extern)
    assert [b is not None for b in call.outputs] == [True, False]
