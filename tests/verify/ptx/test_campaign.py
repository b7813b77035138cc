from pathlib import Path
from random import Random

import pytest

from algebra.verdict import Proved
from verify.oracle import Wheel
from verify.ptx.campaign import Outcome, judge, ptx_wheel
from verify.ptx.random_conversions import Conversion, random_conversion

ORACLES = Path(__file__).resolve().parents[3] / ".." / ".oracle"


def unproved(wheel: Wheel, seed: int, count: int) -> list[Outcome]:
    rng = Random(seed)
    conversions = [random_conversion(rng) for _ in range(count)]
    return [
        outcome
        for outcome in judge(wheel, conversions)
        if not isinstance(outcome.verdict, Proved)
    ]


def test_random_conversions(wheel: Wheel) -> None:
    assert not unproved(wheel, 1, 12)


def test_times_are_kept(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["shared"]
    assert outcome.compile_seconds > 0
    assert outcome.proof_seconds > 0
    assert ".entry conversion" in outcome.ptx


def test_what_a_wheel_refuses(wheel: Wheel) -> None:
    """A slice of nothing: the text is no encoding of this shape."""
    blocked = {
        "kind": "blocked",
        "size_per_thread": [1],
        "threads_per_warp": [32],
        "warps_per_cta": [4],
        "order": [0],
    }
    other = Conversion(blocked, {**blocked, "warps_per_cta": [2]}, (64,), 32, 4)
    (outcome,) = judge(wheel, [other])
    assert outcome.verdict is None
    assert outcome.refusal


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.6.0", "3.7.1", "3.8.0", "3.9.0"])
def test_many_random_conversions(version: str) -> None:
    path = ORACLES / version
    if version != "3.7.1" and not path.is_dir():
        pytest.skip(f"no wheel of {version} beside the checkout")
    with ptx_wheel(None if version == "3.7.1" else path) as wheel:
        assert wheel.version == version
        assert not unproved(wheel, 2, 200)
