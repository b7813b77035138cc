"""Warpgroups compute the product from activations in shared memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler.mixed.tiling import Tiling
from verify.mixed import random_weight, simulate

BF16, FP16 = torch.bfloat16, torch.float16
CASES: dict[str, tuple[Any, ...]] = {
    "int4, two steps, ragged rows": (
        ("int4", 64, 256, 128, BF16),
        20,
        {"rows": 32, "stages": 2},
        False,
    ),
    "int4, a loop": (("int4", 64, 1280, 128, BF16), 16, {"rows": 16}, False),
    "int4, splits, eight warps, ragged features": (
        ("int4", 200, 1024, 128, BF16),
        70,
        {"rows": 64, "warps_n": 8, "stages": 2, "splits": 2},
        False,
    ),
    "int4 with zero points, uneven splits": (
        ("int4", 64, 640, 64, FP16),
        9,
        {"rows": 8, "depth": 64, "splits": 3},
        True,
    ),
    "int4, a group of two steps": (
        ("int4", 64, 512, 256, FP16),
        32,
        {"rows": 32, "stages": 1},
        False,
    ),
    "mxfp4, two tiles a warp": (
        ("mxfp4", 128, 1280, 32, FP16),
        33,
        {"rows": 16, "row_tiles": 2, "depth": 64},
        False,
    ),
    "nvfp4": (("nvfp4", 64, 512, 16, BF16), 16, {"rows": 16, "depth": 64}, False),
    "int8, many rows": (
        ("int8", 64, 512, 128, BF16),
        130,
        {"rows": 128, "depth": 64},
        False,
    ),
    "fp8e4m3, one group, dependent launch": (
        ("fp8e4m3", 64, 448, 448, BF16),
        17,
        {"rows": 32, "depth": 32, "dependent": True},
        False,
    ),
}


def difference(name: str, edit: Any = None) -> tuple[float, float]:
    """Return how far the kernel and how far rounding is off the exact product."""
    weight_of, m, cut, zeros = CASES[name]
    weight = random_weight(*weight_of, zeros=zeros)
    generator = torch.Generator().manual_seed(m)
    x = torch.randn(m, weight.problem.k, generator=generator).to(weight.dtype)
    tiling = Tiling(wgmma=True, **{"warps_k": 1, "warps_n": 4} | cut)
    done = simulate(weight, x, tiling, **({"edit": edit} if edit else {}))
    assert done.counters_are_zero
    exact = x.double() @ weight.dequantise(torch.float64).T
    rounding = (exact.to(x.dtype).double() - exact).norm()
    return float((done.out.double() - exact).norm()), float(rounding)


@pytest.mark.parametrize("name", CASES)
def test_the_ptx_computes_the_product(name: str) -> None:
    off, rounding = difference(name)
    assert off < 1.05 * rounding


NAMES = tuple(CASES)


def test_activations_are_stored_by_stmatrix_and_products_are_waited_for_once() -> None:
    """A step's products are waited for after the next words are upcast."""

    def check(ptx: str) -> str:
        assert "stmatrix" in ptx and "st.shared" not in ptx[: ptx.index("wgmma")]
        assert "shfl" not in ptx
        assert ptx.count("wgmma.wait_group") == 2
        assert ptx.count("wgmma.mma_async") == 256 // 16
        return ptx

    difference(NAMES[0], check)


def without(text: str) -> Callable[[str], str]:
    return lambda ptx: ptx.replace(text, f"// {text}")


FAULTS = {
    "no fence": without("fence.proxy.async"),
    "no wait": lambda ptx: ptx.replace(
        "wait_group.sync.aligned 0", "wait_group.sync.aligned 1"
    ),
    "a product is left out": lambda ptx: "// wgmma".join(
        ptx.rsplit("wgmma.mma_async", 1)
    ),
    "a tile is not stored": lambda ptx: ptx.replace("stmatrix", "// stmatrix", 1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_seen(name: str) -> None:
    off, rounding = difference(NAMES[0], FAULTS[name])
    assert not off < 2 * rounding
