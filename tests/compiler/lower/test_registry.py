import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from compiler import torch_api
from compiler.frontend import capture
from compiler.ir.evaluate import run_program
from compiler.ir.node import Extern
from compiler.lower import Array, Builder, lower, lowering, registry
from compiler.lower.registry import LOWERINGS

aten = torch.ops.aten


def test_the_last_registration_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOWERINGS, aten.sin.default, None)

    @lowering(aten.sin.default)
    def wrong(b: Builder, x: Array) -> Array:
        return b.result_map(x.at)

    x = torch.randn(3)
    program = lower(make_fx(torch.sin, tracing_mode="fake")(x))
    (found,) = run_program(program, [x])
    assert isinstance(found, torch.Tensor) and found.equal(x)


def test_a_lowering_of_another_type_or_shape_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wide(b: Builder, x: Array) -> Array:
        return b.map(x.shape, "float64", x.at, device="cpu")

    def short(b: Builder, x: Array) -> Array:
        return b.map((1,), "float32", x.at, device="cpu")

    def several(b: Builder, x: Array) -> tuple[Array, Array]:
        made = b.map((), "float32", lambda i: x.at((0,)), device="cpu")
        return made, made, made  # type: ignore[return-value]

    x = torch.randn(3)
    for wrong in (wide, short):
        monkeypatch.setitem(LOWERINGS, aten.sin.default, wrong)
        (node,) = lower(make_fx(torch.sin, tracing_mode="fake")(x)).nodes
        assert isinstance(node, Extern)
        assert "lowered to" in node.reason
    monkeypatch.setitem(LOWERINGS, aten.aminmax.default, several)
    gm = make_fx(lambda x: aten.aminmax(x), tracing_mode="fake")(x)
    (node,) = lower(gm).nodes
    assert isinstance(node, Extern)


def test_a_rewrite_of_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(registry, "JOINT_REWRITES", [])

    @registry.rewriting_both
    def look(module: fx.GraphModule) -> None:
        seen.append(len(module.graph.find_nodes(op="placeholder")))

    assert registry.rewriting_both(look) is look
    (only,) = registry.JOINT_REWRITES
    assert only is look
    monkeypatch.setattr(capture, "JOINT_REWRITES", registry.JOINT_REWRITES)
    torch_api.reset()
    x = torch.randn(3, requires_grad=True)
    torch.compile(lambda x: x.sin(), backend="tilewright")(x).sum().backward()
    assert seen == [2]  # the input and the gradient of the result
