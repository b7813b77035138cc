from typing import Any

import pytest
import triton
import triton.language as tl

from algebra.verdict import Proved
from verify import Buffer, Scalar, check
from verify.checking.parameters import with_names

TEXT = """
tt.func public @f(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
  %a = tt.load %p : !tt.ptr<i32>
  %p_0 = arith.addi %a, %a : i32
  tt.store %q, %p_0 : !tt.ptr<i32>
  tt.return
}
"""


def test_parameters_get_the_names_that_are_wanted() -> None:
    found = with_names(TEXT, ["x", "y"])
    assert "@f(%x: !tt.ptr<i32>, %y:" in found
    assert "tt.load %x :" in found and "tt.store %y, %p_0" in found


def test_a_value_that_has_a_wanted_name_gets_another() -> None:
    found = with_names(TEXT, ["a", "p"])
    assert "@f(%a: !tt.ptr<i32>, %p:" in found
    assert "%a_inner = tt.load %a :" in found and "addi %a_inner, %a_inner" in found


def test_a_text_that_fits_or_has_other_parameters_stays() -> None:
    assert with_names(TEXT, ["p", "q"]) is TEXT
    assert with_names(TEXT, ["p"]) is TEXT


@triton.jit  # type: ignore[untyped-decorator]
def renamed(x, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    source = x
    target = y
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(target + o, tl.load(source + o, mask=o < n), mask=o < n)


@pytest.mark.parametrize("block", [32, 64])
def test_a_kernel_may_give_its_parameters_other_names(block: int) -> None:
    args: dict[str, Any] = {
        "x": Buffer("fp32", "n"),
        "y": Buffer("fp32", "n", writes=True),
        "n": Scalar("i32", 0, 2**30),
    }
    report = check(renamed, args, {"B": block}, (f"cdiv(n, {block})",))
    assert isinstance(report.verdict, Proved), report
