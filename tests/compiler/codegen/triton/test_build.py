"""From kernels to callables, in the interpreter."""

from collections.abc import Callable

import torch

from compiler.codegen.triton import build
from compiler.ir.index import digit
from compiler.ir.kernel import Kernel, Store
from compiler.ir.scalar import apply, load
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
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


def test_only_the_autotuning_modes_try_several_plans(make_kernel: Make) -> None:
    store = Store("out", (X,), apply("exp", load("a", (X,), "float32")), False)
    arrays = {name: ("float32", (1 << 20,)) for name in ("a", "out")}
    kernel = make_kernel([store], arrays, {X: 1 << 20})
    plain = build([kernel], Options())["kernel_7"]
    tuned = build([kernel], Options("max-autotune"))["kernel_7"]
    assert isinstance(plain, TritonKernel) and isinstance(tuned, TunedKernel)
    assert len(tuned.plans) > 2
