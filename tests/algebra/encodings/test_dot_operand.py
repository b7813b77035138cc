"""Dot operands: which exist, and what their warps and CTAs along K hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.encodings import AmdWmma, Blocked, Cga, DotOperand, NvidiaMma, Slice
from algebra.errors import EncodingError, NotPowerOfTwoError

POWER = st.sampled_from([1, 2, 4])
SIZES = st.tuples(POWER, POWER)


@given(SIZES, SIZES, SIZES, st.permutations(range(2)), st.integers(0, 1), SIZES)
def test_threads_of_a_blocked_operand_hold_whole_rows_along_k(
    thread: tuple[int, ...],
    lanes: tuple[int, ...],
    warps: tuple[int, ...],
    order: list[int],
    op_idx: int,
    shape: tuple[int, ...],
) -> None:
    parent = Blocked(
        size_per_thread=thread,
        threads_per_warp=lanes,
        warps_per_cta=warps,
        order=tuple(order),
    )
    operand = DotOperand(op_idx=op_idx, parent=parent)
    layout = operand.to_linear_layout(shape)
    assert layout.is_surjective
    along_k = layout.sublayout(["lane", "warp"], [f"dim{operand.k_dim}"])
    assert set(along_k.columns) <= {0}


def blocked(**changes: Any) -> Blocked:
    return Blocked(
        size_per_thread=(1, 1),
        threads_per_warp=(2, 2),
        warps_per_cta=(1, 1),
        order=(1, 0),
        **changes,
    )


def mma(version: int = 2) -> NvidiaMma:
    instr = (16, 8) if version == 2 else (16, 8, 16)
    return NvidiaMma(version=(version, 0), warps_per_cta=(4, 1), instr_shape=instr)


def test_ctas_along_k_hold_copies() -> None:
    operand = DotOperand(op_idx=0, parent=blocked(cga=Cga(bases=((0, 1), (1, 0)))))
    assert operand.cga == Cga(bases=((0, 0), (1, 0)))
    assert operand.to_linear_layout([8, 8]).bases["block"] == ((0, 0), (4, 0))
    assert operand.rank == 2


def test_text() -> None:
    operand = DotOperand(op_idx=1, parent=mma(), k_width=2)
    assert eval(repr(operand)) == operand


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"op_idx": 2, "parent": mma(), "k_width": 2}, EncodingError, "op_idx=2"),
        ({"op_idx": 0, "parent": mma(), "k_width": 3}, NotPowerOfTwoError, "=3"),
        ({"op_idx": 0, "parent": mma(), "k_width": 0}, NotPowerOfTwoError, "=0"),
        ({"op_idx": 0, "parent": blocked(), "k_width": 1}, EncodingError, "k_width"),
        (
            {"op_idx": 1, "parent": mma(3), "k_width": 2},
            EncodingError,
            "version 3 needs op_idx",
        ),
        (
            {"op_idx": 0, "parent": Slice(dim=0, parent=blocked())},
            EncodingError,
            "parent=Slice; give the result's encoding",
        ),
        (
            {
                "op_idx": 0,
                "parent": AmdWmma(version=1, is_transposed=False),
                "k_width": 4,
            },
            EncodingError,
            r"k_width to be one of \[8, 16\]",
        ),
    ],
)
def test_operands_that_do_not_exist(
    parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DotOperand(**parameters)


def test_a_vector_is_no_operand() -> None:
    parent = Blocked(
        size_per_thread=(1,), threads_per_warp=(2,), warps_per_cta=(1,), order=(0,)
    )
    with pytest.raises(EncodingError, match="rank=1"):
        DotOperand(op_idx=0, parent=parent)
