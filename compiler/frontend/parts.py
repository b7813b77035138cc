"""Graphs with sizes that depend on data, in parts that have none of their own.

The number of elements that are not zero is known when they have been counted, and not
before. A graph is cut there: operators that make a size run by themselves, and what
lies between them is compiled, with the sizes that are known by then as arguments.
Which part a node is in says only how many such operators come before it on the way
from the inputs, so there are few parts.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from compiler import torch_api
from compiler.runtime.extern import settled

from .constants import attribute
from .source_lines import source_line

Compiled = Callable[[list[Any]], Any]
Compiler = Callable[[fx.GraphModule, Sequence[Any], int], Compiled]
"""Compiles a part: its graph, its fake inputs, its number."""


def makes_sizes(graph: fx.GraphModule) -> bool:
    """Return whether a graph has sizes that it makes from data, and can be cut there.

    It cannot be cut where something else than the last copies writes into memory.
    """
    makers = _makers(graph)
    writes = any(
        torch_api.written_arguments(node.target)
        and node.target is not torch.ops.aten.copy_.default
        for node in graph.graph.nodes
    )
    return bool(makers) and not writes


def in_parts(graph: fx.GraphModule, compiler: Compiler) -> tuple[Compiled, int]:
    """Return what runs a graph in parts, and how many parts are compiled.

    Args:
        graph: Of ATen operators, for which :func:`makes_sizes` holds.
        compiler: Compiles each part.
    """
    plan = _Plan(graph, compiler)
    return lambda args: plan.run(args), plan.compiled


def _makers(graph: fx.GraphModule) -> dict[fx.Node, set[str]]:
    """Return the nodes that make sizes, with the symbols that they make."""
    known: set[str] = set()
    found: dict[fx.Node, set[str]] = {}
    for node in graph.graph.nodes:
        names = torch_api.data_symbols([node.meta.get("val")])
        fresh = names - known
        if fresh and node.op == "call_function":
            found[node] = fresh
        known |= names
    return found


class _Plan:
    """Steps: compiled parts, and nodes that run by themselves."""

    def __init__(self, graph: fx.GraphModule, compiler: Compiler) -> None:
        self.graph = graph
        self.makers = _makers(graph)
        self.nodes = list(graph.graph.nodes)
        self.inputs = [node for node in self.nodes if node.op == "placeholder"]
        self.alone: set[fx.Node] = set()
        self.level: dict[fx.Node, int] = {}
        for node in self.nodes:
            self._place(node)
        last = max(self.level.values())
        (self.output,) = (node for node in self.nodes if node.op == "output")
        self.compiled = 0
        self.steps: list[Callable[[dict[Any, Any]], None]] = []
        for level in range(last + 1):
            self._add_part(level, compiler)
            for node in self.nodes:
                if node in self.alone and self.level[node] == level:
                    self.steps.append(self._single(node))

    def _place(self, node: fx.Node) -> None:
        """Decide whether a node runs by itself, and in or after which part."""
        writes = bool(torch_api.written_arguments(node.target))
        if node.op == "call_function" and self._is_alone(node, writes):
            self.alone.add(node)
        level = 0
        for arg in node.all_input_nodes:
            waits = arg in self.alone and node not in self.alone
            level = max(level, self.level[arg] + waits)
        if writes:  # after all that reads what was there before
            level = max(self.level.values())
            level += any(self.level[n] == level for n in self.alone)
        self.level[node] = level

    def _is_alone(self, node: fx.Node, writes: bool) -> bool:
        numbers = (torch.SymFloat, torch.SymBool)
        near = (node, *node.all_input_nodes)
        return (
            node in self.makers
            or any(isinstance(one.meta.get("val"), numbers) for one in near)
            or (torch_api.is_getitem(node) and node.args[0] in self.alone)
            or not (node.users or writes)
        )

    def _add_part(self, level: int, compiler: Compiler) -> None:
        inside = [
            node
            for node in self.nodes
            if self.level[node] == level
            and node.op == "call_function"
            and node not in self.alone
        ]
        if not inside:
            return
        members = set(inside)
        results = [
            node for node in inside if any(user not in members for user in node.users)
        ]
        written = [n for n in inside if torch_api.written_arguments(n.target)]
        part, given = self._part(inside, results)
        run = compiler(part, [fake for _, fake in given], self.compiled)
        keys = [key for key, _ in given]
        self.compiled += 1
        if not results and not written:
            return

        def step(values: dict[Any, Any]) -> None:
            made = run([values[key] for key in keys])
            values.update(zip(results, made, strict=True))

        self.steps.append(step)

    def _part(
        self, inside: Sequence[fx.Node], results: Sequence[fx.Node]
    ) -> tuple[fx.GraphModule, list[tuple[Any, Any]]]:
        """Return the graph of a part, and what it is given with its fake values.

        That is values of nodes, by node, and sizes, by the name of their symbol.
        """
        part = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        given: list[tuple[Any, Any]] = []
        members = set(inside)
        args = [arg for node in inside for arg in node.all_input_nodes]
        for node in dict.fromkeys(args):
            if node in members:
                continue
            if node.op == "get_attr":
                copies[node] = part.node_copy(node)
                continue
            copies[node] = part.placeholder(f"given_{len(given)}")
            copies[node].meta = dict(node.meta)
            given.append((node, node.meta.get("val")))
        for name in sorted(torch_api.symbols([n.meta.get("val") for n in inside])):
            key, fake = self._size(name)
            if fake is not None and key not in copies:
                part.placeholder(f"size_{name}").meta = {"val": fake}
                given.append((key, fake))
        for node in inside:
            copies[node] = part.node_copy(node, copies.__getitem__)
        part.output(tuple(copies[node] for node in results))
        return fx.GraphModule(self.graph, part), given

    def _size(self, name: str) -> tuple[Any, Any]:
        """Return where a size is found when the graph runs, and its fake value."""
        for node in self.inputs:
            if torch_api.symbolic_text(node.meta.get("val")) == name:
                return node, node.meta["val"]
        for node, names in self.makers.items():
            if name in names:
                return name, torch_api.symbol_in(node.meta.get("val"), name)
        return name, None

    def _single(self, node: fx.Node) -> Callable[[dict[Any, Any]], None]:
        """Return the step that runs one operator, and learns the sizes that it made."""
        target: Any = node.target
        fake = node.meta.get("val")
        line = source_line(node)
        places = torch_api.symbol_places(fake, self.makers.get(node, set()))

        def step(values: dict[Any, Any]) -> None:
            args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
            try:
                result = target(*args, **kwargs)
            except Exception as error:
                if line:
                    error.add_note(f"compiled from {line}")
                raise
            for name, find in places:
                values[name] = find(result)
            if isinstance(result, torch.Tensor):
                result = _as_promised(result, fake)
            values[node] = result

        return step

    def run(self, args: list[Any]) -> tuple[Any, ...]:
        """Run all steps; clears the arguments."""
        values: dict[Any, Any] = dict(zip(self.inputs, args, strict=True))
        args.clear()
        for node in self.nodes:
            if node.op == "get_attr":
                values[node] = attribute(self.graph, str(node.target))
        for step in self.steps:
            step(values)
        found = fx.map_arg(self.output.args[0], values.__getitem__)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _as_promised(tensor: torch.Tensor, fake: Any) -> torch.Tensor:
    """Return a result with the strides of the fake one, where those are numbers."""
    strides = fake.stride()
    if tensor.layout != torch.strided or not all(type(s) is int for s in strides):
        return tensor
    found = settled(tensor, tuple(tensor.shape), strides)
    assert found is not None
    return found
