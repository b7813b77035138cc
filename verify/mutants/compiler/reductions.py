"""Faults of reductions, scans and scatters: kinds 24 to 32."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from .changes import (
    constant_index,
    cpp,
    instead,
    probe,
    replacing,
    substituted,
    tensor,
    triton,
)
from .fault import Fault


def _with_update(
    change: Callable[[list[str]], list[str]],
) -> Callable[..., Any]:
    """Return a wrong maker of accumulators, whose updates are changed."""

    def wrong(right: Callable[..., Any], *args: Any) -> Any:
        made = right(*args)
        update = made.update
        return replace(made, update=lambda *given: change(update(*given)))

    return wrong


def _twice(lines: list[str]) -> list[str]:
    return [*lines, *lines]


def _joined_once_more(
    right: Callable[..., list[str]], writer: Any, arrays: Any, lanes: int
) -> list[str]:
    """Join the first lane with itself."""
    names = right(writer, arrays, lanes)
    if lanes > 1 and len(names) == 1:
        into = [f"{name}[0]" for name in arrays.final]
        statements = " ".join(arrays.accumulator.join(into, names))
        writer.body.line(f"{{ {statements} }}")
        return [f"{name}[0]" for name in arrays.final]
    return names


def _broadcast_counted_once(right: Callable[..., Any], node: Any) -> Any:
    """Leave out reduced axes that the value does not depend on."""
    if type(node).__name__ != "Reduce" or len(node.reduced) < 1:
        return right(node)
    used = _digits(node.values)
    kept = tuple(axis for axis in node.reduced if axis.digit in used)
    return right(replace(node, reduced=kept) if kept else node)


def _digits(values: Sequence[Any]) -> set[Any]:
    found: set[Any] = set()
    stack = list(values)
    while stack:
        node = stack.pop()
        if node.op == "digit":
            found.add(node)
        stack.extend(node.args)
    return found


def _one_of_two_axes(right: Callable[..., Any], node: Any) -> Any:
    """Of two reduced axes walk the first one on the spot."""
    if type(node).__name__ != "Reduce" or len(node.reduced) < 2:
        return right(node)
    still = {node.reduced[0].digit: constant_index(0)}
    values = tuple(substituted(value, still) for value in node.values)
    return right(replace(node, values=values))


def _neighbours_as_one(
    right: Callable[..., Any], columns: Any, stage: Any, arrays: Any, names: Any
) -> Any:
    """Give each two neighbouring columns the sum of both."""
    if stage.reducer == "sum":
        for name in names:
            columns.writer.body.line(
                f"for (i32 l = 0; l + 1 < {columns.tile[1]}; l += 2) "
                f"{name}[l] = {name}[l + 1] = {name}[l] + {name}[l + 1];"
            )
    return right(columns, stage, arrays, names)


def _first_chunks(
    right: Callable[..., Any], self: Any, reducer: str, buffer: Any, value: Any
) -> Any:
    """Put together two chunks only."""
    made = right(self, reducer, buffer, value)
    first = made.reduced[0]
    if first.extent.op == "constant" and int(first.extent.data) > 2:
        made = replace(
            made,
            reduced=(replace(first, extent=constant_index(2)), *made.reduced[1:]),
        )
    return made


def _ties_turned(lines: list[str]) -> list[str]:
    return [line.replace(">=", ">").replace("<=", "<") for line in lines]


def _unconditional(right: Callable[..., Any], node: Any) -> Any:
    return right(replace(node, condition=None))


def _later_ties(lines: list[str]) -> list[str]:
    head = lines[0].replace(" > ", " >= ").replace(" < ", " <= ")
    return [head, *lines[1:]]


ROWS = tensor(6, 40)

REDUCTION_FAULTS = (
    Fault(
        24,
        "reduction_takes_each_value_twice",
        "triton-lang/triton #6647",
        (instead("compiler.codegen.cpp.accumulate:_simple", _with_update(_twice)),),
        "cpp",
        probe("v0 = x0.sum(1)", x0=ROWS),
    ),
    Fault(
        24,
        "block_is_added_to_the_totals_again",
        "triton-lang/triton #6647",
        (cpp(replacing(r"; \w+\[l\] = 0; \}", "; }")),),
        "cpp",
        probe("v0 = x0.sum(0)", x0=tensor(500, 3)),
    ),
    Fault(
        25,
        "lanes_are_joined_once_more",
        "triton-lang/triton PR #9185",
        (instead("compiler.codegen.cpp.reduction:_joined", _joined_once_more),),
        "cpp",
        probe("v0 = x0.sum(1)", x0=ROWS),
    ),
    Fault(
        25,
        "broadcast_duplicates_are_counted_once",
        "triton-lang/triton #7817",
        (instead("compiler.schedule.nest:nest_of", _broadcast_counted_once),),
        "evaluated",
        probe("v0 = x0.expand(16, 5).sum()", x0=tensor(5)),
    ),
    Fault(
        26,
        "neighbouring_rows_are_reduced_together",
        "triton-lang/triton PR #9219",
        (instead("compiler.codegen.cpp.columns:_finish", _neighbours_as_one),),
        "cpp",
        probe("v0 = x0.sum(0)", x0=tensor(20, 40)),
    ),
    Fault(
        26,
        "tile_is_reduced_along_its_rows",
        "triton-lang/triton PR #9219",
        (
            triton(
                replacing(
                    r"tl\.reduce\((\w+), 1, (\w+), keep_dims=True\)",
                    r"tl.reduce(\1, 0, \2, keep_dims=True)",
                )
            ),
        ),
        "triton",
        probe("v0 = x0.sum(0)", x0=tensor(20, 40)),
    ),
    Fault(
        27,
        "only_the_first_chunks_are_put_together",
        "intel/intel-xpu-backend-for-triton #692",
        (instead("compiler.schedule.chunks:_Chunks.over", _first_chunks),),
        "evaluated",
        probe("v0 = x0.sum()", x0=tensor(64)),
    ),
    Fault(
        28,
        "of_two_reduced_axes_one_stands_still",
        "triton-lang/triton #3467",
        (instead("compiler.schedule.nest:nest_of", _one_of_two_axes),),
        "evaluated",
        probe("v0 = x0.sum((0, 2))", x0=tensor(2, 3, 5)),
    ),
    Fault(
        29,
        "scan_takes_the_first_of_equals",
        "triton-lang/triton #2359",
        (
            instead(
                "compiler.codegen.cpp.scan:advance",
                lambda right, *args: _ties_turned(right(*args)),
            ),
        ),
        "cpp",
        probe("v0 = torch.cummax(x0, 0)[1]", x0=tensor(30)),
    ),
    Fault(
        29,
        "scan_forgets_what_it_carries",
        "triton-lang/triton #2361",
        (triton(replacing(r"^ +\w+_carry = \w+\(\w+_carry, \w+\)\n", "")),),
        "triton",
        probe("v0 = torch.cumsum(x0, 0)", x0=tensor(200, dtype=torch.int64)),
    ),
    Fault(
        29,
        "scan_starts_anew_in_each_block",
        "triton-lang/triton #4362",
        (
            cpp(
                replacing(
                    r"prefix_sum<(\w+)>\((\w+), (\w+), (\w+), \w+\)",
                    r"prefix_sum<\1>(\2, \3, \4, 0)",
                )
            ),
        ),
        "cpp",
        probe("v0 = torch.cumsum(x0, 0)", x0=tensor(200, dtype=torch.int64)),
    ),
    Fault(
        30,
        "conditional_store_is_unconditional",
        "triton-lang/triton #5045",
        (instead("compiler.schedule.nest:scatter_nest", _unconditional),),
        "evaluated",
        probe(
            "v0 = torch.tensor([0, 2, 2, 1])",
            "v1 = torch.ops.aten.embedding_dense_backward(x0, v0, 5, 2, False)",
            x0=tensor(4, 3),
        ),
    ),
    Fault(
        30,
        "masked_lanes_add_too",
        "triton-lang/triton #5045",
        (triton(replacing(r"(tl\.atomic_add\(.*), mask=[^,]*(, sem)", r"\1\2")),),
        "triton",
        probe(
            "v0 = torch.zeros(4)",
            "v1 = torch.tensor([0, 1, 1, 3, 2, 1, 0])",
            "v2 = v0.index_add(0, v1, x0 * 0 + 1)",
            x0=tensor(7),
        ),
    ),
    Fault(
        31,
        "argmax_takes_the_last_of_equals",
        "triton-lang/triton #802",
        (instead("compiler.codegen.cpp.accumulate:_arg", _with_update(_later_ties)),),
        "cpp",
        probe("v0 = torch.argmax(x0 * 0, 1)", x0=ROWS),
    ),
    Fault(
        31,
        "nan_does_not_win_argmax",
        "pytorch/pytorch PR #113168",
        (
            instead(
                "compiler.codegen.cpp.accumulate:_arg",
                _with_update(
                    lambda lines: [
                        replacing(r" \| \(\(\S+ != \S+\) & \(\S+ == \S+\)\)", "")(
                            lines[0]
                        ),
                        *lines[1:],
                    ]
                ),
            ),
        ),
        "cpp",
        probe("v0 = torch.argmax(torch.log(x0), 1)", x0=ROWS),
    ),
    Fault(
        32,
        "padded_lanes_are_reduced_too",
        "pytorch/pytorch #195845",
        (
            triton(
                replacing(
                    r"tl\.where\(r_inside, (\w+), (?:-?[\d.]+|tl\.full\(.*\))\)$",
                    r"\1",
                )
            ),
        ),
        "triton",
        probe("v0 = torch.exp(x0).sum(1)", x0=ROWS),
    ),
)
"""Kinds 24 to 32."""
