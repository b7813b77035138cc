from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.errors import CompileError
from compiler.ir.check import check_program
from compiler.ir.evaluate import run_program
from compiler.ir.expression import Expression
from compiler.ir.node import Buffer, Extern, Program
from compiler.lower import decompositions, lower

aten = torch.ops.aten


def symbolic(function: Callable[..., Any], *args: torch.Tensor) -> Program:
    gm = make_fx(
        function, decomposition_table=decompositions(), tracing_mode="symbolic"
    )(*args)
    program = lower(gm)
    check_program(program)
    return program


CASES: tuple[Callable[..., Any], ...] = (
    lambda x, y: (x + y) * 2,
    lambda x, y: x.softmax(-1) @ y.t(),
    lambda x, y: torch.cat([x, y], 1)[:, 1:],
    lambda x, y: x.reshape(-1).sum() + y.t().reshape(x.shape[1], -1).mean(1),
    lambda x, y: torch.nn.functional.layer_norm(x, (x.shape[1],)),
    lambda x, y: (x.flatten().repeat_interleave(3).flip(0), x.shape[0] * 3),
    lambda x, y: x.view(x.shape[0], 1, x.shape[1]).expand(-1, 2, -1),
    lambda x, y: torch.arange(x.shape[1], device=x.device) * x,
    lambda x, y: torch.nn.functional.pad(x, (1, 2)) / x.shape[0],
    lambda x, y: x[-2:, ::2].cumsum(0),
)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_sizes_that_are_not_known(number: int) -> None:
    function = CASES[number]
    traced = torch.randn(4, 6), torch.randn(4, 6)
    program = symbolic(function, *traced)
    for shape in ((4, 6), (3, 7), (8, 2)):
        x, y = torch.randn(shape), torch.randn(shape)
        sizes = {
            str(extent.data): known
            for value, tensor in zip(
                [b for b in program.inputs if isinstance(b, Buffer)],
                (x, y),
                strict=True,
            )
            for extent, known in zip(value.shape, tensor.shape, strict=True)
            if extent.op == "symbol"
        }
        tensors = iter((x, y))
        inputs = [
            sizes[str(value.data)] if isinstance(value, Expression) else next(tensors)
            for value in program.inputs
        ]
        found = run_program(program, inputs)
        wanted = function(x, y)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b)


def test_what_is_not_lowered_is_called(agree: Callable[..., Any]) -> None:
    x = torch.randn(4, 5)
    program = agree(lambda x: (x + 1).sort(1)[0] * 2, x, extern=True)
    (call,) = [node for node in program.nodes if isinstance(node, Extern)]
    assert call.target is aten.sort.default
    assert "no lowering" in call.reason
    agree(lambda x: torch.view_as_real(torch.polar(x, x) * 2) + 1, x, extern=True)
    agree(lambda x: x.topk(2, 1)[1], x, extern=True)


def test_the_users_line_is_kept() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    from torch._dynamo import export

    gm = export(function, aten_graph=True)(torch.randn(3)).graph_module
    (node,) = lower(gm).nodes
    assert "test_graph.py" in node.buffer.origin  # type: ignore[union-attr]


def test_constants_of_the_graph(agree: Callable[..., Any]) -> None:
    agree(lambda x: x * torch.tensor(2.5) + torch.tensor([1.0, 2, 3]), torch.randn(3))


def test_an_array_of_zeros_that_a_call_writes_is_read_from_memory() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(3)
        aten.cauchy_.default(y)
        return y + x

    gm = make_fx(function, tracing_mode="fake")(torch.zeros(3))
    (out,) = run_program(lower(gm), [torch.zeros(3)])
    assert isinstance(out, torch.Tensor) and bool(out.all())


def test_no_inputs_no_outputs() -> None:
    gm = make_fx(lambda: torch.ones(3) + 1, tracing_mode="fake")()
    (out,) = run_program(lower(gm), [])
    assert isinstance(out, torch.Tensor) and out.tolist() == [2, 2, 2]
    gm = make_fx(lambda x: None, tracing_mode="fake")(torch.ones(2))
    assert run_program(lower(gm), [torch.ones(2)]) == [None]


def test_graphs_that_cannot_be_lowered() -> None:
    graph = fx.Graph()
    node = graph.placeholder("x")
    node.meta["val"] = torch.zeros(3)
    graph.output((graph.call_module("layer", (node,)),))
    with pytest.raises(CompileError, match="calls the module layer"):
        lower(fx.GraphModule({"layer": torch.nn.Identity()}, graph))
    graph = fx.Graph()
    graph.placeholder("x").meta["val"] = "text"
    graph.output(())
    with pytest.raises(CompileError, match="x=str"):
        lower(fx.GraphModule({}, graph))
