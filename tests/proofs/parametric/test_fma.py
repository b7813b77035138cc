from collections.abc import Callable

import pytest

from algebra.encodings import Blocked, DotOperand
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from proofs.parametric.fma import parametric, subject


@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pieces(
    agrees: Callable[..., int], op_idx: int, order: tuple[int, int]
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = Blocked(
            size_per_thread=(1 << e["p0"], 1 << e["p1"]),
            threads_per_warp=(1 << e["t0"], 1 << e["t1"]),
            warps_per_cta=(1 << e["w0"], 1 << e["w1"]),
            order=order,
        )
        operand = DotOperand(op_idx=op_idx, parent=parent)
        return operand.to_linear_layout([1 << e["s0"], 1 << e["s1"]])

    assert agrees(subject(op_idx, order), build, 30) >= 10


def test_all_are_proved() -> None:
    for theorem in parametric():
        assert isinstance(theorem.prove(60), Proved), theorem.name
