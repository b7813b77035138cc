"""Faults of fusion, order and memory: kinds 43 to 47."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from .changes import instead, probe, tensor
from .fault import Fault


def _unguarded(right: Callable[..., None], chunks: Any, *args: Any) -> None:
    """Reduce chunks of what a guard hides."""
    right(chunks, *args)
    rewrite = import_module("compiler.ir.expression").rewrite
    chunks.value = rewrite(
        chunks.value, lambda node: node.args[1] if node.op == "guard" else node
    )


def _always(right: Callable[..., bool], kernel: Any, old: str, new: str) -> bool:
    return True


def _as_they_stand(right: Callable[..., Any], stages: Any) -> Any:
    return tuple(stages)


def _no_temporaries(right: Callable[..., Any], program: Any, notes: Any) -> Any:
    return program


def _itself(right: Callable[..., str], planner: Any, name: str) -> str:
    return name


def _not_shared(right: Callable[..., bool], planner: Any, name: str) -> bool:
    return False


def _together(right: Callable[..., Any], node: Any, graph: Any) -> Any:
    for group in right(node, graph):
        if group.nest is not None:
            group.alone = False
        yield group


def _tolerant(phrase: str) -> Callable[..., Any]:
    """Return a wrong check of two nests, which passes over one reason."""

    def wrong(right: Callable[..., Any], *args: Any) -> Any:
        refusal = right(*args)
        if refusal is not None and phrase in refusal.reason:
            return None
        return refusal

    return wrong


def _taken(right: Callable[..., Any], forward: Any, node: Any) -> Any:
    """Take what is stored at one point for what is read at another."""
    value = right(forward, node)
    if forward.refusal is not None and "at another point" in forward.refusal.reason:
        forward.refusal = None
    return value


def _read_back(right: Callable[..., Any], forward: Any, node: Any) -> Any:
    """Read in the kernel what it is adding up."""
    value = right(forward, node)
    if forward.refusal is not None and "at another point" in forward.refusal.reason:
        forward.refusal = None
        return node
    return value


EQUATE = "compiler.schedule.merge:_equate"
FORWARD = "compiler.schedule.merge:_Forward.change"

FUSION_FAULTS = (
    Fault(
        43,
        "guard_is_dropped_when_a_reduction_is_cut",
        "pytorch/pytorch #189895",
        (instead("compiler.schedule.chunks:_Chunks.__init__", _unguarded),),
        "evaluated",
        probe("v0 = F.pad(x0, (20, 20), value=3.0).sum()", x0=tensor(24)),
    ),
    Fault(
        44,
        "memory_of_what_is_still_read_is_written",
        "pytorch/pytorch PR #162316",
        (instead("compiler.schedule.memory:in_place", _always),),
        "cpp",
        probe(
            "v0 = torch.cumsum(x0, 0)",
            "v1 = torch.flip(v0, [0]) + 1",
            x0=tensor(33, dtype=torch.float64),
        ),
    ),
    Fault(
        44,
        "stores_come_before_loads_of_the_old_content",
        "pytorch/pytorch PR #109172",
        (instead("compiler.schedule.merge:_loads_first", _as_they_stand),),
        "cpp",
        probe(
            "x0.sub_(x1)",
            "x1.copy_(x0)",
            returns="x0, x1",
            x0=tensor(20),
            x1=tensor(20, seed=2),
        ),
    ),
    Fault(
        44,
        "shift_in_place_has_no_temporary",
        "pytorch/pytorch #197829",
        (instead("compiler.schedule.pipeline:with_temporaries", _no_temporaries),),
        "cpp",
        probe("x0[1:] = x0[:-1].clone()", returns="x0", x0=tensor(33)),
    ),
    Fault(
        45,
        "memory_is_reused_while_a_view_shows_it",
        "pytorch/pytorch #189735",
        (
            instead("compiler.schedule.memory:_Planner._top", _itself),
            instead("compiler.schedule.memory:_Planner._shared", _not_shared),
        ),
        "evaluated",
        probe(
            "v0 = torch.cumsum(x0, 0)",
            "v1 = v0[1:]",
            "v2 = torch.cumsum(x1, 0)",
            "v3 = v1 @ v2",
            x0=tensor(4, 4, dtype=torch.float64),
            x1=tensor(4, 4, dtype=torch.float64, seed=2),
        ),
    ),
    Fault(
        46,
        "sum_is_read_while_it_is_scattered",
        "pytorch/pytorch #171493",
        (
            instead("compiler.schedule.groups:_groups_of", _together),
            instead(EQUATE, _tolerant("written at computed places")),
            instead(FORWARD, _read_back),
        ),
        "cpp",
        probe(
            "v0 = torch.zeros(6)",
            "v1 = torch.tensor([1, 1, 1, 0, 3, 1])",
            "v2 = v0.index_add(0, v1, x0)",
            "v3 = v2[v1] + x0",
            x0=tensor(6),
        ),
    ),
    Fault(
        47,
        "reader_is_fused_through_a_transposition",
        "pytorch/pytorch #184247",
        (
            instead(EQUATE, _tolerant("read at other places")),
            instead(FORWARD, _taken),
        ),
        "cpp",
        probe(
            "v0 = torch.softmax(x0, 1)",
            "v1 = v0 + v0.T",
            returns="v1, v0",
            x0=tensor(5, 5, content="normal"),
        ),
    ),
)
"""Kinds 43 to 47."""
