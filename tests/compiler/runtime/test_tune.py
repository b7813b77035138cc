"""The choice among plans, with times made up."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from compiler.codegen.triton.candidates import candidates
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, constant, load
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.tune import TunedKernel


def plans() -> list[TritonKernel]:
    i, size = digit("i"), index(500)
    buffers = {
        name: Buffer(name, "float32", (size,), "cpu", (index(1),))
        for name in ("a", "out")
    }
    value = apply("add", load("a", (i,), "float32"), constant(1.0, "float32"))
    store = Store("out", (i,), value, False)
    kernel = Kernel("plus_one", (Axis(i, size),), (), (store,), buffers)
    return [
        TritonKernel(print_kernel(kernel, chosen), interpret=True)
        for chosen in candidates(plan(kernel))
    ]


def times(
    seconds: list[float], ran: list[int]
) -> Callable[[Callable[[], None]], float]:
    def timer(call: Callable[[], None]) -> float:
        call()
        ran.append(len(ran))
        return seconds[len(ran) - 1]

    return timer


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))


def test_the_fastest_runs_and_is_remembered() -> None:
    made = plans()
    assert len(made) >= 2
    ran: list[int] = []
    seconds = [2.0] * len(made)
    seconds[1] = 1.0
    tuned = TunedKernel(made, timer=times(seconds, ran))
    a, out = torch.randn(500), torch.empty(500)
    tuned(a, out)
    assert torch.equal(out, a + 1) and tuned.source == made[1].source
    assert len(ran) == len(made)
    again = TunedKernel(made, timer=times([], ran))
    again(a, out)
    assert again.source == made[1].source and len(ran) == len(made)


def test_the_preferred_plan_stays_unless_another_is_clearly_faster() -> None:
    made = plans()
    tuned = TunedKernel(made, timer=times([1.0] + [0.99] * (len(made) - 1), []))
    tuned(torch.randn(500), torch.empty(500))
    assert tuned.source == made[0].source


def test_plans_that_do_not_run_are_passed_over() -> None:
    made = plans()

    def timer(call: Callable[[], None]) -> float:
        raise RuntimeError("too many resources requested")

    with pytest.raises(RuntimeError, match="none of"):
        TunedKernel(made, timer=timer)(torch.randn(500), torch.empty(500))


def test_plans_are_pickled_and_timed_again() -> None:
    made = pickle.loads(pickle.dumps(TunedKernel(plans())))
    assert [plan.source for plan in made.plans] == [plan.source for plan in plans()]
