"""Kernels that do a product of the library are compared with what the call means."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from algebra.verdict import Proved, Refuted
from benchmarks.product_epilogue_cases import Case, on_cpu, program_of
from compiler.ir.evaluate import run_schedule
from compiler.ir.expression import Expression, make, rewrite
from compiler.ir.index import add, constant_value, digit, index
from compiler.ir.kernel import Kernel, Reduction, Schedule, Store
from compiler.ir.node import Alias, Buffer, Extern, Map, Node, Program, Reduce
from compiler.options import Options
from compiler.schedule import schedule
from verify.obligations import OBLIGATIONS, certify_schedule, worst
from verify.obligations.multiplied import meaning, replaced_calls

ALWAYS = Options(product_epilogues="always")
CASES = [
    Case("gelu", (64, 48, 40), "gelu"),
    Case("gated", (64, 48, 40), "gated", bias=False, weight_rows=True),
    Case("norm", (64, 48, 40), "residual", dtype="float32", normed=True),
    Case("turned", (64, 48, 40), "residual", batch=4, turned=True),
]


def planned(case: Case) -> tuple[Program, Schedule]:
    program = program_of(case)
    return program, schedule(program, ALWAYS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_everything_is_proved(case: Case) -> None:
    program, made = planned(case)
    for certificate in certify_schedule(made, program):
        wrong = {
            name: verdict
            for name, verdict in certificate.verdicts.items()
            if not isinstance(verdict, Proved)
        }
        assert not wrong
    first = certify_schedule(made, program)[0]
    assert set(first.verdicts) == {*OBLIGATIONS, "fused_read"}


def test_a_product_that_is_stored_as_well_is_proved() -> None:
    program = program_of(CASES[0])
    program = replace(program, outputs=("out", "made"))
    made = schedule(program, ALWAYS)
    first = certify_schedule(made, program)[0]
    assert isinstance(first.verdicts["fused_read"], Proved)


HALF = torch.bfloat16


def block(x: Tensor, w: Tensor, bias: Tensor, out: Tensor, scale: Tensor) -> Tensor:
    normed = functional.layer_norm(x, (64,), scale).to(HALF)
    hidden = functional.gelu(functional.linear(normed, w, bias))
    return x + functional.linear(hidden, out)


def backward(x: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
    def loss(*given: Tensor) -> Tensor:
        return block(x, *given).square().sum()

    found: tuple[Tensor, ...] = torch.func.grad(loss, argnums=(0, 1, 2, 3))(*weights)
    return found


def heads(x: Tensor, w: Tensor, bias: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
    """The result copied by heads, shifted by a slice, and read as it is."""
    x = x.to(HALF)
    by_heads = functional.linear(x, w, bias).view(2, 24, 4, 24).transpose(1, 2)
    rest = functional.relu(functional.linear(x, w))[:, 3:]
    return (by_heads * 0.5).contiguous(), rest, functional.linear(x, w, bias).float()


def on_gpu(program: Program) -> Program:
    def moved(value: Any) -> Any:
        return replace(value, device="cuda:0") if isinstance(value, Buffer) else value

    def node_moved(node: Node) -> Node:
        if isinstance(node, Extern):
            return replace(node, outputs=tuple(map(moved, node.outputs)))
        if isinstance(node, Reduce):
            return replace(node, buffers=tuple(map(moved, node.buffers)))
        assert isinstance(node, Map | Alias)
        return replace(node, buffer=moved(node.buffer))

    nodes = tuple(map(node_moved, program.nodes))
    return replace(program, inputs=tuple(map(moved, program.inputs)), nodes=nodes)


@pytest.mark.parametrize(
    ("function", "products"), [(block, 2), (backward, 3), (heads, 2)]
)
def test_graphs_of_pytorch_are_proved_and_right(
    planned: Callable[..., Any], function: Callable[..., Any], products: int
) -> None:
    shapes = (2, 24, 64), (96, 64), (96,), (64, 96)
    x, *halves = (torch.randn(shape) * shape[-1] ** -0.5 for shape in shapes)
    args = [x, *(half.to(HALF) for half in halves), torch.rand(64)]
    program = on_gpu(planned(function, *args)[0])
    made = schedule(program, ALWAYS)
    ours = [s for s in made.steps if isinstance(s, Kernel) and s.product]
    assert len(ours) == products
    for certificate in certify_schedule(made, program):
        assert isinstance(worst(certificate.verdicts), Proved)
    found = run_schedule(on_cpu(made), args)
    eager = function(*args)
    pairs = zip(found, eager if isinstance(eager, tuple) else (eager,), strict=True)
    for one, right in pairs:
        assert isinstance(one, Tensor) and one.stride() == right.stride()
        error = (one.double() - right.double()).norm() / right.double().norm()
        assert error < 4e-3


Change = Callable[[Expression], Expression]


def with_sum(made: Schedule, change: Change) -> Schedule:
    """Return the schedule with the loads of its product's factors changed."""

    def changed(kernel: Kernel) -> Kernel:
        stage, *rest = kernel.stages
        assert isinstance(stage, Reduction)
        (value,) = (rewrite(value, change) for value in stage.values)
        return replace(kernel, stages=(replace(stage, values=(value,)), *rest))

    return with_kernel(made, changed)


def with_kernel(made: Schedule, change: Callable[[Kernel], Kernel]) -> Schedule:
    steps = tuple(
        change(step) if isinstance(step, Kernel) and step.product else step
        for step in made.steps
    )
    return replace(made, steps=steps)


def turned(node: Expression) -> Expression:
    """Read the right factor where the left one has its row."""
    if node.op == "load" and node.data == "right":
        return make("load", (node.args[0], index(0)), node.dtype, node.data)
    return node


def shifted(node: Expression) -> Expression:
    if node.op == "load" and node.data == "left":
        args = node.args[0], add(node.args[1], 1)
        return make("load", args, node.dtype, node.data)
    return node


def one_term_less(kernel: Kernel) -> Kernel:
    (term,) = kernel.inner
    count = (constant_value(term.extent) or 0) - 1
    return replace(kernel, inner=(replace(term, extent=index(count)),))


def not_rounded(kernel: Kernel) -> Kernel:
    """Compute on with the sum as it is."""

    def change(node: Expression) -> Expression:
        half = node.op == "cast" and node.args[0].op == "cast"
        return node.args[0].args[0] if half else node

    stage, store = kernel.stages
    assert isinstance(store, Store)
    store = replace(store, value=rewrite(store.value, change))
    return replace(kernel, stages=(stage, store))


def collapsed_rows(kernel: Kernel) -> Kernel:
    """Write all rows to the first one."""
    stage, store = kernel.stages
    assert isinstance(store, Store)
    target = (index(0), *store.target[1:])
    return replace(kernel, stages=(stage, replace(store, target=target)))


@pytest.mark.parametrize(
    ("fault", "obligation", "refuted"),
    [
        (lambda made: with_sum(made, turned), "fused_read", False),
        (lambda made: with_sum(made, shifted), "in_bounds", True),
        (lambda made: with_kernel(made, one_term_less), "fused_read", False),
        (lambda made: with_kernel(made, not_rounded), "fused_read", False),
        (lambda made: with_kernel(made, collapsed_rows), "write_once", True),
    ],
    ids=["column", "beyond", "terms", "rounding", "rows"],
)
def test_a_planted_fault_is_not_proved(
    fault: Callable[[Schedule], Schedule], obligation: str, refuted: bool
) -> None:
    program, made = planned(CASES[0])
    changed = fault(made)
    verdict = certify_schedule(changed, program)[0].verdicts[obligation]
    assert not isinstance(verdict, Proved)
    assert isinstance(verdict, Refuted) or not refuted


def test_a_call_means_a_sum_and_a_rounding() -> None:
    program = program_of(CASES[0])
    call = next(node for node in program.nodes if isinstance(node, Extern))
    total, result = meaning(call, program.buffers())
    assert isinstance(total, Reduce) and isinstance(result, Map)
    assert total.reducer == "sum" and total.buffers[0].dtype == "float32"
    assert [constant_value(axis.extent) for axis in total.reduced] == [40]
    assert result.buffer is call.outputs[0]
    assert "bias" in repr(result.value)
    assert digit("made.k") is total.reduced[0].digit


def test_other_calls_mean_nothing_here() -> None:
    program = program_of(CASES[0])
    call = next(node for node in program.nodes if isinstance(node, Extern))
    buffers = program.buffers()
    assert not list(meaning(replace(call, kwargs={"beta": 0}), buffers))
    assert not list(meaning(replace(call, target="aten.bmm.default"), buffers))
    assert not list(meaning(replace(call, args=(*call.args[:2], 3)), buffers))
    wide = {n: replace(b, dtype="float32") for n, b in buffers.items()}
    assert not list(meaning(call, wide))
    assert replaced_calls(program, schedule(program)) == set()
    assert replaced_calls(program, schedule(program, ALWAYS)) == {"made"}
