"""Kernels and schedules are plain data."""

import dataclasses
import pickle

import pytest

from compiler.ir.index import digit, index
from compiler.ir.kernel import Allocate, Free, Kernel, Reduction, Schedule, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import load, local

X, R = digit("x0"), digit("r0")


def row_sum() -> Kernel:
    value = load("x", (X, R), "float32")
    return Kernel(
        "sum_0",
        (Axis(X, index(4)),),
        (Axis(R, index(8)),),
        (
            Reduction(("s",), "sum", (value,), ("float32",)),
            Store("y", (X,), local("s", "float32"), False),
        ),
        {"y": Buffer("y", "float32", (index(4),), "cpu", (index(1),))},
    )


def test_defaults_are_the_plain_case() -> None:
    kernel = row_sum()
    store = kernel.stages[1]
    assert isinstance(store, Store)
    assert (store.mode, store.condition, store.injective) == ("set", None, True)
    assert kernel.origins == () and kernel.reasons == () and kernel.tile == ()


def test_they_do_not_change() -> None:
    kernel = row_sum()
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.name = "other"  # type: ignore[misc]


def test_they_travel_between_processes() -> None:
    kernel = row_sum()
    steps = (Allocate(kernel.buffers["y"]), kernel, Free("y"))
    again = pickle.loads(pickle.dumps(Schedule((), steps, ())))
    found = again.steps[1]
    assert found.outer[0].digit is X
    assert found.stages[0].values == kernel.stages[0].values  # type: ignore[union-attr]
