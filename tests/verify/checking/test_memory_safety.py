from collections.abc import Callable

import pytest

from algebra.verdict import Proved, Unknown
from verify.checking.memory_safety import CANDIDATE, bounds, verdict_of, wraps
from verify.checking.setting import Setting

Make = Callable[..., Setting]


def test_answers_become_verdicts() -> None:
    assert isinstance(verdict_of(False, 1), Proved)
    assert verdict_of(None, 1) == Unknown("time-out after 1 s")
    assert verdict_of({}, 1) == Unknown(CANDIDATE)


def test_a_masked_copy_is_in_bounds_and_wraps_nowhere(
    settings: Make, copy_text: str
) -> None:
    one = settings(copy_text)
    assert all(isinstance(f.verdict, Proved) for f in (*bounds(one), *wraps(one)))
    assert len(list(bounds(one))) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load %from, %mask", "load %from"),
        ("cmpi slt", "cmpi sle"),
        ("tt.addptr %xs, %index", "tt.addptr %xs, %ns"),
    ],
)
def test_a_fault_leaves_a_candidate(
    settings: Make, copy_text: str, old: str, new: str
) -> None:
    one = settings(copy_text.replace(old, new))
    assert any(f.verdict == Unknown(CANDIDATE) for f in bounds(one))


def test_a_wrap_in_a_mask_is_found(settings: Make, copy_text: str) -> None:
    wide = copy_text.replace("constant 64", "constant 100")
    one = settings(wide, grid=("cdiv(n, 100)",))
    assert any(f.verdict == Unknown(CANDIDATE) for f in wraps(one))


def test_a_pointer_from_nowhere_is_unknown(
    settings: Make, ttir: Callable[..., str]
) -> None:
    body = (
        "%p = tt.nonsense %n : i32 -> !tt.ptr<f32>\n%f = arith.constant 0.0 : f32\n"
        "tt.store %p, %f : !tt.ptr<f32>"
    )
    (finding,) = bounds(settings(ttir(body)))
    assert (
        isinstance(finding.verdict, Unknown) and "tt.nonsense" in finding.verdict.reason
    )
