"""The fastest of several ways to convert, timed once on a device and remembered.

The cost model ranks; a device decides. Each candidate is a proved plan, so a result
never depends on what is chosen.
"""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from algebra.errors import OutOfRangeError, UnsupportedLayoutError
from compiler.convert.hardware import Layout, hardware_of
from compiler.runtime.cache import content_key, keep, kept

from .emission import load_module
from .probe import ROUND_TRIPS
from .round_trip import MOST_PAIRS, RoundTrip, candidates

POISON = -86
LAUNCH_MICROSECONDS = 1000.0
"""How long a launch should take, so that what starts it does not count."""
AHEAD = 4
"""A launch goes before each timed one, by so much shorter."""
FEWEST_ROUNDS = 16 * AHEAD
"""Numbers of rounds are multiples of it: Triton compiles multiples of 16 apart."""
MOST_ROUNDS = 1 << 16
LAUNCHES = 5
CLEARLY = 0.99

Timer = Callable[[RoundTrip], float]


class WrongResultError(RuntimeError):
    """A kernel of proved plans gives a wrong result on this device."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found.

    Attributes:
        fastest: The pair of plans, and the form to emit them in.
        number: Its place among the candidates.
        microseconds: Of a conversion, for each candidate; None for those that did not
            compile or run [us].
    """

    fastest: RoundTrip
    number: int
    microseconds: tuple[float | None, ...]


class Loop:
    """A kernel of round trips on a GPU, with its memory."""

    def __init__(self, text: str, elements: int, element_bits: int, warps: int) -> None:
        """Draw the data; the first run compiles.

        Args:
            text: Module with ``probe(source, target, rounds)``.
            elements: Of the tensor.
            element_bits: Size of an element [bits].
            warps: Of the block.
        """
        import torch

        kind = getattr(torch, f"int{element_bits}")
        size = elements * element_bits // 8
        drawn = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
        self.source = drawn.view(kind)
        self.target = torch.full_like(self.source, POISON)
        self.kernel = load_module(text).probe
        self.warps = warps

    @classmethod
    def of(cls, pair: RoundTrip) -> "Loop":
        """Return the loop of a pair."""
        src = pair.there.src
        elements = 1 << sum(src.linear.out_bits)
        warps = 1 << hardware_of(src).warps
        return cls(pair.text, elements, pair.there.element_bits, warps)

    def run(self, rounds: int) -> Any:
        """Launch once; return the compiled kernel."""
        return self.kernel[(1,)](self.source, self.target, rounds, num_warps=self.warps)

    def is_right(self) -> bool:
        """Compare what comes back with the input; the target is poisoned before."""
        import torch

        self.target.fill_(POISON)
        self.run(FEWEST_ROUNDS)
        torch.cuda.synchronize()
        return bool(torch.equal(self.target, self.source))

    def microseconds(self, rounds: int) -> float:
        """Return the time of one conversion in one launch of so many rounds [us].

        Rounds are a multiple of ``FEWEST_ROUNDS``, and the kernel is compiled.
        A short launch goes before, so that the device has no time to wait for the host.
        """
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.run(rounds // AHEAD)
        start.record()
        self.run(rounds)
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end)) * 1000 / (2 * ROUND_TRIPS * rounds)

    def timed(self) -> tuple[int, float]:
        """Return how many rounds fill a launch that is long enough to time.

        The shortest of some launches counts for that: what the host does slows single
        ones. The second is the median time of a conversion in such launches [us].
        """
        rounds = FEWEST_ROUNDS
        self.run(rounds)
        while True:
            times = [self.microseconds(rounds) for _ in range(LAUNCHES)]
            taken = min(times) * 2 * ROUND_TRIPS * rounds
            if taken > LAUNCH_MICROSECONDS / 2 or rounds == MOST_ROUNDS:
                return rounds, statistics.median(times)
            more = min(LAUNCH_MICROSECONDS / max(taken, 1.0), 16.0)
            rounds = int(rounds * more) // FEWEST_ROUNDS * FEWEST_ROUNDS
            rounds = min(rounds, MOST_ROUNDS)


def microseconds_on_device(pair: RoundTrip) -> float:
    """Return the median time of a conversion of a pair on the current GPU [us].

    Raises:
        WrongResultError: the kernel does not give back what it got.
    """
    loop = Loop.of(pair)
    if not loop.is_right():
        raise WrongResultError(
            f"what {pair.there.way} and {pair.back.way} give back in the "
            f"{pair.form} form differs from the input"
        )
    return loop.timed()[1]


def fastest(
    src: Layout,
    dst: Layout,
    element_bits: int,
    target: str = "sm_90",
    *,
    resident_warps: int | None = None,
    most: int = MOST_PAIRS,
    timer: Timer | None = None,
    device_name: str | None = None,
) -> Tuned:
    """Return the fastest pair of plans between two layouts, by timing candidates.

    The first call on a device times them and keeps the result in the disk cache; later
    ones, of other processes too, read it. The pair that the cost model prefers is
    taken unless another one is clearly faster.

    Args:
        src: Source layout.
        dst: Destination layout.
        element_bits: Size of an element, 8 to 64 [bits].
        target: As in ``plan``.
        resident_warps: As in ``plan``; default: those of the layouts.
        most: How many candidates are timed at most.
        timer: Returns the time of a conversion of a pair [us]; default: on the
            current GPU.
        device_name: What the result is kept for; default: the current GPU's name.

    Raises:
        OutOfRangeError: ``most`` is less than 1; or as ``plan``.
        UnsupportedLayoutError: no candidate can be emitted, compiled and run.
        WrongResultError: a kernel does not give back what it got.
        RuntimeError: there is no GPU.

    Example:
        >>> from algebra import LinearLayout
        >>> src, dst = (LinearLayout.from_bases(
        ...     {"register": [[a]], "lane": [[b], [4], [8], [16], [32]]}, ["dim0"])
        ...     for a, b in ((1, 2), (2, 1)))
        >>> found = fastest(src, dst, 32, timer=lambda pair: pair.there.cost,
        ...                 device_name="the cost model")
        >>> found.number, found.fastest.form, len(found.microseconds) > 1
        (0, 'tensor', True)
    """
    if most < 1:
        raise OutOfRangeError(
            f"at least one candidate must be timed, got most={most}", most=most
        )
    warps = src.in_dims.get("warp", 1) if resident_warps is None else resident_warps
    found = candidates(src, dst, element_bits, target, resident_warps=warps, most=most)
    name = _device_name() if device_name is None else device_name
    key = content_key("conversions", name, *(pair.text for pair in found))
    times = _kept(key, len(found))
    if times is None:
        times = _timed(found, microseconds_on_device if timer is None else timer)
        keep(f"{key}-conversion", json.dumps(times).encode())
    number = choice(times)
    if number is None:
        raise UnsupportedLayoutError(
            f"none of {len(found)} candidates from src to dst compiles and runs on "
            f"{name}; convert by PyTorch, or in smaller tiles",
            candidates=len(found),
        )
    return Tuned(found[number], number, tuple(times))


def choice(times: Sequence[float | None]) -> int | None:
    """Return the place of the fastest, the first one unless it is clearly slower.

    Example:
        >>> choice([1.0, 0.995, None]), choice([1.0, 0.9]), choice([None])
        (0, 1, None)
    """
    timed = [(time, number) for number, time in enumerate(times) if time is not None]
    if not timed:
        return None
    best, number = min(timed)
    first = times[0]
    return 0 if first is not None and best > CLEARLY * first else number


def _timed(found: Sequence[RoundTrip], timer: Timer) -> list[float | None]:
    times: list[float | None] = []
    for pair in found:
        try:
            times.append(timer(pair))
        except WrongResultError:
            raise  # no reason to take another plan
        except Exception:
            times.append(None)  # Triton or its assembler refuses the kernel
    return times


def _kept(key: str, count: int) -> list[float | None] | None:
    content = kept(f"{key}-conversion")
    if content is None:
        return None
    times: list[float | None] = json.loads(content)
    return times if len(times) == count else None


def _device_name() -> str:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError(
            "timing conversions needs a CUDA device, and torch sees none; take "
            "compiler.convert.plan, which chooses by the cost model"
        )
    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
