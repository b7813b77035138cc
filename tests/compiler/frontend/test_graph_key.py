"""A key tells apart what is compiled differently, or refuses."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import fx

from compiler import torch_api
from compiler.frontend.graph_key import (
    NotKept,
    graph_key,
    graph_text,
    surroundings,
    takes_part,
)
from compiler.options import Options

aten = torch.ops.aten
Change = Callable[[fx.GraphModule], None]


def made(*more: Any, target: Any = aten.mul.Tensor) -> fx.GraphModule:
    """A graph of one call on one array, and a number that it holds."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.zeros(2, 3)
    number = graph.get_attr("number")
    number.meta["val"] = torch.zeros(())
    y = graph.call_function(target, (x, number))
    y.meta["val"] = torch.zeros(2, 3)
    graph.output((y,))
    module = fx.GraphModule({"number": torch.tensor(2.0)}, graph)
    y.args = (x, number, *more)  # which need not be Python's text
    return module


def node(graph: fx.GraphModule, name: str) -> fx.Node:
    found: fx.Node = next(n for n in graph.graph.nodes if n.name == name)
    return found


def value(change: torch.Tensor) -> Change:
    return lambda graph: node(graph, "x").meta.update(val=change)


def placed(graph: fx.GraphModule) -> None:
    node(graph, "mul_tensor").meta["stack_trace"] = 'File "a.py", line 3, in f\n x * 2'


CHANGES: dict[str, Change] = {
    "shape": value(torch.zeros(3, 2)),
    "strides": value(torch.zeros(3, 2).t()),
    "offset": value(torch.zeros(3, 3)[1:]),
    "strides as given": lambda graph: node(graph, "x").meta.update(strides=(1, 2)),
    "ending": lambda graph: node(graph, "x").meta.update(donated=False),
    "donated": lambda graph: node(graph, "x").meta.update(donated=True),
    "saved": lambda graph: graph.meta.update(saved=1),
    "type": value(torch.zeros(2, 3, dtype=torch.int64)),
    "device": value(torch.zeros(2, 3, device="meta")),
    "gradient": value(torch.zeros(2, 3, requires_grad=True)),
    "constant": lambda graph: setattr(graph, "number", torch.tensor(2.5)),
    "constant's sign": lambda graph: setattr(graph, "number", torch.tensor(-2.0)),
    "line": placed,
    "output": lambda graph: setattr(
        node(graph, "output"), "args", ((node(graph, "x"),),)
    ),
    "operator": lambda graph: setattr(
        node(graph, "mul_tensor"), "target", aten.add.Tensor
    ),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_each_part_of_a_graph_is_in_its_text(name: str) -> None:
    other = made()
    CHANGES[name](other)
    assert graph_text(made()) == graph_text(made()) != graph_text(other)


def test_numbers_are_told_apart_by_type_and_sign() -> None:
    numbers: list[Any] = [1, 1.0, True, "1", 0.0, -0.0, 1j, None, (1,), [1], (1, 1)]
    numbers += [torch.float32, torch.strided, torch.device("cpu"), slice(1), {"a": 1}]
    assert len({graph_text(made(number)) for number in numbers}) == len(numbers)


def test_options_that_change_code_are_in_the_key() -> None:
    def key(**options: Any) -> str:
        return graph_key(made(), Options(**options), ())

    plain = key()
    for options in ({"fast_math": False}, {"threads": 1}, {"deterministic": True}):
        assert key(**options) != plain
    assert key(trace="somewhere") == key(fallback=False) == plain


def test_who_takes_part_must_be_ours() -> None:
    from compiler.lower import lower

    assert graph_key(made(), Options(), [lower]) == graph_key(made(), Options(), ())
    with pytest.raises(NotKept, match="made"):
        graph_key(made(), Options(), [made])
    with pytest.raises(NotKept):
        graph_key(made(), Options(), [object()])
    assert takes_part({1: made, 2: node}, [lower]) == [node, lower]


def test_releases_and_defaults_surround_a_graph() -> None:
    before = surroundings("")
    torch.set_default_dtype(torch.float64)
    try:
        assert surroundings("") != before
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.__version__ in before
    assert len(surroundings("cuda")) == len(before) + 1


@pytest.mark.parametrize(
    "strange",
    [object(), lambda: 1, torch.Generator(), {1: object()}],
    ids=["object", "function", "generator", "nested"],
)
def test_values_of_no_text_are_refused(strange: Any) -> None:
    with pytest.raises(NotKept):
        graph_text(made(strange))


def test_functions_must_have_a_name() -> None:
    assert "_operator.add" in graph_text(made(target=operator.add))
    with pytest.raises(NotKept, match="lambda"):
        graph_text(made(target=lambda *args: args[0]))


def test_operators_whose_arguments_are_numbers_of_kernels_are_refused() -> None:
    graph = made()
    name = "triton_kernel_wrapper_functional"
    node(graph, "mul_tensor").target = torch_api.higher_order_of(name)
    with pytest.raises(NotKept, match="kernel of the user"):
        graph_text(graph)


def test_arrays_of_other_kinds_are_refused() -> None:
    graph = made()
    node(graph, "x").meta["val"] = torch.eye(3).to_sparse()
    with pytest.raises(NotKept, match="sparse"):
        graph_text(graph)


def test_graphs_inside_are_read_too() -> None:
    def outer(inner: fx.GraphModule) -> str:
        graph = fx.Graph()
        graph.output(graph.get_attr("inner"))
        return graph_text(fx.GraphModule({"inner": inner}, graph))

    changed = made()
    changed.number = torch.tensor(3.0)
    assert outer(made()) == outer(made()) != outer(changed)


def test_sizes_are_text_over_symbols_with_what_they_can_be() -> None:
    texts: list[str] = []

    def keep(graph: fx.GraphModule, inputs: Any) -> Any:
        texts.append(graph_text(graph))
        return torch_api.boxed(lambda args: graph.forward(*args))

    def backend(graph: fx.GraphModule, inputs: Any) -> Any:
        return torch_api.differentiate(
            graph,
            inputs,
            forward=keep,
            backward=keep,
            inference=keep,
            decompositions={},
        )

    torch_api.reset()
    compiled = torch.compile(lambda x: x.sin(), backend=backend, dynamic=True)
    compiled(torch.zeros(5))
    (text,) = texts
    assert " >= 2" in text and "[5 " not in text
