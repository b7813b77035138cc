"""Programs that keep their activations compute the product, tile after tile."""

from typing import Any

import pytest
import torch

from compiler.codegen.gluon.quantised_rounds import MOST_TOGETHER
from compiler.mixed.tiling import Tiling
from verify.mixed import random_weight, simulate

BF16, FP16 = torch.bfloat16, torch.float16
ROUNDS: dict[str, tuple[Any, ...]] = {
    "three turns at once, the last one ragged": (
        ("int4", 72, 512, 128, BF16),
        3,
        {"rows": 8, "programs": 2, "stages": 1},
        False,
    ),
    "two ahead, zero points": (
        ("int4", 112, 512, 64, FP16),
        8,
        {"rows": 8, "programs": 2, "stages": 2},
        True,
    ),
    "mxfp4, one turn each": (
        ("mxfp4", 48, 512, 32, BF16),
        1,
        {"rows": 8, "programs": 4, "stages": 2},
        False,
    ),
    "more turns than registers hold": (
        ("int4", 16 * (MOST_TOGETHER + 1), 512, 512, BF16),
        5,
        {"rows": 8, "programs": 1, "stages": 2},
        False,
    ),
    "two instructions' rows, apart": (
        ("int4", 80, 512, 128, BF16),
        19,
        {"rows": 16, "programs": 2, "stages": 1},
        False,
    ),
    "int8, two warps a tile": (
        ("int8", 160, 512, 128, FP16),
        8,
        {"rows": 8, "programs": 2, "stages": 1, "warps_n": 2},
        False,
    ),
    "nvfp4, two tiles a warp": (
        ("nvfp4", 96, 512, 16, BF16),
        2,
        {"rows": 8, "programs": 2, "stages": 1, "row_tiles": 2},
        False,
    ),
}


def difference(name: str, edit: Any = None) -> tuple[float, float]:
    """Return how far the kernel and how far rounding is off the exact product."""
    weight_of, m, cut, zeros = ROUNDS[name]
    weight = random_weight(*weight_of, zeros=zeros)
    generator = torch.Generator().manual_seed(m)
    x = torch.randn(m, weight.problem.k, generator=generator).to(weight.dtype)
    tiling = Tiling(**{"warps_k": 4, "depth": 128, "dependent": True} | cut)
    done = simulate(weight, x, tiling, **({"edit": edit} if edit else {}))
    exact = x.double() @ weight.dequantise(torch.float64).T
    rounding = (exact.to(x.dtype).double() - exact).norm()
    return float((done.out.double() - exact).norm()), float(rounding)


@pytest.mark.parametrize("name", ROUNDS)
def test_the_ptx_computes_the_product(name: str) -> None:
    off, rounding = difference(name)
    assert off < 1.05 * rounding


NAMES = tuple(ROUNDS)


@pytest.mark.parametrize(("name", "barriers"), [(NAMES[0], 1), (NAMES[4], 2)])
def test_sums_meet_once_or_each_turn(name: str, barriers: int) -> None:
    def count(ptx: str) -> str:
        assert ptx.count("bar.sync") == barriers
        assert ptx.count("cp.async") == 0
        # the next kernel may start before this one reads activations
        assert ptx.index("launch_dependents") < ptx.index("griddepcontrol.wait")
        assert ptx.index("griddepcontrol.wait") < ptx.index("mma.sync")
        return ptx

    difference(name, count)


def test_a_turn_that_is_left_out_is_seen() -> None:
    def fault(ptx: str) -> str:
        last = ptx.rindex("mma.sync")
        return ptx[:last] + ptx[last:].replace("mma.sync", "// mma.sync", 1)

    off, rounding = difference(NAMES[0], fault)
    assert off > 2 * rounding
