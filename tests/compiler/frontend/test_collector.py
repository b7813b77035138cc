"""Garbage is collected after a compilation as before it."""

import gc
from importlib import import_module
from typing import Any

import pytest

from compiler.frontend.collector import collector_paused


def test_it_is_on_again_however_the_block_ends() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="inside"), collector_paused():
        raise ValueError("inside")
    assert gc.isenabled()


def test_a_collector_that_the_user_turned_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_graphs_are_compiled_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from tilewright.backend import compile as tilewright_compile

    capture: Any = import_module("compiler.frontend.capture")
    seen: list[bool] = []
    plain = capture.compile_graph

    def compile_graph(*args: object, **kwargs: object) -> object:
        seen.append(gc.isenabled())
        return plain(*args, **kwargs)

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        return tilewright_compile(graph, inputs, options={"lower": False})

    monkeypatch.setattr(capture, "compile_graph", compile_graph)
    torch._dynamo.reset()
    x = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: x.sin().sum(), backend=backend)
    compiled(x).backward()
    assert seen == [False, False]
    assert gc.isenabled()
