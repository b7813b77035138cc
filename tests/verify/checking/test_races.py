# ruff: noqa: E501 - operations stand on one line
from collections.abc import Callable

import pytest

from algebra.verdict import Proved, Refuted, Unknown
from verify import Buffer, Scalar, check
from verify.checking.memory_safety import CANDIDATE
from verify.checking.races import places, races, written_once
from verify.checking.setting import Setting

Make = Callable[..., Setting]
ATOMIC = (
    "%t = arith.constant true\n%v = arith.constant 1.0 : f32\n"
    "%o = tt.atomic_rmw fadd, acq_rel, gpu, %y, %v, %t : (!tt.ptr<f32>, f32, i1) -> f32\n"
)


def verdicts(findings: object) -> set[str]:
    return {
        type(f.verdict).__name__ if f.verdict != Unknown(CANDIDATE) else "candidate"
        for f in findings  # type: ignore[attr-defined]
    }


def test_a_copy_writes_each_element_once(settings: Make, copy_text: str) -> None:
    one = settings(copy_text)
    assert verdicts(written_once(one)) == {"Proved"}
    assert [p.buffer for p in places(one)] == ["x", "y"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("muli %pid, %block", "addi %pid, %block"),
        ("tt.addptr %ys, %index", "tt.addptr %ys, %starts"),
    ],
)
def test_stores_that_meet_are_found(
    settings: Make, copy_text: str, old: str, new: str
) -> None:
    assert "candidate" in verdicts(written_once(settings(copy_text.replace(old, new))))


def test_a_kernel_without_program_ids_is_one_program_or_a_race(
    settings: Make, ttir: Callable[..., str]
) -> None:
    text = ttir("%f = arith.constant 0.0 : f32\ntt.store %y, %f : !tt.ptr<f32>")
    assert verdicts(written_once(settings(text, grid=(1,)))) == {"Proved"}
    assert "candidate" in verdicts(written_once(settings(text, grid=("n",))))


def test_atomics_race_with_plain_accesses_only(
    settings: Make, ttir: Callable[..., str]
) -> None:
    assert verdicts(races(settings(ttir(ATOMIC), grid=("n",)))) == set()
    text = ttir(
        ATOMIC + "%l = tt.load %y : !tt.ptr<f32>\ntt.store %x, %l : !tt.ptr<f32>"
    )
    assert "candidate" in verdicts(races(settings(text, grid=("n",))))


def test_reading_what_another_program_writes_is_a_race(
    settings: Make, copy_text: str
) -> None:
    text = copy_text.replace("tt.splat %x", "tt.splat %y").replace(
        "addptr %xs, %index", "addptr %xs, %range"
    )
    assert "candidate" in verdicts(races(settings(text)))
    same = copy_text.replace("tt.splat %x", "tt.splat %y")
    assert verdicts(races(settings(same))) == {"Proved"}
    assert isinstance(Proved(), Proved)


@pytest.mark.parametrize(
    ("grid", "wanted"), [(1, Proved), (2, Refuted), ("n", Refuted)]
)
def test_an_axis_that_is_not_read_repeats_each_store(
    copy_text: str, grid: int | str, wanted: type
) -> None:
    args: dict[str, Buffer | Scalar] = {
        "x": Buffer("fp32", "n"),
        "y": Buffer("fp32", "n", writes=True),
        "n": Scalar("i32", 0),
    }
    report = check(copy_text, args, grid=("cdiv(n, 64)", grid), preconditions=False)
    assert isinstance(report["write_once"], wanted), report
