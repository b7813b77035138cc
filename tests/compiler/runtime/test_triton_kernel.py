"""Printed kernels as callables: what is compiled, what is refused, what is launched."""

import pickle
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from compiler.codegen.triton.printer import print_kernel
from compiler.errors import BuildError, FallbackWarning
from compiler.ir.expression import Expression
from compiler.ir.index import digit, index, symbol
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, constant, load
from compiler.runtime import triton_kernel
from compiler.runtime.triton_kernel import TritonKernel


def doubled(size: Expression, *, interpret: bool = False) -> TritonKernel:
    i = digit("i")
    buffers = {
        name: Buffer(name, "float32", (size,), "cpu", (index(1),))
        for name in ("a", "o")
    }
    value = apply("mul", load("a", (i,), "float32"), constant(2.0, "float32"))
    kernel = Kernel(
        "doubled", (Axis(i, size),), (), (Store("o", (i,), value, False),), buffers
    )
    return TritonKernel(print_kernel(kernel), interpret=interpret)


@pytest.mark.parametrize("count", [0, 1, 33])
def test_sizes_are_arguments_and_nothing_is_launched_for_none(count: int) -> None:
    kernel = doubled(symbol("n"), interpret=True)
    assert [s.data for s in kernel.symbols] == ["n"]
    a, out = torch.randn(count), torch.full((count,), 7.0)
    kernel(a, out, count)
    assert torch.equal(out, a * 2)


def test_alignment_chooses_the_compiled_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the launcher is given, with a compiler and a launcher that only listen."""
    kernel = doubled(index(64))
    asked: list[bool] = []
    launched: list[tuple[int, Sequence[int]]] = []

    def compiled(device: int, aligned: bool) -> Any:
        asked.append(aligned)

        def launch(programs: int, addresses: Sequence[int], sizes: Any) -> None:
            launched.append((programs, list(addresses)))

        return launch

    monkeypatch.setattr(kernel, "_compiled", compiled)
    a, out = torch.empty(128), torch.empty(64)
    kernel(a[:64], out)
    kernel(a[1:65], out)
    assert asked == [True, False]
    assert launched[1] == (launched[0][0], [a.data_ptr() + 4, out.data_ptr()])


def test_another_kernel_may_serve_other_alignments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel, other = doubled(index(64)), doubled(index(64))
    kernel.unaligned = other
    launched: list[str] = []
    for one, name in ((kernel, "aligned"), (other, "unaligned")):

        def compiled(device: int, aligned: bool, name: str = name) -> Any:
            return lambda *_: launched.append(f"{name} {aligned}")

        monkeypatch.setattr(one, "_compiled", compiled)
    a, out = torch.empty(128), torch.empty(64)
    kernel(a[:64], out)
    kernel(a[1:65], out)
    assert launched == ["aligned True", "unaligned False"]
    again = pickle.loads(pickle.dumps(doubled_with(kernel)))
    assert again.unaligned is not None and again.unaligned.unaligned is None


def doubled_with(other: TritonKernel) -> TritonKernel:
    kernel = doubled(index(64))
    kernel.unaligned = TritonKernel(other.printed)
    return kernel


def test_a_refused_source_names_the_kernel_and_keeps_the_text() -> None:
    kernel = doubled(index(64))
    broken = kernel.printed.source.replace("tl.load", "tl.lod")
    object.__setattr__(kernel.printed, "source", broken)
    with pytest.raises(BuildError, match="doubled and refused") as caught:
        kernel.compile(arch=90)
    assert "tl.lod" in str(caught.value.facts["output"])


def test_a_kernel_that_the_gpu_refuses_is_refused_as_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may need more shared memory than the GPU has, which shows at its loading."""
    from compiler import triton_api

    kernel = doubled(index(48))

    def refuse(compiled: object, device: int) -> None:
        raise RuntimeError("out of resource: shared memory")

    monkeypatch.setattr(triton_api, "launcher", refuse)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(kernel, "compile", lambda *_, **__: "compiled")
    with pytest.raises(BuildError, match="had to load doubled and refused: out of"):
        kernel(torch.empty(48), torch.empty(48))
    called = []
    kernel.instead = lambda *arguments: called.append(arguments)
    with pytest.warns(FallbackWarning, match="shared memory"):
        kernel(torch.empty(48), torch.empty(48))
    assert len(called) == 1


def test_too_many_programs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_kernel, "_MAX_PROGRAMS", 1)
    kernel = doubled(index(1 << 20))
    with pytest.raises(BuildError, match="programs"):
        kernel(torch.empty(1 << 20), torch.empty(1 << 20))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_kernel_runs_on_the_current_stream() -> None:
    a = torch.randn(1000, device="cuda")
    out = torch.empty_like(a)
    doubled(index(1000))(a, out)
    assert torch.equal(out, a * 2)
    doubled(index(999))(a[1:], out[1:])


def test_a_kernel_is_pickled_by_its_text() -> None:
    kernel = pickle.loads(pickle.dumps(doubled(symbol("n"), interpret=True)))
    a, out = torch.randn(5), torch.zeros(5)
    kernel(a, out, 5)
    assert torch.equal(out, a * 2) and kernel.symbols[0] is symbol("n")
