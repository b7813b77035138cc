"""The fastest of a few plans of a kernel, timed once and remembered on disk.

Only kernels whose results no plan changes are timed (``candidates.exchangeable``), so
a result never depends on a timing; and only those that may run twice.
"""

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from compiler.errors import BuildError
from compiler.ir.expression import Expression

from .cache import cached_file, content_key
from .triton_kernel import TritonKernel
from .triton_pool import POOL

_ROUNDS: Final = 5

Timer = Callable[[Callable[[], None]], float]


def seconds_on_device(call: Callable[[], None]) -> float:
    """Return the median time of a call on the current device [s]."""
    event: Any = torch.cuda.Event
    call()
    times = []
    for _ in range(_ROUNDS):
        first, last = event(enable_timing=True), event(enable_timing=True)
        first.record()
        call()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) * 1e-3)
    found: float = statistics.median(times)
    return found


class TunedKernel:
    """Several plans of one kernel; the first call times them. Implements ``Built``."""

    def __init__(
        self, plans: Sequence[TritonKernel], *, timer: Timer = seconds_on_device
    ) -> None:
        """Take the plans, the preferred one first.

        Args:
            plans: Kernels of equal arguments and equal results.
            timer: Times a call.
        """
        first = plans[0]
        self.plans = [
            plan
            for plan in plans
            if (plan.parameters, plan.symbols) == (first.parameters, first.symbols)
        ]
        self._timer = timer
        self._chosen: TritonKernel | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return TunedKernel, (tuple(self.plans),)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of buffers, in the order of the call."""
        return self.plans[0].parameters

    @property
    def symbols(self) -> tuple[Expression, ...]:
        """Sizes, in the order of the call."""
        return self.plans[0].symbols

    @property
    def source(self) -> str:
        """Text of the plan that runs; of the preferred one before the first call."""
        return (self._chosen or self.plans[0]).source

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel; the first call finds out how.

        Raises:
            BuildError: Triton refuses all plans.
        """
        if self._chosen is None:
            self._chosen = self._choose(arguments)
        self._chosen(*arguments)

    def _choose(self, arguments: Sequence[Any]) -> TritonKernel:
        sizes = arguments[len(self.parameters) :]
        device = arguments[0].device
        name = "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device)
        key = content_key(
            *(plan.printed.source for plan in self.plans),
            *(str(plan.printed.num_warps) for plan in self.plans),
            *map(str, sizes),
            name,
        )
        chosen = 0

        def write(path: Path) -> None:
            nonlocal chosen
            chosen, times = self._timed(arguments)
            path.write_text(json.dumps({"choice": chosen, "seconds": times}))

        path = cached_file(f"{key}-tuned.json", write)
        try:
            chosen = int(json.loads(path.read_text())["choice"])
            return self.plans[chosen]
        except (ValueError, KeyError, IndexError, OSError):
            return self.plans[0]

    def _timed(self, arguments: Sequence[Any]) -> tuple[int, list[float | None]]:
        if arguments[0].is_cuda:
            major, minor = torch.cuda.get_device_capability(arguments[0].device)
            POOL.compile([plan.job(10 * major + minor) for plan in self.plans])
        times: list[float | None] = []
        for plan in self.plans:
            try:
                times.append(self._timer(lambda plan=plan: plan(*arguments)))  # type: ignore[misc]
            except (BuildError, RuntimeError):
                times.append(None)
        found = [(t, number) for number, t in enumerate(times) if t is not None]
        if not found:
            raise BuildError(
                f"none of {len(times)} plans of {self.plans[0].printed.name} runs; "
                "run it by PyTorch",
                command="triton",
                output=self.plans[0].source,
            )
        # the preferred plan unless another is clearly faster
        best, number = min(found)
        first = times[0]
        if first is not None and first <= 1.02 * best:
            number = 0
        return number, times
