from pathlib import Path

import pytest

from algebra import LinearLayout, OutOfRangeError, UnsupportedLayoutError
from compiler.codegen.gluon.probe import ROUND_TRIPS
from compiler.codegen.gluon.round_trip import RoundTrip, candidates
from compiler.codegen.gluon.tuning import (
    AHEAD,
    FEWEST_ROUNDS,
    LAUNCH_MICROSECONDS,
    MOST_ROUNDS,
    Loop,
    WrongResultError,
    choice,
    fastest,
)

NAMES = {"register": 2, "lane": 5, "warp": 1}
LANES = [4, 8, 16, 32, 64]
SRC = LinearLayout.from_columns(NAMES, {"dim0": 8}, [1, 2, *LANES, 128])
DST = LinearLayout.from_columns(NAMES, {"dim0": 8}, [1, 128, *LANES, 2])


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))


class Stopwatch:
    """Gives each candidate a time, and counts how often it is asked."""

    def __init__(self, *times: float | Exception) -> None:
        self.times, self.asked = times, 0

    def __call__(self, pair: RoundTrip) -> float:
        time = self.times[min(self.asked, len(self.times) - 1)]
        self.asked += 1
        if isinstance(time, Exception):
            raise time
        return time


def test_the_fastest_is_taken_and_kept_for_a_device() -> None:
    count = len(candidates(SRC, DST, 16, resident_warps=2))
    assert count > 1
    watch = Stopwatch(2.0, 1.0, 3.0)
    found = fastest(SRC, DST, 16, timer=watch, device_name="a")
    assert found.number == 1 and watch.asked == count
    assert found.microseconds[:2] == (2.0, 1.0)
    again = Stopwatch(1.0)
    assert fastest(SRC, DST, 16, timer=again, device_name="a") == found
    assert again.asked == 0
    other = Stopwatch(1.0)
    assert fastest(SRC, DST, 16, timer=other, device_name="b").number == 0
    assert other.asked == count


def test_what_was_kept_and_then_changed_is_timed_again(tmp_path: Path) -> None:
    fastest(SRC, DST, 16, timer=Stopwatch(1.0), device_name="a")
    (kept,) = tmp_path.glob("*-conversion")
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    watch = Stopwatch(1.0)
    fastest(SRC, DST, 16, timer=watch, device_name="a")
    assert watch.asked


def test_candidates_that_do_not_compile_are_passed_over() -> None:
    watch = Stopwatch(ValueError("ptxas"), 2.0)
    found = fastest(SRC, DST, 16, timer=watch, device_name="a")
    assert found.number == 1 and found.microseconds[0] is None
    with pytest.raises(UnsupportedLayoutError, match="none of"):
        fastest(SRC, DST, 16, timer=Stopwatch(ValueError("ptxas")), device_name="b")


def test_a_wrong_result_is_not_passed_over() -> None:
    with pytest.raises(WrongResultError):
        fastest(SRC, DST, 16, timer=Stopwatch(WrongResultError("bad")), device_name="a")


def test_there_must_be_a_candidate_and_a_gpu() -> None:
    with pytest.raises(OutOfRangeError, match="most=0"):
        fastest(SRC, DST, 16, most=0, timer=Stopwatch(1.0), device_name="a")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="needs a CUDA device"):
            fastest(SRC, DST, 16)


def test_the_first_stays_unless_another_is_clearly_faster() -> None:
    assert choice([1.0, 0.995]) == 0
    assert choice([1.0, 0.985]) == 1
    assert choice([None, 3.0, 2.0]) == 2


@pytest.mark.gpu
def test_timing_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    found = fastest(SRC, DST, 16)
    assert all(time is None or time > 0 for time in found.microseconds)


@pytest.mark.parametrize("conversion", [0.01, 0.1, 1.0, 50.0])
def test_launches_last_long_enough_whatever_the_first_one_took(
    conversion: float,
) -> None:
    compiled: set[bool] = set()

    class Clock(Loop):
        """A device whose first launch of a kernel compiles it."""

        stalls = 0.0

        def __init__(self) -> None:
            pass

        def run(self, rounds: int) -> None:
            kind = rounds % 16 == 0
            self.stalls = 0.0 if kind in compiled else 1e5
            compiled.add(kind)

        def microseconds(self, rounds: int) -> float:
            self.run(rounds // AHEAD)
            self.run(rounds)
            conversions = 2 * ROUND_TRIPS * rounds
            return conversion + (5.0 + self.stalls) / conversions

    rounds, found = Clock().timed()
    # what a launch takes besides is in the time of a short one
    assert conversion <= found <= conversion + 5.0 / (2 * ROUND_TRIPS * rounds)
    assert compiled == {True}  # nothing is compiled for other numbers
    assert rounds % FEWEST_ROUNDS == 0
    assert rounds == MOST_ROUNDS or (
        2 * ROUND_TRIPS * rounds * conversion > LAUNCH_MICROSECONDS / 2 - 5
    )
