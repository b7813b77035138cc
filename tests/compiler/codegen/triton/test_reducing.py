"""The texts of reductions: what is masked, what is kept."""

from collections.abc import Callable

import pytest

from compiler.codegen.triton.printer import print_kernel
from compiler.codegen.triton.reducing import check_stage, words
from compiler.errors import BuildError
from compiler.ir.index import digit
from compiler.ir.kernel import Kernel, Prefix, Reduction, Stage, Store
from compiler.ir.scalar import apply, cast, load, local
from compiler.runtime.triton_kernel import TritonKernel

X, Y = digit("i"), digit("j")
Make = Callable[..., Kernel]
REDUCERS = ["sum", "product", "maximum", "minimum", "argmax", "argmin"]


def test_results_are_called_by_what_they_are() -> None:
    value = load("a", (X, Y), "float32")
    assert words(
        Reduction(("m", "s"), "online_softmax", (value,), ("float32",) * 2)
    ) == (
        "greatest",
        "total",
    )
    assert words(Prefix(("p",), "sum", value, ("float32",))) == ("sum_up_to",)


def test_a_reducer_of_two_values_is_refused() -> None:
    value = load("a", (X, Y), "float32")
    with pytest.raises(BuildError, match="takes one value"):
        check_stage(Reduction(("s",), "sum", (value, value), ("float32",)))


@pytest.mark.parametrize(("length", "masked"), [(4096, False), (4097, True)])
def test_neutral_elements_fill_only_what_is_outside(
    make_kernel: Make, length: int, masked: bool
) -> None:
    stages = [
        Reduction(("s",), "sum", (load("a", (X, Y), "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", (8, length)), "out": ("float32", (8,))}
    source = print_kernel(make_kernel(stages, arrays, {X: 8}, {Y: length})).source
    assert ("tl.where(r_inside" in source) is masked


@pytest.mark.parametrize(("dtype", "fast"), [("bfloat16", True), ("float32", False)])
def test_a_softmax_shares_its_exponentials(
    make_kernel: Make, dtype: str, fast: bool
) -> None:
    value = cast(load("a", (X, Y), dtype), "float32")
    shifted = apply("exp", apply("sub", value, local("m", "float32")))
    out = cast(apply("truediv", shifted, local("s", "float32")), dtype)
    stages = [
        Reduction(("m", "s"), "online_softmax", (value,), ("float32",) * 2),
        Store("out", (X, Y), out, True),
    ]
    arrays = {name: (dtype, (8, 4096)) for name in ("a", "out")}
    source = print_kernel(make_kernel(stages, arrays, {X: 8}, {Y: 4096})).source
    kernel = source[source.rindex("@triton.jit") :]
    assert ("libdevice.exp(" in kernel) is not fast
    assert ("exp_fast(" in kernel) is fast
    assert ("quotient_by(" in kernel) is not fast


def test_loops_with_a_rest_compile_for_sm_90(make_kernel: Make) -> None:
    """All reducers and a scan over a length that no tile divides."""
    arrays: dict[str, tuple[str, tuple[int, ...]]] = {"a": ("float32", (50, 40001))}
    value = load("a", (X, Y), "float32")
    stages: list[Stage] = []
    for reducer in (*REDUCERS, "welford", "online_softmax"):
        count = {"welford": 3, "online_softmax": 2}.get(reducer, 1)
        dtype = "int64" if reducer.startswith("arg") else "float32"
        names = tuple(f"{reducer}_{i}" for i in range(count))
        stages.append(Reduction(names, reducer, (value,), (dtype,) * count))
        arrays[reducer] = dtype, (50,)
        stages.append(Store(reducer, (X,), local(names[-1], dtype), False))
    arrays["scan"] = "float32", (50, 40001)
    stages.append(Prefix(("p",), "logsumexp", value, ("float32",)))
    stages.append(Store("scan", (X, Y), local("p", "float32"), True))
    kernel = make_kernel(stages, arrays, {X: 50}, {Y: 40001})
    assert TritonKernel(print_kernel(kernel)).compile(arch=90).asm["cubin"]


@pytest.mark.parametrize("length", [2048, 4096, 8192])
def test_what_long_rows_load_leaves_the_cache_last(
    make_kernel: Make, length: int
) -> None:
    stages = [
        Reduction(("s",), "sum", (load("a", (X, Y), "float32"),), ("float32",)),
        Store("out", (X,), local("s", "float32"), False),
    ]
    arrays = {"a": ("float32", (1 << 14, length)), "out": ("float32", (1 << 14,))}
    source = print_kernel(make_kernel(stages, arrays, {X: 1 << 14}, {Y: length})).source
    assert source.count("tl.load(") == 1
    assert ('eviction_policy="evict_last"' in source) == (length >= 4096)
