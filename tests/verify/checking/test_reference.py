from collections.abc import Callable

import pytest
import torch

from algebra.errors import ArgumentError
from algebra.verdict import Proved, Refuted, Unknown, Verdict
from verify import check
from verify.checking.reference import agrees, canonical
from verify.checking.setting import Setting
from verify.symbolic.terms import VALUE, Term, opaque, symbol

Make = Callable[..., Setting]


def verdict(one: Setting, other: object) -> Verdict:
    (finding,) = agrees(one, other)  # type: ignore[arg-type]
    return finding.verdict


def added(*parts: Term) -> Term:
    return opaque(VALUE, "addf", ("f32", *parts))


def test_sums_are_multisets() -> None:
    a, b, c = (opaque(VALUE, "argument", (name,)) for name in "abc")
    memo: dict[Term, Term] = {}
    assert canonical(added(a, added(b, c)), memo) is canonical(
        added(added(c, a), b), memo
    )
    assert canonical(added(a, b), memo) is not canonical(added(a, c), memo)
    assert canonical(symbol("x"), memo) is symbol("x")


def test_a_kernel_equals_itself_however_it_is_written(
    settings: Make, copy_text: str
) -> None:
    other = copy_text.replace("addi %starts, %range", "addi %range, %starts").replace(
        "cmpi slt, %index, %ns", "cmpi sgt, %ns, %index"
    )
    assert isinstance(verdict(settings(copy_text), settings(other)), Proved)


def test_a_default_that_is_masked_off_makes_no_difference(
    settings: Make, ttir: Callable[..., str], block: str
) -> None:
    def text(default: str) -> Setting:
        return settings(
            ttir(
                f"{block}%d = arith.constant dense<{default}> : tensor<64xf32>\n"
                "%v = tt.load %from, %mask, %d : tensor<64x!tt.ptr<f32>>\n"
                "%w = arith.mulf %v, %v : tensor<64xf32>\n"
                "tt.store %to, %w, %mask : tensor<64x!tt.ptr<f32>>"
            )
        )

    assert isinstance(verdict(text("0.0"), text("1.0")), Proved)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tt.store %to, %value", "tt.store %to, %more"),
        ("tt.addptr %xs, %index", "tt.addptr %xs, %zeros"),
    ],
)
def test_a_difference_is_run_before_it_is_said(
    settings: Make, copy_text: str, old: str, new: str
) -> None:
    text = copy_text.replace(old, new)
    text = text.replace(
        "tt.store", "%more = arith.addf %value, %value : tensor<64xf32>\n  tt.store"
    ).replace("%xs = ", "%zeros = arith.constant dense<0> : tensor<64xi32>\n  %xs = ")
    found = verdict(settings(text), settings(copy_text))
    assert isinstance(found, Refuted)
    assert "the reference has" in found.counterexample.confirmed


def test_python_functions_prove_where_they_are_traced(copy_text: str) -> None:
    from verify import Buffer, Scalar

    args: dict[str, Buffer | Scalar] = {
        "x": Buffer("fp32", "n"),
        "y": Buffer("fp32", "n", writes=True),
        "n": Scalar("i32", 0),
    }
    grid = ("cdiv(n, 64)",)
    same = check(copy_text, args, grid=grid, reference=lambda x: x)
    assert isinstance(same["reference"], Proved)
    odd = check(copy_text, args, grid=grid, reference=lambda x: x.flip(0).flip(0))
    assert isinstance(odd["reference"], Unknown)
    other = check(
        copy_text, args, grid=grid, reference=lambda x: torch.flip(x, (0,)) + 1
    )
    assert isinstance(other["reference"], Refuted)
    with pytest.raises(ArgumentError, match="second kernel"):
        check(copy_text, args, grid=grid, reference=3)


def test_loops_of_fixed_length_are_not_confused(
    settings: Make, ttir: Callable[..., str]
) -> None:
    def text(stop: int) -> Setting:
        return settings(
            ttir(
                f"%z = arith.constant 0 : i32\n%e = arith.constant {stop} : i32\n"
                "%s = arith.constant 1 : i32\n%f = arith.constant 1.0 : f32\n"
                "scf.for %i = %z to %e step %s : i32 {\n"
                "  %p = tt.addptr %y, %i : !tt.ptr<f32>, i32\n"
                "  tt.store %p, %f : !tt.ptr<f32>\n}"
            ),
            grid=(1,),
            assume=("n == 64",),
        )

    assert isinstance(verdict(text(16), text(16)), Proved)
    assert isinstance(verdict(text(16), text(32)), Refuted)
