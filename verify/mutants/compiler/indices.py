"""Faults of index arithmetic, strides and masks: kinds 33 to 42."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .changes import constant_index, instead, probe, replacing, tensor, triton
from .fault import Fault


def _narrow_product(right: Callable[..., str], node: Any, args: Any) -> str:
    if node.op == "mul" and node.dtype == "int64":
        return f"(i64)((i32)({args[0]}) * (i32)({args[1]}))"
    return right(node, args)


def _towards_zero(right: Callable[..., str], node: Any, args: Any) -> str:
    signs = {"floordiv": "/", "remainder": "%"}
    if node.op in signs and node.dtype.startswith("int"):
        return f"({args[0]}) {signs[node.op]} ({args[1]})"
    return right(node, args)


def _narrow_cast(right: Callable[..., str], value: str, source: str, to: str) -> str:
    if source == "int64" and to != "bool":
        return right(f"(i64)(i32)({value})", source, to)
    return right(value, source, to)


def _diagonal(right: Callable[..., Any], plan: Any) -> Any:
    places = right(plan)
    names = list(places)
    if len(names) > 1:
        places[names[0]] = places[names[-1]]
    return places


def _no_remainder(right: Callable[..., Any], ranges: Any, node: Any) -> Any:
    if node.op == "mod" and ranges.at_least(node.args[0], 0):
        return node.args[0]
    return right(ranges, node)


def _row_major(right: Callable[..., Any], kernel: Any, *rest: Any) -> Any:
    """Take what is read for contiguous as soon as two arrays are."""
    written = {s.buffer for s in kernel.stages if hasattr(s, "buffer")}
    read = [name for name in kernel.buffers if name not in written]
    if len(read) < 2:
        return right(kernel, *rest)
    buffers = {
        name: replace(buffer, strides=None) if name in read else buffer
        for name, buffer in kernel.buffers.items()
    }
    return right(replace(kernel, buffers=buffers), *rest)


def _column_major(right: Callable[..., Any], kernel: Any, *rest: Any) -> Any:
    """Write arrays of two dims in another order than they are read in."""
    written = {s.buffer for s in kernel.stages if hasattr(s, "buffer")}
    buffers = dict(kernel.buffers)
    for name in written:
        buffer = buffers[name]
        if len(buffer.shape) == 2:
            steps = (constant_index(1), buffer.shape[0])
            if buffer.strides == steps:
                steps = (buffer.shape[1], constant_index(1))
            buffers[name] = replace(buffer, strides=steps)
    return right(replace(kernel, buffers=buffers), *rest)


def _without_offset(right: Callable[..., Any], views: Any, node: Any) -> Any:
    found = right(views, node)
    return None if found is None else replace(found, offset=constant_index(0))


def _whole_block(
    right: Callable[..., str], writer: Any, axis: Any, start: str, size: int
) -> str:
    return f"{start} + {size}"


def _no_upper_bound(right: Callable[..., Any], value: Any, low: Any, high: Any) -> Any:
    return right(value, low, None if low is not None else high)


LARGE = 1 << 30
FLATTEN = "compiler.codegen.cpp.nest:flatten"

INDEX_FAULTS = (
    Fault(
        33,
        "offsets_are_always_32_bits_wide",
        "triton-lang/triton #832",
        (
            instead(
                "compiler.codegen.triton.emitter:Emitter.is_wide",
                lambda right, *args: False,
            ),
        ),
        "triton",
        probe(f"v0 = torch.arange(0, {7 * LARGE}, {LARGE}) + x0", x0=tensor(7)),
    ),
    Fault(
        34,
        "products_of_integers_are_32_bits_wide",
        "pytorch/pytorch #175966",
        (instead("compiler.codegen.cpp.spelling:operation", _narrow_product),),
        "cpp",
        probe(f"v0 = torch.arange(7) * {LARGE + 1} + x0", x0=tensor(7)),
    ),
    Fault(
        35,
        "type_of_an_index_is_that_of_a_small_result",
        "pytorch/pytorch PR #179333",
        (instead("compiler.codegen.cpp.spelling:cast", _narrow_cast),),
        "cpp",
        probe(f"v0 = torch.arange(0, {7 * LARGE}, {LARGE}) + x0", x0=tensor(7)),
    ),
    Fault(
        36,
        "programs_of_a_grid_meet",
        "pytorch/pytorch PR #127448",
        (instead("compiler.codegen.triton.tile:programs_of", _diagonal),),
        "triton",
        probe("v0 = x0.T + x1", x0=tensor(40, 32), x1=tensor(32, 40)),
    ),
    Fault(
        37,
        "remainder_of_what_is_not_negative_is_dropped",
        "pytorch/pytorch PR #102722",
        (instead("compiler.ir.ranges:Ranges.decided", _no_remainder),),
        "evaluated",
        probe("v0 = x0.repeat(3) + 1", x0=tensor(5)),
    ),
    Fault(
        37,
        "division_rounds_towards_zero",
        "pytorch/pytorch #191603",
        (instead("compiler.codegen.cpp.spelling:operation", _towards_zero),),
        "cpp",
        probe("v0 = x0 // 3", x0=tensor(20, dtype=torch.int64)),
    ),
    Fault(
        38,
        "strides_are_ignored_when_two_arrays_are_read",
        "pytorch/pytorch #193661",
        (instead(FLATTEN, _row_major),),
        "cpp",
        probe("v0 = x0 + x1", x0=tensor(4, 5, strides=(1, 4)), x1=tensor(4, 5, seed=2)),
    ),
    Fault(
        39,
        "array_is_written_and_read_with_other_strides",
        "pytorch/pytorch #179931",
        (instead(FLATTEN, _column_major),),
        "cpp",
        probe("v0 = x0 * x1[:, None]", x0=tensor(4, 5), x1=tensor(4, seed=2)),
    ),
    Fault(
        40,
        "offset_of_a_view_is_lost",
        "pytorch/pytorch #192219",
        (instead("compiler.schedule.views:_Views._shown", _without_offset),),
        "evaluated",
        probe(
            "v0 = torch.cumsum(x0, 0)",
            "v1 = v0[2:] @ x1",
            returns="v1, v0",
            x0=tensor(7, 4),
            x1=tensor(4, 3, seed=2),
        ),
    ),
    Fault(
        41,
        "last_block_is_a_whole_one",
        "pytorch/pytorch #196681",
        (instead("compiler.codegen.cpp.writer:Writer.stop", _whole_block),),
        "cpp",
        probe("v0 = x0 + 1", x0=tensor(85)),
    ),
    Fault(
        41,
        "stores_have_no_mask",
        "pytorch/pytorch #196681",
        (triton(replacing(r"(tl\.store\(.*), mask=.*\)$", r"\1)")),),
        "triton",
        probe("v0 = x0 + 1", x0=tensor(21)),
    ),
    Fault(
        42,
        "padding_has_no_upper_bound",
        "pytorch/pytorch #189895",
        (instead("compiler.lower.joining:within", _no_upper_bound),),
        "evaluated",
        probe("v0 = F.pad(x0, (1, 1)) + 1", x0=tensor(6)),
    ),
    Fault(
        42,
        "mask_of_one_dim_is_missing",
        "arXiv 2605.19652",
        (triton(replacing(r"(\w)_inside & \w_inside", r"\1_inside")),),
        "triton",
        probe("v0 = x0.T + x1", x0=tensor(35, 43), x1=tensor(43, 35)),
    ),
)
"""Kinds 33 to 42."""
