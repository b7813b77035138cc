import pytest
import torch
from torch import Tensor, fx

from compiler.lower import REWRITES, rewriting


def test_a_rewrite_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    monkeypatch.setattr("compiler.lower.registry.REWRITES", found)

    def rewrite(_: fx.GraphModule) -> None:
        """Does nothing."""

    assert rewriting(rewrite) is rewriting(rewrite) is rewrite
    assert found == [rewrite]


def test_rewrites_run_before_a_graph_is_lowered() -> None:
    def negate(module: fx.GraphModule) -> None:
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.sin.default:
                node.target = torch.ops.aten.cos.default
        module.recompile()

    def f(x: Tensor) -> Tensor:
        return x.sin()

    rewriting(negate)
    try:
        x = torch.randn(5)
        torch.testing.assert_close(torch.compile(f, backend="tilewright")(x), x.cos())
    finally:
        REWRITES.remove(negate)
        torch._dynamo.reset()
