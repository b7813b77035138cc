from collections import Counter

import pytest

from verify.libraries.answer import judge
from verify.libraries.operation import UndefinedError
from verify.libraries.triton_layouts import CONVERSION, TRITON_LAYOUTS

QUICK = [one for one in TRITON_LAYOUTS.operations if one.source != CONVERSION]


def test_the_installed_wheel_agrees_with_the_algebra() -> None:
    counts: Counter[str] = Counter()
    for number in range(600):
        operation, arguments = TRITON_LAYOUTS.draw(5, number)
        if operation in QUICK:
            counts[judge(operation, arguments)["status"]] += 1
    assert set(counts) == {"ok"}


def test_a_conversion_compiles() -> None:
    operation = TRITON_LAYOUTS.named("convert_layout")
    src = ((), (0, 1, 2, 3, 4), ())
    dst = ((), (4, 1, 2, 3, 0), ())
    assert judge(operation, (src, dst, 5, "i32"))["status"] == "ok"


def test_bases_of_a_conversion_hold_each_bit_once() -> None:
    operation = TRITON_LAYOUTS.named("convert_layout")
    once = ((), (0, 1, 2, 3, 4), ())
    twice = ((), (0, 1, 2, 3, 3), ())
    with pytest.raises(UndefinedError):
        operation.expected(once, twice, 5, "i32")
