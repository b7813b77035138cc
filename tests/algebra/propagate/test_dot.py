"""Which operands belong to a dot."""

import pytest

from algebra.encodings import Blocked, DotOperand, Encoding, NvidiaMma, NvmmaShared
from algebra.errors import EncodingError
from algebra.propagate.dot import check_dot

AMPERE = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
OTHER = NvidiaMma(version=(2, 0), warps_per_cta=(4, 1), instr_shape=(16, 8))
HOPPER = NvidiaMma(version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16))
SHARED = NvmmaShared(swizzle_byte_width=128, element_bit_width=16)
BLOCKED = Blocked(
    size_per_thread=(1, 4),
    threads_per_warp=(4, 8),
    warps_per_cta=(4, 1),
    order=(1, 0),
)
LEFT = DotOperand(op_idx=0, parent=AMPERE, k_width=2)
RIGHT = DotOperand(op_idx=1, parent=AMPERE, k_width=2)
HOPPER_LEFT = DotOperand(op_idx=0, parent=HOPPER, k_width=2)
BLOCKED_LEFT = DotOperand(op_idx=0, parent=BLOCKED)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (LEFT, RIGHT, AMPERE),
        (BLOCKED_LEFT, DotOperand(op_idx=1, parent=BLOCKED), BLOCKED),
        (SHARED, SHARED, HOPPER),
        (HOPPER_LEFT, SHARED, HOPPER),
        (LEFT, SHARED, HOPPER),
    ],
)
def test_what_belongs(a: Encoding, b: Encoding, result: Encoding) -> None:
    check_dot(a, b, result)


@pytest.mark.parametrize(
    ("a", "b", "result", "operand"),
    [
        (SHARED, RIGHT, AMPERE, "a"),
        (LEFT, BLOCKED, AMPERE, "b"),
        (RIGHT, RIGHT, AMPERE, "a"),
        (LEFT, LEFT, AMPERE, "b"),
        (LEFT, RIGHT, OTHER, "a"),
        (LEFT, DotOperand(op_idx=1, parent=OTHER, k_width=2), AMPERE, "b"),
        (BLOCKED, SHARED, HOPPER, "a"),
        (BLOCKED_LEFT, SHARED, HOPPER, "a"),
        (SHARED, HOPPER_LEFT, HOPPER, "b"),
    ],
)
def test_what_does_not(
    a: Encoding, b: Encoding, result: Encoding, operand: str
) -> None:
    with pytest.raises(EncodingError, match=f"dot needs operand {operand} with"):
        check_dot(a, b, result)


def test_widths_must_agree() -> None:
    wide = DotOperand(op_idx=1, parent=AMPERE, k_width=4)
    with pytest.raises(EncodingError, match=r"a\.k_width=2, b\.k_width=4"):
        check_dot(LEFT, wide, AMPERE)
