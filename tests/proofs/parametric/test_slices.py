from collections.abc import Callable

import pytest

from algebra.encodings import Blocked, NvidiaMma, Slice
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from proofs.parametric.slices import parametric, slice_of_blocked, slice_of_mma


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_blocked_pieces(
    agrees: Callable[..., int], dim: int, order: tuple[int, int]
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = Blocked(
            size_per_thread=(1 << e["p0"], 1 << e["p1"]),
            threads_per_warp=(1 << e["t0"], 1 << e["t1"]),
            warps_per_cta=(1 << e["w0"], 1 << e["w1"]),
            order=order,
        )
        return Slice(dim=dim, parent=parent).to_linear_layout([1 << e["s0"]])

    assert agrees(slice_of_blocked(dim, order), build, 30) >= 20


@pytest.mark.parametrize("dim", [0, 1])
def test_mma_pieces(agrees: Callable[..., int], dim: int) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = NvidiaMma(
            version=(2, 0),
            warps_per_cta=(1 << e["w0"], 1 << e["w1"]),
            instr_shape=(16, 8),
        )
        return Slice(dim=dim, parent=parent).to_linear_layout([1 << e["s0"]])

    assert agrees(slice_of_mma(dim), build, 30) >= 20


def test_all_are_proved() -> None:
    for theorem in parametric():
        assert isinstance(theorem.prove(60), Proved), theorem.name
