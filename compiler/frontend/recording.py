"""Whether a schedule can be recorded as a CUDA graph, and the function that does."""

import warnings
from collections.abc import Callable
from typing import Any

from compiler.errors import FallbackWarning
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Alias, Buffer, Extern
from compiler.options import Options

Run = Callable[[list[Any]], tuple[Any, ...]]


def recordable(schedule: Schedule) -> str:
    """Return why a schedule cannot be recorded, "" if it can.

    A recording replays addresses and sizes: all arrays must be on one GPU, and a size
    that is computed on the way must not decide what is launched.
    """
    devices = {b.device for b in schedule.inputs if isinstance(b, Buffer)}
    for step in schedule.steps:
        if isinstance(step, Kernel):
            devices |= {buffer.device for buffer in step.buffers.values()}
        elif isinstance(step, Extern):
            devices |= {b.device for b in step.outputs if b is not None}
    if len(devices) != 1:
        return f"arrays lie on {', '.join(sorted(devices)) or 'no device'}"
    (device,) = devices
    if not device.startswith("cuda"):
        return f"arrays lie on {device}"
    return ""


def written_inputs(schedule: Schedule) -> tuple[int, ...]:
    """Return the numbers of the inputs that a schedule writes into."""
    bases: dict[str, str] = {}
    names: set[str] = set()
    for step in schedule.steps:
        if isinstance(step, Alias):
            bases[step.buffer.name] = bases.get(step.base, step.base)
        elif isinstance(step, Extern):
            names |= {bases.get(name, name) for name in step.mutates}
        elif isinstance(step, Kernel):
            stored = {s.buffer for s in step.stages if isinstance(s, Store)}
            names |= {bases.get(name, name) for name in stored}
    return tuple(
        number
        for number, value in enumerate(schedule.inputs)
        if isinstance(value, Buffer) and value.name in names
    )


def fixed_sizes(schedule: Schedule) -> bool:
    """Return whether all calls have inputs of the same shapes and strides."""
    return all(
        isinstance(value, Buffer)
        and value.strides is not None
        and all(extent.op == "constant" for extent in (*value.shape, *value.strides))
        for value in schedule.inputs
    )


def recording(
    run: Run,
    schedule: Schedule,
    options: Options,
    *,
    name: str = "graph",
    shown: int = 0,
) -> Run:
    """Return the function, recorded as CUDA graphs where the options ask for it.

    Args:
        run: What runs the schedule.
        schedule: Steps.
        options: What the user asked for.
        name: For the warning where it cannot be recorded.
        shown: Number of results, the first ones, that the caller gets where the others
            are kept for a backward pass.
    """
    if not options.graphs:
        return run
    if reason := recordable(schedule):
        if "cuda" in reason:
            warnings.warn(
                f"{name} runs without CUDA graphs, slower, because {reason}",
                FallbackWarning,
                stacklevel=2,
            )
        return run
    from compiler.runtime.graphs import GraphedCall

    return GraphedCall(
        run,
        written=written_inputs(schedule),
        donated=[
            number
            for number, value in enumerate(schedule.inputs)
            if isinstance(value, Buffer) and value.name in schedule.donated
        ],
        shown=shown,
        fixed_sizes=fixed_sizes(schedule),
        name=name,
    )
