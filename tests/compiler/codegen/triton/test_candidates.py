"""Other plans, and which kernels may be tuned."""

from collections.abc import Callable

from compiler.codegen.triton.candidates import candidates, exchangeable, repeatable
from compiler.codegen.triton.plan import plan
from compiler.ir.index import digit
from compiler.ir.kernel import Kernel, Reduction, Store
from compiler.ir.scalar import apply, constant, load, local

X, Y = digit("i"), digit("j")
Make = Callable[..., Kernel]


def reduced(make_kernel: Make, reducer: str) -> Kernel:
    dtype = "int64" if reducer == "argmax" else "float32"
    stages = [
        Reduction(("s",), reducer, (load("a", (X, Y), "float32"),), (dtype,)),
        Store("out", (X,), local("s", dtype), False),
    ]
    arrays = {"a": ("float32", (64, 40000)), "out": (dtype, (64,))}
    return make_kernel(stages, arrays, {X: 64}, {Y: 40000})


def test_sums_are_not_exchangeable_extremes_are(make_kernel: Make) -> None:
    assert not exchangeable(plan(reduced(make_kernel, "sum")))
    assert not exchangeable(plan(reduced(make_kernel, "welford")))
    assert exchangeable(plan(reduced(make_kernel, "maximum")))
    assert exchangeable(plan(reduced(make_kernel, "argmax")))


def test_what_reads_its_own_result_runs_once(make_kernel: Make) -> None:
    one = constant(1.0, "float32")
    value = apply("add", load("a", (X,), "float32"), one)
    arrays = {name: ("float32", (64,)) for name in ("a", "out")}
    apart = make_kernel([Store("out", (X,), value, False)], arrays, {X: 64})
    in_place = make_kernel([Store("a", (X,), value, False)], arrays, {X: 64})
    assert repeatable(plan(apart)) and not repeatable(plan(in_place))


def test_candidates_differ_and_start_with_the_plan(make_kernel: Make) -> None:
    for reducer in ("maximum", "sum"):
        chosen = plan(reduced(make_kernel, reducer))
        found = candidates(chosen)
        assert found[0] is chosen and len(found) > 3
        settings = [
            (tuple(a.block for a in p.tile), p.num_warps, p.num_stages) for p in found
        ]
        assert len(set(settings)) == len(settings)
