import re
from typing import Any

import pytest
import torch

from algebra.errors import DimMismatchError
from compiler.codegen.gluon.quantised_matmul import kernel_text
from compiler.mixed.tiling import Tiling
from verify.mixed import random_weight, simulate

BF16, FP16 = torch.bfloat16, torch.float16
FAST: dict[str, tuple[Any, ...]] = {
    "int4": (("int4", 32, 512, 128, BF16), 3, {"rows": 8}, False),
    "int4 with zero points": (
        ("int4", 48, 256, 64, FP16),
        9,
        {"rows": 16, "row_tiles": 2, "warps_k": 2},
        True,
    ),
    "mxfp4, ragged everywhere": (
        ("mxfp4", 40, 320, 32, FP16),
        5,
        {"rows": 8, "depth": 64, "row_tiles": 2},
        False,
    ),
    "nvfp4": (("nvfp4", 32, 128, 16, BF16), 8, {"rows": 8, "warps_k": 2}, False),
    "int8, two warps a row": (
        ("int8", 32, 128, 128, BF16),
        8,
        {"rows": 8, "warps_k": 2, "warps_n": 2, "depth": 32},
        False,
    ),
    "fp8e4m3, splits": (
        ("fp8e4m3", 64, 256, 64, BF16),
        33,
        {"rows": 32, "warps_k": 1, "warps_n": 2, "splits": 3, "depth": 32},
        False,
    ),
    "int4, rounds of one step": (
        ("int4", 16, 256, 64, BF16),
        8,
        {"rows": 8, "depth": 64, "warps_k": 1, "stages": 1},
        False,
    ),
    "int4, copied, in a loop": (
        ("int4", 40, 1024, 128, BF16),
        3,
        {"rows": 8, "row_tiles": 2, "warps_k": 2, "stages": 2, "copied": True},
        False,
    ),
}
SLOW: dict[str, tuple[Any, ...]] = {
    "int4, a loop": (
        ("int4", 32, 2048, 128, BF16),
        1,
        {"rows": 8, "warps_k": 2, "stages": 2},
        False,
    ),
    "int4, deep steps": (
        ("int4", 32, 1024, 128, BF16),
        16,
        {"rows": 8, "warps_k": 2, "depth": 256},
        True,
    ),
    "int4, one group": (
        ("int4", 32, 1344, 1344, FP16),
        1,
        {"rows": 8, "depth": 64, "splits": 3},
        True,
    ),
    "nvfp4, short steps": (
        ("nvfp4", 32, 512, 16, FP16),
        17,
        {"rows": 16, "warps_n": 2, "warps_k": 2, "depth": 64},
        False,
    ),
    "int8, short groups": (
        ("int8", 32, 256, 32, FP16),
        8,
        {"rows": 8, "warps_k": 2, "depth": 128},
        False,
    ),
    "fp8e4m3, many rows": (
        ("fp8e4m3", 128, 512, 128, FP16),
        130,
        {"rows": 64, "row_tiles": 2, "warps_k": 1, "warps_n": 2, "splits": 2},
        False,
    ),
    "fp8e5m2, dependent launch": (
        ("fp8e5m2", 32, 256, 128, BF16),
        7,
        {"rows": 8, "depth": 32, "dependent": True},
        False,
    ),
    "int4, four tiles a warp, splits": (
        ("int4", 80, 2048, 128, BF16),
        16,
        {"rows": 16, "row_tiles": 4, "warps_k": 4, "stages": 2, "splits": 4},
        False,
    ),
    "mxfp4, warps both ways": (
        ("mxfp4", 176, 1024, 32, BF16),
        70,
        {"rows": 64, "warps_k": 2, "warps_n": 4, "stages": 2, "splits": 2},
        False,
    ),
    "int4, five steps": (
        ("int4", 16, 5120, 128, BF16),
        1,
        {"rows": 8, "warps_k": 8},
        False,
    ),
    "mxfp4, rounds of three steps": (
        ("mxfp4", 32, 1536, 32, BF16),
        16,
        {"rows": 16, "warps_k": 2, "stages": 3, "ahead": 64},
        False,
    ),
    "int4, activations of two steps ahead, in a loop": (
        ("int4", 16, 4096, 128, BF16),
        1,
        {"rows": 8, "warps_k": 4, "ahead": 64},
        False,
    ),
    "mxfp4, activations of a round ahead, in a loop": (
        ("mxfp4", 16, 2048, 32, BF16),
        16,
        {"rows": 16, "warps_k": 2, "ahead": 128, "copied": True},
        False,
    ),
    "mxfp4, copied, all ahead": (
        ("mxfp4", 32, 2048, 32, FP16),
        16,
        {"rows": 16, "warps_k": 4, "ahead": 128, "copied": True},
        False,
    ),
    "int4 with zero points, copied, splits": (
        ("int4", 80, 2048, 128, BF16),
        16,
        {"rows": 16, "row_tiles": 4, "warps_k": 4, "splits": 2, "copied": True},
        True,
    ),
    "mxfp4, sixteen warps": (
        ("mxfp4", 64, 2048, 32, BF16),
        16,
        {"rows": 16, "row_tiles": 2, "warps_k": 16},
        False,
    ),
}


def check(case: tuple[Any, ...]) -> str:
    weight_of, m, cut, zeros = case
    weight = random_weight(*weight_of, zeros=zeros)
    generator = torch.Generator().manual_seed(m)
    x = torch.randn(m, weight.problem.k, generator=generator).to(weight.dtype)
    done = simulate(weight, x, Tiling(**cut))
    exact = x.double() @ weight.dequantise(torch.float64).T
    rounding = (exact.to(x.dtype).double() - exact).norm()
    assert (done.out.double() - exact).norm() < 1.05 * rounding
    assert done.counters_are_zero
    return done.ptx


@pytest.mark.parametrize("name", FAST)
def test_the_ptx_computes_the_product(name: str) -> None:
    check(FAST[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_more_of_them(name: str) -> None:
    check(SLOW[name])


def test_weights_go_straight_to_the_instruction() -> None:
    """16-byte loads, no shuffle; shared memory only for the sums, after one barrier."""
    case = FAST["int4"]
    ptx = check(case)
    lines = [line for line in ptx.splitlines() if "evict_first" in line]
    loads = [line for line in lines if "ld.global" in line]
    k, warps = 512, 4
    assert len(loads) == k // 64 // warps
    assert all(".v4.b32" in line for line in loads)
    assert "shfl" not in ptx
    last_product = ptx.rindex("mma.sync")
    assert "shared" not in ptx[ptx.index("{\n\t.reg") : last_product]
    assert ptx.count("bar.sync") == 1
    # what waits for the weights comes after a gate, and all of them before it
    assert ptx.rindex("evict_first") < ptx.index("barrier.cta.red.popc")
    assert len(re.findall(r"mma\.sync", ptx)) == k // 16 // warps


@pytest.mark.parametrize(
    ("found", "replaced"),
    [("0xBE00BE00", "0xBDE0BDE0"), ("0x000F000F;", "0x000F0007;")],
    ids=["zero point", "mask"],
)
def test_planted_faults_are_seen(found: str, replaced: str) -> None:
    weight = random_weight("int4", 16, 64, 64)
    x = torch.randn(8, 64).bfloat16()
    exact = x.double() @ weight.dequantise(torch.float64).T

    def fault(ptx: str) -> str:
        assert found in ptx
        return ptx.replace(found, replaced)

    tiling = Tiling(rows=8, warps_k=1, depth=64)
    wrong = simulate(weight, x, tiling, edit=fault).out.double()
    assert (wrong - exact).norm() > 0.05 * exact.norm()


@pytest.mark.parametrize(
    "fault",
    [
        lambda ptx: re.sub(r"cp\.async\.wait_group.*", "", ptx, count=1),
        lambda ptx: ptx.replace("cp.async.wait_group \t0", "cp.async.wait_group \t1"),
    ],
    ids=["first wait", "last wait"],
)
def test_a_wait_that_is_missing_is_seen(fault: Any) -> None:
    weight = random_weight("int4", 16, 512, 128)
    x = torch.randn(8, 512).bfloat16()
    exact = x.double() @ weight.dequantise(torch.float64).T
    tiling = Tiling(rows=8, warps_k=1, stages=4, copied=True)

    def changed(ptx: str) -> str:
        other: str = fault(ptx)
        assert other != ptx
        return other

    wrong = simulate(weight, x, tiling, edit=changed).out.double()
    assert not (wrong - exact).norm() < 0.05 * exact.norm()


def test_what_does_not_fit() -> None:
    weight = random_weight("int4", 16, 64, 64)
    with pytest.raises(DimMismatchError, match="depth=128"):
        kernel_text(weight.problem, Tiling(rows=8))
