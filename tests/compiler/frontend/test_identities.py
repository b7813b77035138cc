from collections.abc import Callable

import pytest
import torch
from torch import fx
from torch.nn import functional

from compiler.frontend.identities import without_identities

Function = Callable[[torch.Tensor], torch.Tensor]

IDLE: dict[str, Function] = {
    "no share": lambda x: functional.dropout(x, 0.0),
    "no share by keyword": lambda x: functional.dropout(x, p=0),
    "evaluation": lambda x: functional.dropout(x, 0.5, False),
    "evaluation by keyword": lambda x: functional.dropout(x, training=False),
    "of torch": lambda x: torch.dropout(x, 0.0, True),
    "of torch by keyword": lambda x: torch.dropout(x, p=0.5, train=False),
}
BUSY: dict[str, Function] = {
    "a share": lambda x: functional.dropout(x, 0.5),
    "all": lambda x: functional.dropout(x, 1.0),
    "in place": lambda x: functional.dropout(x, 0.0, True, True),
}


@pytest.mark.parametrize("name", IDLE)
def test_what_drops_nothing_is_its_argument(name: str) -> None:
    x = torch.ones(3)
    assert IDLE[name](x) is x
    graph = fx.symbolic_trace(IDLE[name])
    without_identities(graph)
    assert [node.op for node in graph.graph.nodes] == ["placeholder", "output"]
    assert graph(x) is x


@pytest.mark.parametrize("name", BUSY)
def test_what_drops_or_writes_stays(name: str) -> None:
    graph = fx.symbolic_trace(BUSY[name])
    before = len(graph.graph.nodes)
    without_identities(graph)
    assert len(graph.graph.nodes) == before


@pytest.mark.parametrize("name", IDLE)
def test_compiled_it_shares_memory_as_in_eager_mode(name: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = IDLE[name](x)
        y.mul_(2)
        return y

    x = torch.ones(3)
    torch.compiler.reset()
    y = torch.compile(f, backend="tilewright")(x)
    assert y.data_ptr() == x.data_ptr()
    assert torch.equal(x, torch.full((3,), 2.0))
