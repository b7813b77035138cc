"""The model contradicts the package only where a find says so."""

from collections import Counter

from verify.libraries.answer import judge
from verify.libraries.tensor_layouts import TENSOR_LAYOUTS

FAULTY = {
    "coalesce_profile",
    "complement",
    "compose",
    "compose_swizzled",
    "compose_with_swizzled",
    "flat_product",
    "left_inverse",
    "left_inverse_general",
    "logical_divide",
    "logical_product",
    "raked_product",
}
"""Operations with a find; see docs/found.md."""


def test_nothing_else_fails() -> None:
    failing: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for number in range(5000):
        operation, arguments = TENSOR_LAYOUTS.draw(0, number)
        status = judge(operation, arguments)["status"]
        statuses[status] += 1
        if status in ("mismatch", "error"):
            failing[operation.name] += 1
    assert set(failing) <= FAULTY
    assert statuses["malformed"] == 0
    assert statuses["ok"] > 3000
