"""What becomes of kernels that cannot be built."""

from collections.abc import Sequence

import pytest
import torch

from compiler.errors import BuildError, CompileError, FallbackWarning
from compiler.frontend import kernels as module
from compiler.frontend.kernels import Evaluated, build_kernels, device_type
from compiler.ir.expression import Expression, make
from compiler.ir.index import digit, index, symbol
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, load
from compiler.options import Options
from compiler.runtime.built import Built, Shared


def doubling(name: str, extent: Expression | int = 4, device: str = "cpu") -> Kernel:
    i = digit("i")
    value = make("load", (i,), "float32", "x")
    store = Store("y", (i,), make("add", (value, value), "float32"), inner=False)
    buffers = {
        each: Buffer(each, "float32", (index(extent),), device, (index(1),))
        for each in ("x", "y")
    }
    axes = (Axis(i, index(extent)),)
    return Kernel(name, axes, (), (store,), buffers, origins=("model.py:7",))


def run(built: Built, size: int = 4) -> None:
    tensors = {"x": torch.ones(size), "y": torch.zeros(size)}
    sizes = [size] * len(built.symbols)
    built(*(tensors[name] for name in built.parameters), *sizes)
    assert torch.equal(tensors["y"], torch.full((size,), 2.0))


def test_an_evaluated_kernel_does_what_it_says() -> None:
    run(Evaluated(doubling("twice")))
    run(Evaluated(doubling("twice", symbol("s0"))), 5)


def test_compiled_kernels_do_too() -> None:
    found = build_kernels([doubling("one"), doubling("two")], Options())
    for built in found.values():
        assert not isinstance(built, Evaluated)
        run(built)


def test_refuted_kernels_are_never_built() -> None:
    found = build_kernels(
        [doubling("one"), doubling("two")], Options(), frozenset({"two"})
    )
    assert isinstance(found["two"], Evaluated)
    assert not isinstance(found["one"], Evaluated)
    run(found["two"])


def refusing(*names: str, error: Exception) -> module.Builder:
    def build(kernels: Sequence[Kernel], options: Options) -> dict[str, Built]:
        if any(kernel.name in names for kernel in kernels):
            raise error
        return {kernel.name: Evaluated(kernel) for kernel in kernels}

    return build


def test_the_others_run_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = refusing("two", error=NotImplementedError("a shape"))
    monkeypatch.setattr(module, "_builder", lambda device: builder)
    with pytest.warns(FallbackWarning, match=r"kernel two \(from model.py:7\).*shape"):
        found = build_kernels([doubling("one", 5), doubling("two")], Options())
    assert set(found) == {"one", "two"}
    run(found["two"])


def test_a_missing_compiler_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    error = BuildError("a C++ compiler was needed", command="g++", output="")
    builder = refusing("one", "two", error=error)
    monkeypatch.setattr(module, "_builder", lambda device: builder)
    with pytest.warns(FallbackWarning, match="a C.. compiler was needed") as caught:
        build_kernels([doubling("one", 5), doubling("two")], Options())
    assert len(caught) == 1


def test_without_fallback_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = refusing("one", error=NotImplementedError("a shape"))
    monkeypatch.setattr(module, "_builder", lambda device: builder)
    with pytest.raises(CompileError, match=r"kernel one .*model.py:7"):
        build_kernels([doubling("one")], Options(fallback=False))


def test_the_device_of_a_kernel() -> None:
    assert device_type(doubling("k")) == "cpu"
    assert device_type(doubling("k", device="cuda:0")) == "cuda"


def test_equal_kernels_are_built_once() -> None:
    digit_x = digit("x0")

    def negate(name: str, source: str, target: str) -> Kernel:
        value = apply("neg", load(source, (digit_x,), "float32"))
        stored = Store(target, (digit_x,), value, False)
        extent = (index(4),)
        arrays = {
            n: Buffer(n, "float32", extent, "cpu", (index(1),))
            for n in (source, target)
        }
        return Kernel(name, (Axis(digit_x, index(4)),), (), (stored,), arrays)

    built = build_kernels(
        [negate("first", "a", "b"), negate("second", "c", "d")], Options()
    )
    assert isinstance(built["second"], Shared)
    assert built["second"].built is built["first"]
    names = dict(
        zip(built["first"].parameters, built["second"].parameters, strict=True)
    )
    assert names == {"a": "c", "b": "d"}
    x, y = torch.arange(4.0), torch.empty(4)
    built["second"](*(x if n == "c" else y for n in built["second"].parameters))
    assert torch.equal(y, -x)


def test_a_kernel_that_triton_refuses_at_a_call_runs_by_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from compiler.codegen.triton.build import build as build_triton
    from compiler.runtime.triton_kernel import TritonKernel

    def refuse(self: TritonKernel, device: int, aligned: bool) -> None:
        raise BuildError("Triton refused", command="triton", output="text")

    monkeypatch.setattr(module, "_builder", lambda device: build_triton)
    monkeypatch.setattr(TritonKernel, "_compiled", refuse)
    for extent in (4, symbol("s0")):
        (built,) = build_kernels([doubling("twice", extent)], Options()).values()
        with pytest.warns(
            FallbackWarning, match="call of kernel twice.*Triton refused"
        ):
            run(built)
    assert isinstance(built, TritonKernel)
    built.unaligned = TritonKernel(built.printed)
    module.give_alternative(built, doubling("twice", extent))
    with pytest.warns(FallbackWarning):
        run(built.unaligned)
    strict = build_kernels([doubling("twice")], Options(fallback=False))["twice"]
    with pytest.raises(BuildError):
        run(strict)
