from random import Random

import pytest

from verify.libraries.answer import judge
from verify.libraries.operation import UndefinedError
from verify.libraries.triton_compiler import STATEMENTS, TRITON_COMPILER

KERNEL = TRITON_COMPILER.operations[0]


def test_a_kernel_compiles() -> None:
    types, shape, target = ("fp32", "fp32"), (4, 8), ("cuda", 90)
    answer = judge(KERNEL, (("x = x + y", "x, y = y, x"), types, shape, 4, target))
    assert answer == {"status": "ok"}


def test_what_the_front_end_says_is_a_refusal() -> None:
    types, shape, target = ("fp32", "fp32"), (4, 8), ("cuda", 90)
    answer = judge(KERNEL, (("x = x << (y & 3)",), types, shape, 4, target))
    assert answer["status"] == "refused"


def test_drawn_kernels_are_within_the_contract() -> None:
    rng = Random(2)
    assert all(KERNEL.expected(*KERNEL.draw(rng)) for _ in range(200))
    with pytest.raises(UndefinedError):
        KERNEL.expected(("x = 1",), ("fp32", "fp32"), (1, 1), 1, ("cuda", 90))


def test_statements_are_python() -> None:
    for line in STATEMENTS:
        compile(line, "statement", "exec")
