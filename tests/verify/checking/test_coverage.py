from collections.abc import Callable

import pytest

from algebra.verdict import Proved, Unknown
from verify.checking.arguments import Buffer, Scalar
from verify.checking.coverage import covered
from verify.checking.setting import Setting

Make = Callable[..., Setting]


def test_a_copy_covers_its_output(settings: Make, copy_text: str) -> None:
    (finding,) = covered(settings(copy_text))
    assert isinstance(finding.verdict, Proved)


def test_the_shape_may_have_more_dims_than_the_kernel(
    settings: Make, copy_text: str
) -> None:
    args = {
        "x": Buffer("fp32", "n"),
        "y": Buffer("fp32", ("a", "b"), writes=True),
        "n": Scalar("i32", 0),
        "a": Scalar("i32", 0),
        "b": Scalar("i32", 0),
    }
    (finding,) = covered(settings(copy_text, args, assume=("n == a*b",)))
    assert isinstance(finding.verdict, Proved)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cmpi slt, %index", "cmpi slt, %starts"),
        ("muli %pid, %block", "muli %pid, %n"),
        ("tt.store %to", "tt.store %from"),
    ],
)
def test_a_hole_is_no_proof(settings: Make, copy_text: str, old: str, new: str) -> None:
    text = copy_text.replace(old, new)
    if old.startswith("cmpi"):
        text = text.replace("%starts, %ns", "%low, %ns").replace(
            "%ns = ",
            "%one = arith.constant dense<1> : tensor<64xi32>\n"
            "%low = arith.addi %index, %one : tensor<64xi32>\n%ns = ",
        )
    (finding,) = covered(settings(text))
    assert isinstance(finding.verdict, Unknown)


def test_too_small_a_grid_leaves_a_hole(settings: Make, copy_text: str) -> None:
    (finding,) = covered(settings(copy_text, grid=("n // 64",)))
    assert isinstance(finding.verdict, Unknown)
