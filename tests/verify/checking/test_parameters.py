from typing import Any

import triton
import triton.language as tl

from algebra.verdict import Proved
from compiler.triton_api import ttir_text
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
def renamed(x, z, y, n, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    if tl.program_id(1) == 0:  # noqa: SIM108 - it is the branch that renames
        source = x
    else:
        source = z
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + tl.program_id(1) * n + o, tl.load(source + o, mask=o < n), mask=o < n)


def test_a_kernel_may_give_its_parameters_other_names() -> None:
    signature = {"x": "*fp32", "z": "*fp32", "y": "*fp32", "n": "i32"}
    assert "%x" not in ttir_text(renamed, signature, {"B": 32})
    args: dict[str, Any] = {
        "x": Buffer("fp32", "n"),
        "z": Buffer("fp32", "n"),
        "y": Buffer("fp32", "2*n", writes=True),
        "n": Scalar("i32", 0, 2**29),
    }
    report = check(renamed, args, {"B": 32}, ("cdiv(n, 32)", 2))
    for obligation in ("in_bounds", "no_wrap", "write_once", "no_race"):
        assert isinstance(report[obligation], Proved), report
