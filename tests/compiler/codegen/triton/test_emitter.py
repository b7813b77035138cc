"""How expressions become lines: sharing, scopes, widths."""

from collections.abc import Callable

import pytest

from compiler.codegen.triton.emitter import Emitter
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.codegen.triton.tile import tiles_apart
from compiler.errors import BuildError
from compiler.ir.index import digit, mul
from compiler.ir.kernel import Kernel, Store
from compiler.ir.scalar import apply, from_index, load, local

X, Y = digit("i"), digit("j")
Make = Callable[..., Kernel]


def test_a_shared_value_is_printed_once(make_kernel: Make) -> None:
    e = apply("exp", load("a", (X,), "float32"))
    stages = [
        Store("out", (X,), apply("add", e, e), False),
        Store("more", (X,), apply("mul", e, e), False),
    ]
    arrays = {name: ("float32", (64,)) for name in ("a", "out", "more")}
    source = print_kernel(make_kernel(stages, arrays, {X: 64})).source
    assert source.count("libdevice.exp(") == 1 and source.count("tl.load(") == 1


def test_a_local_that_no_stage_makes_is_refused(make_kernel: Make) -> None:
    store = Store("out", (X,), local("nothing", "float32"), False)
    kernel = make_kernel([store], {"out": ("float32", (64,))}, {X: 64})
    with pytest.raises(BuildError, match="before a stage makes it"):
        print_kernel(kernel)


def test_only_products_that_leave_int32_are_wide(make_kernel: Make) -> None:
    value = from_index(mul(X, 1 << 20), "int64")
    store = Store("out", (X,), value, False)
    kernel = make_kernel([store], {"out": ("int64", (1 << 13,))}, {X: 1 << 13})
    emitter = Emitter(tiles_apart(plan(kernel)))
    x = emitter.plan.tile[0].digit
    assert not emitter.is_wide(x) and emitter.is_wide(mul(x, 1 << 20))
    assert not emitter.is_wide(mul(x, 1 << 10))
    assert "x.to(tl.int64) * 1048576" in print_kernel(kernel).source


def test_equal_kernels_of_other_names_have_equal_sources(make_kernel: Make) -> None:
    def named(a: str, out: str, number: int) -> str:
        store = Store(out, (X,), apply("exp", load(a, (X,), "float32")), False)
        arrays = {name: ("float32", (64,)) for name in (a, out)}
        kernel = make_kernel([store], arrays, {X: 64}, name=f"exp_{number}")
        return print_kernel(kernel).source

    assert named("a", "b", 1) == named("primals_3", "buf7", 22)
