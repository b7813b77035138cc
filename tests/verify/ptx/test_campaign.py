import time
from pathlib import Path
from random import Random

import pytest

from algebra.verdict import Proved, Refuted
from verify.oracle import Wheel
from verify.ptx.campaign import Outcome, judge, ptx_wheel
from verify.ptx.miscompiled import MISCOMPILED
from verify.ptx.random_conversions import Conversion, random_conversion

ORACLES = Path(__file__).resolve().parents[3] / ".." / ".oracle"


def unproved(
    wheel: Wheel, seed: int, count: int, seconds: float = 600.0
) -> tuple[int, list[Outcome]]:
    """Judge random conversions; return how many, and those that are not proved.

    What a release is known to get wrong does not count.
    """
    rng = Random(seed)
    known = wheel.version in MISCOMPILED[0].releases
    until = time.monotonic() + seconds
    found = []
    done = 0
    while done < count and time.monotonic() < until:
        size = min(20, count - done)
        done += size
        for outcome in judge(wheel, [random_conversion(rng) for _ in range(size)]):
            if not isinstance(outcome.verdict, Proved) and not (
                known and swaps_bytes(outcome)
            ):
                found.append(outcome)
    return done, found


def swaps_bytes(outcome: Outcome) -> bool:
    """Return whether an outcome looks like the first of the known cases."""
    return (
        isinstance(outcome.verdict, Refuted)
        and outcome.verdict.counterexample.kind == "wrong element"
        and outcome.conversion.element_bits == 8
        and "shfl" in outcome.ptx
    )


def test_random_conversions(wheel: Wheel) -> None:
    assert unproved(wheel, 1, 12) == (12, [])


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
        done, found = unproved(wheel, 2, 300, seconds=50)
    assert not found
    assert done >= 40
