"""From kernels to callables, in the interpreter."""

import pickle
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch

from compiler.codegen.triton import build, print_kernel
from compiler.errors import BuildError
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, cast, checked_index, load
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import Task
from compiler.runtime.tune import TunedKernel

X = digit("i")
Make = Callable[..., Kernel]


def test_kernels_are_built_by_name(make_kernel: Make) -> None:
    store = Store("out", (X,), apply("exp", load("a", (X,), "float32")), False)
    arrays = {name: ("float32", (50,)) for name in ("a", "out")}
    kernel = make_kernel([store], arrays, {X: 50})
    built = build([kernel], Options(), interpret=True)["kernel_7"]
    a, out = torch.randn(50), torch.empty(50)
    built(a, out)
    torch.testing.assert_close(out, a.exp())
    assert built.source.startswith("# kernel_7:\n#   in0 is a\n#   out1 is out\n")


def test_a_kernel_has_another_name_than_what_it_calls(make_kernel: Make) -> None:
    store = Store("out", (X,), apply("erf", load("a", (X,), "float32")), False)
    arrays = {name: ("float32", (20,)) for name in ("a", "out")}
    kernel = make_kernel([store], arrays, {X: 20}, name="erf_3")
    a, out = torch.randn(20), torch.empty(20)
    build([kernel], Options(), interpret=True)["erf_3"](a, out)
    torch.testing.assert_close(out, a.erf())


def test_kernels_are_given_to_other_processes_as_they_are_printed(
    make_kernel: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = import_module("compiler.codegen.triton.build")
    events: list[str] = []

    class Pool:
        def submit(self, job: dict[str, Any]) -> Task:
            events.append("launcher" if "launcher" in job else "submitted")
            return Task(job)

        def finish(self, tasks: list[Task], own: Callable[[int], None]) -> None:
            events.append(f"finished {len(tasks)}")
            for number in range(len(tasks)):
                own(number)

    def printed(kernel: Kernel, *rest: Any, **options: Any) -> Any:
        events.append("printed")
        return print_kernel(kernel, *rest, **options)

    monkeypatch.setattr(module, "POOL", Pool())
    monkeypatch.setattr(module, "print_kernel", printed)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))

    def compiled(self: TritonKernel, aligned: bool = True, *, arch: int) -> None:
        events.append(f"compiled for {arch}")

    monkeypatch.setattr(TritonKernel, "compile", compiled)

    def kernel(name: str, op: str) -> Kernel:
        store = Store("out", (X,), apply(op, load("a", (X,), "float32")), False)
        arrays = {name: ("float32", (64,)) for name in ("a", "out")}
        return make_kernel([store], arrays, {X: 64}, name=name)

    built = build([kernel("one", "exp")], Options())
    assert list(built) == ["one"] and events == ["printed", "compiled for 90"]
    events.clear()
    ops = ("exp", "sqrt", "exp", "log")
    build([kernel(f"{op}_{n}", op) for n, op in enumerate(ops)], Options())
    assert events[:7] == [
        *("printed", "printed", "launcher", "submitted", "submitted"),
        *("printed", "printed"),
    ]
    assert events[7:9] == ["submitted", "finished 4"]
    assert events[9:] == ["compiled for 90"] * (3 + 4)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3)])
def test_kernels_without_points_are_printed(
    make_kernel: Make, shape: tuple[int, int]
) -> None:
    y = digit("j")
    store = Store("out", (X, y), load("a", (y, X), "float32"), False)
    arrays = {"a": ("float32", shape[::-1]), "out": ("float32", shape)}
    kernel = make_kernel([store], arrays, {X: shape[0], y: shape[1]})
    built = build([kernel], Options(), interpret=True)["kernel_7"]
    built(torch.empty(shape[::-1]), torch.empty(shape))


def test_only_the_autotuning_modes_try_several_plans(make_kernel: Make) -> None:
    store = Store("out", (X,), apply("exp", load("a", (X,), "float32")), False)
    arrays = {name: ("float32", (1 << 20,)) for name in ("a", "out")}
    kernel = make_kernel([store], arrays, {X: 1 << 20})
    plain = build([kernel], Options())["kernel_7"]
    tuned = build([kernel], Options("max-autotune"))["kernel_7"]
    assert isinstance(plain, TritonKernel) and isinstance(tuned, TunedKernel)
    assert len(tuned.plans) > 2


def test_deterministic_kernels_have_no_atomic_sums_of_floats(make_kernel: Make) -> None:
    def scatter(dtype: str) -> Kernel:
        place = (checked_index(load("at", (X,), "int64"), 8),)
        value = load("a", (X,), dtype)
        store = Store("out", place, value, False, "add", None, False)
        arrays = {"a": (dtype, (50,)), "at": ("int64", (50,)), "out": (dtype, (8,))}
        return make_kernel([store], arrays, {X: 50})

    options = Options(deterministic=True)
    with pytest.raises(BuildError, match="to be deterministic"):
        build([scatter("float32")], options, interpret=True)
    assert build([scatter("int32")], options, interpret=True)
    assert build([scatter("float32")], Options(), interpret=True)


def test_exact_functions_where_fast_ones_are_not_wanted(make_kernel: Make) -> None:
    value = cast(apply("exp", cast(load("a", (X,), "bfloat16"), "float32")), "bfloat16")
    arrays = {name: ("bfloat16", (50,)) for name in ("a", "out")}
    kernel = make_kernel([Store("out", (X,), value, False)], arrays, {X: 50})
    fast = build([kernel], Options(), interpret=True)["kernel_7"].source
    exact = build([kernel], Options(fast_math=False), interpret=True)["kernel_7"].source
    assert "exp_fast(" in fast and "exp_fast(" not in exact


def test_a_number_on_the_cpu_is_copied_but_never_written() -> None:
    size, one = index(8), index(1)
    a = Buffer("a", "float32", (size,), "cuda:0", (one,))
    number = Buffer("number", "float32", (), "cpu", ())
    out = Buffer("out", "float32", (size,), "cuda:0", (one,))
    value = apply("mul", load("a", (X,), "float32"), load("number", (), "float32"))
    axes = (Axis(X, size),)
    store = Store("out", (X,), value, False)
    buffers = {b.name: b for b in (a, number, out)}
    printed = print_kernel(Kernel("scale", axes, (), (store,), buffers))
    assert printed.host == (printed.parameters.index("number"),)
    wrong = Store("number", (), load("a", (index(0),), "float32"), False)
    with pytest.raises(BuildError, match="only what it reads"):
        print_kernel(Kernel("scale", (), (), (wrong,), buffers))


def transposed(make_kernel: Make, out: str = "float32") -> Kernel:
    y = digit("j")
    value = apply("mul", load("a", (y, X), "float32"), load("b", (X, y), "float32"))
    store = Store("out", (X, y), cast(value, out), False)
    arrays = {"a": ("float32", (48, 32)), "b": ("float32", (32, 48))}
    return make_kernel([store], {**arrays, "out": (out, (32, 48))}, {X: 32, y: 48})


def test_layouts_are_assigned_where_they_are_wanted(make_kernel: Make) -> None:
    kernel = transposed(make_kernel)
    ours = build([kernel], Options(layouts="assigned"))["kernel_7"]
    theirs = build([kernel], Options())["kernel_7"]
    assert isinstance(ours, TritonKernel) and isinstance(theirs, TritonKernel)
    assert "gluon.jit" in ours.source and "gluon.jit" not in theirs.source
    assert ours.unaligned is not None and theirs.unaligned is None
    assert ours.unaligned.source == theirs.source
    assert (ours.parameters, ours.symbols) == (theirs.parameters, theirs.symbols)
    again: TritonKernel = pickle.loads(pickle.dumps(ours))
    assert again.printed.gluon and again.job(90)["arguments"]["gluon"]


@pytest.mark.parametrize("options", [{"certify": "ttir"}, {}])
def test_layouts_are_tritons_where_ours_cannot_be_had(
    make_kernel: Make, options: dict[str, Any]
) -> None:
    kernel = transposed(make_kernel)
    if not options:  # nothing lies across
        store = Store("out", (X,), apply("exp", load("a", (X,), "float32")), False)
        arrays = {name: ("float32", (50,)) for name in ("a", "out")}
        kernel = make_kernel([store], arrays, {X: 50})
    given = Options(layouts="assigned", **options)
    built = build([kernel], given)["kernel_7"]
    assert "gluon.jit" not in built.source
    assert "gluon.jit" not in build([kernel], given, interpret=True)["kernel_7"].source


@pytest.mark.parametrize("layouts", ["triton", "assigned"])
def test_assigned_layouts_are_the_first_plan_where_they_are_wanted(
    make_kernel: Make, layouts: str
) -> None:
    options = Options("max-autotune", layouts=layouts)
    tuned = build([transposed(make_kernel)], options)["kernel_7"]
    assert isinstance(tuned, TunedKernel) and len(tuned.plans) > 1
    assert tuned.plans[0].printed.gluon is (layouts == "assigned")
    assert not any(plan.printed.gluon for plan in tuned.plans[1:])
