import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from algebra.verdict import Proved, Refuted, Verdict
from compiler import torch_api
from compiler.errors import CompileError, FallbackWarning
from compiler.frontend import Certificate, compile_graph
from compiler.frontend.validator import MEMORY, Emitted
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Program
from compiler.options import Options

GOOD = Proved()
Graph = tuple[torch.fx.GraphModule, list[Any]]


def captured(function: Any, *args: Any) -> Graph:
    """The graph that AOTAutograd makes of a function, with its fake inputs."""
    found: list[Graph] = []

    def keep(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        found.append((graph, list(inputs)))

        forward: Any = graph.forward

        def run(args: list[Any]) -> Any:
            return forward(*args)

        return torch_api.boxed(run)

    def backend(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        return torch_api.differentiate(
            graph,
            inputs,
            forward=keep,
            backward=keep,
            inference=keep,
            decompositions=torch_api.core_decompositions(),
        )

    torch_api.reset()
    compiled: Any = torch.compile(function, backend=backend)
    compiled(*args)
    return found[0]


def f(x: torch.Tensor, y: torch.Tensor) -> Any:
    return (x + y).relu(), (x * y).sum(-1)


ARGS = torch.randn(3, 4), torch.randn(3, 4)


def test_a_graph_becomes_a_boxed_function() -> None:
    graph, inputs = captured(f, *ARGS)
    run = compile_graph(graph, inputs)
    args = list(ARGS)
    torch.testing.assert_close(tuple(run(args)), f(*ARGS))
    assert args == [] and run._boxed_call  # type: ignore[attr-defined]
    product = run.product  # type: ignore[attr-defined]
    assert product.wrapper.launches >= 1 and product.certificates == ()


def test_without_lowering_the_graph_runs_as_captured() -> None:
    graph, inputs = captured(f, *ARGS)
    run = compile_graph(graph, inputs, Options(lower=False))
    assert run.product is None  # type: ignore[attr-defined]
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))


def fail(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("a part is missing")


def test_what_cannot_be_lowered_runs_as_captured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph, inputs = captured(f, *ARGS)
    monkeypatch.setattr("compiler.lower.lower", fail)
    with pytest.warns(FallbackWarning, match="inference .*ValueError: a part is"):
        run = compile_graph(
            graph, inputs, Options(trace=str(tmp_path)), name="inference"
        )
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))
    (summary,) = tmp_path.glob("*/summary.json")
    assert "a part is missing" in json.loads(summary.read_text())["error"]


def test_or_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, inputs = captured(f, *ARGS)
    monkeypatch.setattr("compiler.lower.lower", fail)
    with pytest.raises(CompileError, match="a part is missing"):
        compile_graph(graph, inputs, Options(fallback=False))


def test_the_trace_has_every_stage(tmp_path: Path) -> None:
    graph, inputs = captured(f, *ARGS)
    compile_graph(graph, inputs, Options(trace=str(tmp_path)), name="inference")
    (folder,) = tmp_path.iterdir()
    for name in ("graph.py", "program.txt", "schedule.txt", "wrapper.py"):
        assert (folder / name).read_text().strip()
    facts = json.loads((folder / "summary.json").read_text())
    assert {"lower", "schedule", "build", "wrap"} <= set(facts["seconds"])
    names = [row["name"] for row in facts["kernels"]]
    assert sorted(p.stem for p in (folder / "kernels").iterdir()) == sorted(names)


class Judge:
    """Says one thing of each kernel, of the memory plan, and of each text."""

    def __init__(
        self, kernel: Verdict = GOOD, plan: Verdict = GOOD, text: Verdict = GOOD
    ) -> None:
        self.kernel, self.plan, self.text = kernel, plan, text
        self.texts: list[Emitted] = []

    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> Sequence[Certificate]:
        assert program is not None
        kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
        found = [Certificate(k.name, {"in_bounds": self.kernel}) for k in kernels]
        return [*found, Certificate(MEMORY, {"memory_plan": self.plan})]

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> Sequence[Certificate]:
        self.texts += kernels
        return [Certificate(e.kernel.name, {"ttir": self.text}) for e in kernels]


def test_a_refuted_kernel_does_not_run_compiled() -> None:
    refutes = Judge(Refuted("x0 = 9"))
    graph, inputs = captured(f, *ARGS)
    with pytest.warns(FallbackWarning, match=r"test_graph.py.*in_bounds .* x0 = 9"):
        run = compile_graph(graph, inputs, Options(certify=True), refutes)
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))
    # nobody is asked without the option
    compile_graph(*captured(f, *ARGS), Options(), refutes)


def test_a_refuted_memory_plan_does_not_run() -> None:
    judge = Judge(plan=Refuted("y is dead"))
    graph, inputs = captured(f, *ARGS)
    with pytest.warns(FallbackWarning, match="memory_plan is refuted by y is dead"):
        run = compile_graph(graph, inputs, Options(certify=True), judge)
    assert run.product is None  # type: ignore[attr-defined]
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))
    graph, inputs = captured(f, *ARGS)
    with pytest.raises(CompileError, match="memory_plan"):
        compile_graph(graph, inputs, Options(certify=True, fallback=False), judge)


def test_inputs_that_are_not_as_promised_run_as_captured() -> None:
    graph, inputs = captured(f, *ARGS)
    run = compile_graph(graph, inputs)
    other = torch.randn(4, 3).T, torch.randn(5, 4)[1:4]
    torch.testing.assert_close(tuple(run(list(other))), f(*other))
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))


def test_tensors_of_the_graph_are_found() -> None:
    def g(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([1.0, 2.0, 3.0, 4.0]) + torch.tensor([5.0])

    graph, inputs = captured(g, ARGS[0])
    run = compile_graph(graph, inputs)
    for _ in range(2):
        torch.testing.assert_close(run([ARGS[0]])[0], g(ARGS[0]))


def test_the_line_that_cannot_be_lowered_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from compiler.lower.registry import LOWERINGS

    graph, inputs = captured(f, *ARGS)
    monkeypatch.setitem(LOWERINGS, torch.ops.aten.relu.default, fail)
    with pytest.warns(FallbackWarning, match=r"from .*test_graph\.py:\d+ \(f\)"):
        run = compile_graph(graph, inputs)
    torch.testing.assert_close(tuple(run(list(ARGS))), f(*ARGS))
