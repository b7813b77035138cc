import itertools

import pytest
import torch

from algebra.encodings import DotOperand, NvidiaMma
from algebra.errors import OutOfRangeError
from compiler.codegen.gluon.pair_matmul import ORDERS, derive_operand, pair_kernel_text
from compiler.mixed.pairs import OPERANDS, UNITS, unit_type
from verify.mixed import random_operand, simulate_pair

UNIT_NAMES = [unit.name for unit in UNITS]
FAST = [
    ("fp32", "int4", "k", "mn"),
    ("fp16", "bf16", "mn", "k"),
    ("mxfp4", "fp8e4m3", "k", "k"),
    ("int8", "int4", "mn", "mn"),
]


def check(a: str, b: str, orders: tuple[str, str]) -> str:
    left = random_operand(a, 80, 96, orders[0], seed=1)
    right = random_operand(b, 72, 96, orders[1], seed=2)
    done = simulate_pair((a, b), orders, left, right)
    exact = left.values @ right.values.T
    error = (done.out.double() - exact).norm() / exact.norm()
    whole = unit_type(OPERANDS[a], OPERANDS[b]).whole
    # float32 sums of exact products; exact sums of integers
    assert error == 0 if whole else error < 1e-6
    return done.ptx


@pytest.mark.parametrize(("a", "b", "order_a", "order_b"), FAST)
def test_the_ptx_computes_the_product(
    a: str, b: str, order_a: str, order_b: str
) -> None:
    ptx = check(a, b, (order_a, order_b))
    assert "shfl" not in ptx and ".shared." not in ptx


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("a", "b"), list(itertools.product(OPERANDS, OPERANDS)))
def test_every_ordered_pair(a: str, b: str, order: str) -> None:
    ptx = check(a, b, (order, order))
    assert "shfl" not in ptx and ".shared." not in ptx


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("op_idx", [0, 1])
@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_places_hold_what_the_instruction_wants(
    unit: str, op_idx: int, order: str
) -> None:
    """The loaded layout is the fragment with bits renamed, for all places."""
    kind = UNITS[UNIT_NAMES.index(unit)]
    found = derive_operand(op_idx, kind, order)
    parent = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
    operand = DotOperand(op_idx=op_idx, parent=parent, k_width=kind.per_register)
    fragment = operand.to_linear_layout([64, 32] if op_idx == 0 else [32, 64])
    row_dim, k_dim = ("dim0", "dim1") if op_idx == 0 else ("dim1", "dim0")
    for register in range(fragment.get_in_dim_size("register")):
        for thread in range(128):
            at = {"register": register, "lane": thread % 32, "warp": thread // 32}
            due = fragment.apply({**at, "block": 0})
            got = found.layout.apply(at)
            row = sum((due[row_dim] >> b & 1) << c for b, c in enumerate(found.rows))
            k = sum((due[k_dim] >> b & 1) << c for b, c in enumerate(found.depth))
            assert (got["dim0"], got["dim1"]) == (row, k)


@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_both_operands_agree_on_k(unit: str) -> None:
    kind = UNITS[UNIT_NAMES.index(unit)]
    depths = {
        derive_operand(op_idx, kind, order).depth
        for op_idx in (0, 1)
        for order in ORDERS
    }
    assert len(depths) == 1


@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_neighbours_in_memory_are_a_lanes(unit: str) -> None:
    kind = UNITS[UNIT_NAMES.index(unit)]
    along_k = derive_operand(0, kind, "k").layout.bases["register"]
    assert {(0, 1), (0, 2), (0, 4)} <= set(along_k)
    for op_idx in (0, 1):
        along_rows = derive_operand(op_idx, kind, "mn").layout.bases["register"]
        assert {(1, 0), (2, 0)} <= set(along_rows)


def test_unknown_order() -> None:
    with pytest.raises(OutOfRangeError, match="order='m'"):
        pair_kernel_text(OPERANDS["int8"], OPERANDS["int8"], ("m", "k"))


def test_odd_sizes_are_masked() -> None:
    left = random_operand("bf16", 17, 40, "k")
    right = random_operand("int8", 9, 40, "mn")
    done = simulate_pair(("bf16", "int8"), ("k", "mn"), left, right)
    exact = left.values @ right.values.T
    assert torch.allclose(done.out.double(), exact, rtol=0, atol=1e-3)
