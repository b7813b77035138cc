"""The model contradicts PyTorch's copy only where a find says so."""

from collections import Counter

from verify.libraries.answer import judge
from verify.libraries.pycute import PYCUTE, TORCH_PYCUTE

FAULTY = {
    "composition",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "logical_product_int",
}
"""Operations with a find; see docs/found.md."""


def test_nothing_else_fails() -> None:
    failing: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for number in range(3000):
        operation, arguments = TORCH_PYCUTE.draw(0, number)
        status = judge(operation, arguments)["status"]
        statuses[status] += 1
        if status in ("mismatch", "error"):
            failing[operation.name] += 1
    assert set(failing) <= FAULTY
    assert statuses["malformed"] == 0
    assert statuses["ok"] > 1500


def test_both_copies_are_asked_the_same() -> None:
    names = {operation.name for operation in TORCH_PYCUTE.operations}
    assert names < {operation.name for operation in PYCUTE.operations}
