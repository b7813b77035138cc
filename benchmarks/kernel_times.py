"""Kernels that a call runs on a GPU, by name and by who made them."""

import re
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

LIBRARY = re.compile(
    r"nvjet|cutlass|gemm|gemv|splitK|cudnn|conv|flash|fmha|xmma|sm[89]0_"
)
"""What the kernels of products, convolutions and attention are called."""

OPERATORS = re.compile(r"at::|at_cuda|cub::|thrust|Memcpy|Memset|nccl")
"""What PyTorch's other kernels are called; all that is neither was generated."""


def shares(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return which part of the time is whose, and the other operators' kernels.

    Args:
        rows: As :func:`kernels` gives them.
    """
    total = sum(row["us"] for row in rows) or 1.0
    found = {"generated": 0.0, "library": 0.0, "other": 0.0}
    for row in rows:
        name = str(row["name"])
        library, other = LIBRARY.search(name), OPERATORS.search(name)
        kind = "library" if library else "other" if other else "generated"
        row["kind"] = kind
        found[kind] += row["us"] / total
    return {**found, "others": [row for row in rows if row["kind"] == "other"][:8]}


def kernels(call: Any, calls: int) -> list[dict[str, Any]]:
    """Return the kernels of a call: name, launches, time [us], the longest first."""
    return _kernels(_seen(call, calls, shapes=False), calls)


def kernels_and_operators(
    call: Any, calls: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the kernels of a call, and the operators that start kernels themselves.

    An operator's row has its name, the shapes of its inputs, launches and the time of
    its kernels [us]; a product's kernel has a name that tells no shape.
    """
    seen = _seen(call, calls, shapes=True)
    operators = [
        {
            "name": event.key[:80],
            "shapes": str(event.input_shapes)[:160],
            "launches": event.count / calls,
            "us": event.self_device_time_total / calls,
        }
        for event in seen.key_averages(group_by_input_shape=True)
        if str(event.device_type).endswith("CPU") and event.self_device_time_total
    ]
    return _kernels(seen, calls), sorted(operators, key=lambda row: -row["us"])


def _seen(call: Any, calls: int, *, shapes: bool) -> Any:
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    both = [ProfilerActivity.CUDA, ProfilerActivity.CPU]
    with profile(activities=both, record_shapes=shapes) as seen:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    return seen


def _kernels(seen: Any, calls: int) -> list[dict[str, Any]]:
    rows = [
        {
            "name": event.key[:160],
            "launches": event.count / calls,
            "us": event.self_device_time_total / calls,
        }
        for event in seen.key_averages()
        if str(event.device_type).endswith("CUDA")
    ]
    return sorted(rows, key=lambda row: -row["us"])
