from collections.abc import Callable

import pytest

from algebra.encodings import DotOperand, NvidiaMma
from algebra.layout import LinearLayout
from algebra.verdict import Proved
from proofs.parametric.nvidia import operand, parametric, result


def mma(e: dict[str, int], version: int, rank: int, rows: int) -> NvidiaMma:
    instr = (1,) * (rank - 2) + (rows, 8)
    if version == 3:
        instr = (16, 1 << e.get("n", 6), 16)
    return NvidiaMma(
        version=(version, 0),
        warps_per_cta=tuple(1 << e[f"w{k}"] for k in range(rank)),
        instr_shape=instr,
    )


@pytest.mark.parametrize(
    ("version", "rank", "rows"), [(2, 2, 16), (2, 2, 8), (2, 3, 16), (3, 2, 16)]
)
def test_pieces_of_results(
    agrees: Callable[..., int], version: int, rank: int, rows: int
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        shape = [1 << e[f"s{k}"] for k in range(rank)]
        return mma(e, version, rank, rows).to_linear_layout(shape)

    assert agrees(result(version, rank, rows), build, 30) >= 20


@pytest.mark.parametrize(
    ("version", "op_idx", "rows"),
    [(2, 0, 16), (2, 1, 16), (2, 0, 8), (2, 1, 8), (3, 0, 16)],
)
def test_pieces_of_operands(
    agrees: Callable[..., int], version: int, op_idx: int, rows: int
) -> None:
    def build(e: dict[str, int]) -> LinearLayout:
        parent = mma(e, version, 2, rows)
        held = DotOperand(op_idx=op_idx, parent=parent, k_width=1 << e["k"])
        return held.to_linear_layout([1 << e["s0"], 1 << e["s1"]])

    assert agrees(operand(version, op_idx, rows), build, 30) >= 20


def test_all_are_proved() -> None:
    for theorem in parametric():
        assert isinstance(theorem.prove(60), Proved), theorem.name
