"""What the forward pass keeps is laid out for convolutions; gradients are the same."""

import copy
from typing import Any

import pytest
import torch
from torch import fx, nn

from compiler import torch_api
from compiler.frontend.graph import compile_graph
from compiler.frontend.saved import (
    as_captured,
    mark_donated,
    mark_given,
    private_results,
    restored,
)
from compiler.ir.index import constant_value
from compiler.ir.kernel import Allocate, Schedule
from compiler.ir.node import Buffer, Extern, Program
from compiler.lower import graph as lowering
from compiler.lower import lower
from compiler.schedule import channels

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.last = nn.Conv2d(16, 8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        z = torch.relu(self.second(y) + y)
        return nn.functional.silu(self.last(z)).flatten(2).mean(2), z


def step(model: nn.Module, run: Any, x: torch.Tensor) -> list[torch.Tensor]:
    x = x.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        value, image = run(x)
    (value.float().square().sum() + image.float().mean()).backward()
    assert x.grad is not None
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [value.detach(), image.detach(), x.grad, *gradients]


@pytest.mark.filterwarnings("error::compiler.errors.FallbackWarning")
def test_a_training_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts of a GPU, on a CPU; certified; results with eager mode's strides."""
    told: list[Any] = []
    report = torch_api.report_strides
    monkeypatch.setattr(channels, "DEVICE", "cpu")

    def listen(strides: Any) -> None:
        told.extend(strides)
        report(strides)

    monkeypatch.setattr(torch_api, "report_strides", listen)
    torch.manual_seed(0)
    torch_api.reset()
    model, x = Net(), torch.randn(2, 3, 8, 8)
    wide, plain = copy.deepcopy(model).double(), copy.deepcopy(model)
    theirs = step(plain, plain, x)
    options: dict[str, Any] = {"certify": True, "cache": False}
    compiled = torch.compile(model, backend="tilewright", options=options)
    ours = step(model, compiled, x)
    given = x.double().requires_grad_()
    value, image = wide(given)
    (value.square().sum() + image.mean()).backward()
    assert given.grad is not None
    exact = [value, image, given.grad, *(p.grad for p in wide.parameters())]
    scale = torch.finfo(torch.bfloat16).eps
    for mine, other, true in zip(ours, theirs, exact, strict=True):
        assert (mine.dtype, mine.stride()) == (other.dtype, other.stride())
        error, allowed = ((t.double() - true).norm() for t in (mine, other))
        assert error <= 3 * allowed + 4 * scale * max(1.0, float(true.detach().norm()))
    kept = [strides for strides in told if strides is not None and len(strides) == 4]
    images = [strides for strides in kept if strides[3] == 16]
    assert images and all(strides[1] == 1 for strides in images)


def graph_of(*targets: Any) -> fx.GraphModule:
    """A graph that gives its one image to calls."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.arange(120.0).view(2, 3, 4, 5)
    results = []
    for target, *rest in targets:
        results.append(graph.call_function(target, (x, *rest)))
        results[-1].meta["val"] = target(x.meta["val"], *rest)
    graph.output(tuple(results))
    return fx.GraphModule({}, graph)


def marked(graph: fx.GraphModule) -> torch.Tensor:
    value: Any = next(iter(graph.graph.nodes)).meta["val"]
    turned: torch.Tensor = value.contiguous(memory_format=torch.channels_last)
    mark_given(graph, [turned])
    return turned


def run_program(program: Program, value: torch.Tensor) -> list[torch.Tensor]:
    from compiler.frontend.kernels import build_kernels
    from compiler.ir.kernel import Kernel
    from compiler.options import Options
    from compiler.runtime.wrapper import wrap
    from compiler.schedule import schedule

    planned = schedule(program)
    kernels = [step for step in planned.steps if isinstance(step, Kernel)]
    wrapper = wrap(planned, build_kernels(kernels, Options(), frozenset()))
    return list(wrapper.run([value]))


VIEW = (aten.view.default, [6, 20])
STRIDED = (aten.as_strided.default, [3, 7], [2, 11], 1)
SUM = (aten.sum.dim_IntList, [1])


@pytest.mark.parametrize(
    "targets", [(VIEW, SUM), (STRIDED, SUM)], ids=["view", "strided"]
)
def test_inputs_of_other_strides(targets: tuple[Any, ...]) -> None:
    graph = graph_of(*targets)
    value = marked(graph)
    program = lower(graph)
    (given,) = program.inputs
    assert isinstance(given, Buffer) and given.strides is not None
    assert tuple(map(constant_value, given.strides)) == value.stride()
    for found, call in zip(run_program(program, value), targets, strict=True):
        assert torch.equal(found, call[0](value.contiguous(), *call[1:]))
    for found, call in zip(as_captured(graph)(value), targets, strict=True):
        assert torch.equal(found, call[0](value.contiguous(), *call[1:]))


def test_other_calls_get_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of((aten.renorm.default, 2, 1, 1.0))
    value = marked(graph)
    program = lower(graph)
    (given,) = program.inputs
    call = next(node for node in program.nodes if isinstance(node, Extern))
    assert isinstance(given, Buffer) and call.args[0].name != given.name
    (found,) = run_program(program, value)
    wanted = value.contiguous().renorm(2, 1, 1.0)
    assert torch.equal(found, wanted) and found.stride() == wanted.stride()
    monkeypatch.setattr(lowering, "_OF_ANY_STRIDES", {aten.renorm.default})
    (call,) = (node for node in lower(graph).nodes if isinstance(node, Extern))
    assert call.args[0].name == given.name


def test_marks_are_taken_back() -> None:
    graph = graph_of(VIEW)
    assert restored(graph) is None
    value = marked(graph)
    restore = restored(graph)
    assert restore is not None and restored(graph) is None
    arguments = [value]
    restore(arguments)
    assert arguments[0].is_contiguous() and torch.equal(arguments[0], value)


def test_equal_strides_are_no_mark() -> None:
    graph = graph_of(VIEW)
    mark_given(graph, [torch.zeros(2, 3, 4, 5)])
    assert as_captured(graph) == graph.forward


def test_what_may_be_taken_is_alone_in_its_storage_on_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = fx.Graph()
    whole = torch.zeros(4, 4)
    values = [torch.zeros(3), whole, whole[0], torch.zeros(5), torch.zeros(6)]
    for name, value in zip("abcde", values, strict=True):
        graph.placeholder(name).meta["val"] = value
    graph.output(())
    module = fx.GraphModule({}, graph)
    monkeypatch.setattr(torch_api, "donated_inputs", lambda: (0, 1, 2, 3))
    mark_donated(module, frozenset("abce"))
    found = {node.name: node.meta.get("donated") for node in graph.nodes}
    del found["output"]
    assert found == {"a": True, "b": False, "c": False, "d": False, "e": None}
    program = lower(module)
    assert program.ending == set("abcd") and program.donated == {"a"}
    restored(module)
    assert not any("donated" in node.meta for node in graph.nodes)


def test_private_results_are_named_as_the_backward_graph_names_them() -> None:
    graph = graph_of(VIEW, SUM)
    nodes = graph.graph.find_nodes(op="output")[0].args[0]
    schedule = Schedule((), (), ("p", "q"), private=frozenset("pq"))
    assert private_results(schedule, graph) == frozenset()
    graph.meta["saved"] = 1
    assert private_results(schedule, graph) == {nodes[1].name}
    schedule = Schedule((), (), ("p", "q"), private=frozenset("p"))
    assert private_results(schedule, graph) == frozenset()


@pytest.mark.filterwarnings("error::compiler.errors.FallbackWarning")
def test_what_is_kept_is_written_over_when_it_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schedules: dict[str, Schedule] = {}
    plain = compile_graph

    def listen(*args: Any, name: str) -> Any:
        run: Any = plain(*args, name=name)
        schedules[name] = run.product.schedule
        return run

    def loss(x: torch.Tensor) -> torch.Tensor:
        for weight in weights:
            x = torch.sin(x @ weight)
        return x.square().sum()

    def gradients(run: Any, **how: Any) -> list[torch.Tensor]:
        return list(torch.autograd.grad(run(x), weights, **how))

    monkeypatch.setattr("compiler.frontend.capture.compile_graph", listen)
    torch.manual_seed(0)
    torch_api.reset()
    weights = [torch.randn(8, 8, requires_grad=True) for _ in range(3)]
    x = torch.randn(4, 8)
    options: dict[str, Any] = {"certify": True, "cache": False}
    compiled = torch.compile(loss, backend="tilewright", options=options)
    wanted = gradients(loss)
    for _ in range(2):
        torch.testing.assert_close(gradients(compiled), wanted)
    backward = schedules["backward"]
    takes = {s.reuse for s in backward.steps if isinstance(s, Allocate)}
    assert takes & backward.donated
    torch_api.reset()
    with torch._functorch.config.patch(donated_buffer=False):
        value = compiled(x)
        for _ in range(2):
            found = torch.autograd.grad(value, weights, retain_graph=True)
            torch.testing.assert_close(list(found), wanted)
    assert not schedules["backward"].donated
