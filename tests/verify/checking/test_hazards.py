from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify.checking.arguments import Argument, Buffer, Scalar
from verify.checking.check import check

VECTOR = Buffer("fp32", 64)


@triton.jit  # type: ignore[untyped-decorator]
def there_and_back(x, y, BARRIER: tl.constexpr, BACK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, 64)
    tl.store(x + o, 1.0)
    if BARRIER == 1:
        tl.debug_barrier()
    if BARRIER == 2:
        tl.store(y, tl.sum(tl.load(y + o)))
    tl.store(y + o, tl.load(x + (63 - o if BACK else o)))


@triton.jit  # type: ignore[untyped-decorator]
def stored_twice(x, y, BARRIER: tl.constexpr, BACK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, 64)
    tl.store(y + o, tl.load(x + o))
    if BARRIER == 1:
        tl.debug_barrier()
    tl.store(y + (63 - o if BACK else o), 0.0)


@triton.jit  # type: ignore[untyped-decorator]
def spread(x, y, BARRIER: tl.constexpr, BACK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, 64)
    tl.store(x + o, 1.0)
    if BARRIER == 1:
        tl.debug_barrier()
    tl.store(y + o, tl.load(x + (3 if BACK else 64)) + o)


def race(kernel: Any, barrier: int, back: bool) -> Verdict:
    args: dict[str, Argument] = {"x": Buffer("fp32", 65), "y": VECTOR}
    return check(kernel, args, {"BARRIER": barrier, "BACK": back})["no_race"]


@pytest.mark.parametrize("kernel", [there_and_back, stored_twice, spread])
def test_lanes_that_meet_need_a_barrier_between(kernel: Any) -> None:
    verdict = race(kernel, 0, True)
    assert isinstance(verdict, Unknown) and "no barrier between" in verdict.reason
    assert isinstance(race(kernel, 1, True), Proved)
    assert isinstance(race(kernel, 0, False), Proved)


@triton.jit  # type: ignore[untyped-decorator]
def counted(x, y, BARRIER: tl.constexpr, BACK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, 64)
    count = tl.load(x)
    if BARRIER == 1:
        tl.debug_barrier()
    tl.store(x, count + 1.0)
    tl.store(y + o, count + o if BACK else 1.0 + o)


def test_what_one_thread_changes_and_all_load() -> None:
    verdict = race(counted, 0, True)
    assert isinstance(verdict, Unknown) and "meet in x" in verdict.reason
    assert isinstance(race(counted, 1, True), Proved)
    assert isinstance(race(counted, 0, False), Proved)


def test_a_reduction_is_a_meeting() -> None:
    verdict = race(there_and_back, 2, True)
    assert isinstance(verdict, Unknown) and "meet in y" in verdict.reason


@triton.jit  # type: ignore[untyped-decorator]
def locked(x, y, lock, LOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, 64)
    v = tl.load(x + tl.program_id(0) * 64 + o)
    if LOCK:
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
    tl.store(y + o, tl.load(y + o) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit  # type: ignore[untyped-decorator]
def last_one_sums(x, y, lock, LOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    i = tl.program_id(0)
    tl.store(x + i, 1.0)
    ticket = tl.num_programs(0) - 1
    if LOCK:
        ticket = tl.atomic_add(lock, 1)
    if ticket == tl.num_programs(0) - 1:
        tl.store(y + i, tl.load(x) + tl.load(x + tl.num_programs(0) - 1))


@triton.jit  # type: ignore[untyped-decorator]
def flagged(x, y, lock, LOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    i = tl.program_id(0)
    if i == 0:
        tl.store(x, 1.0)
        tl.atomic_xchg(lock, 1)
    else:
        if LOCK:
            while tl.load(lock, volatile=True) == 0:
                pass
        tl.store(y + i, tl.load(x))


@pytest.mark.parametrize("kernel", [locked, last_one_sums, flagged])
def test_programs_that_wait_for_each_other_are_no_race(kernel: Any) -> None:
    args: dict[str, Argument] = {
        "x": Buffer("fp32", "64*programs"),
        "y": Buffer("fp32", "64*programs"),
        "lock": Buffer("i32", 1, low=0, high=0),
        "programs": Scalar("i32", 1, 1000),
    }
    bare, waits = (
        check(kernel, args, {"LOCK": lock}, grid=("programs",))["no_race"]
        for lock in (False, True)
    )
    assert isinstance(bare, Refuted)
    assert isinstance(waits, Unknown) and "not modelled" in waits.reason


@pytest.mark.slow
def test_a_released_kernel_zeroes_and_adds_without_a_barrier() -> None:
    kernels = pytest.importorskip("liger_kernel.ops.fused_moe_kernels")
    kernel = kernels._moe_router_histogram_kernel
    constants = {"E": 8, "E_POW2": 8, "K": 2, "K_POW2": 2, "TOKENS_PER_TILE": 512}
    args: dict[str, Argument] = {
        "topk_indices_ptr": Buffer("i32", "2*T", low=0, high=7),
        "partial_sum_ptr": Buffer("i32", "8*n_tiles"),
        "T": Scalar("i32", 1, 2**20),
        "n_tiles": Scalar("i32", 1, 2**20),
    }
    verdict = check(kernel, args, constants, grid=("n_tiles",))["no_race"]
    assert isinstance(verdict, Unknown) and "no barrier between" in verdict.reason
    # what Triton makes of it: other threads' additions follow with nothing between
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        signature={
            name: "constexpr"
            if name in constants
            else "*i32"
            if "ptr" in name
            else "i32"
            for name in names
        },
        constexprs={(names.index(name),): value for name, value in constants.items()},
    )
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    store, add = text.index("st.global"), text.rindex("atom.global")
    assert store < add and "bar.sync" not in text[store:add]
