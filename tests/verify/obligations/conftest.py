"""A loop nest with one store, to be made right or wrong."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.ir.expression import Expression
from compiler.ir.index import Index, contiguous_strides, index
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Axis, Buffer, Program
from compiler.lower import decompositions, lower
from compiler.options import Options
from compiler.schedule import schedule

MakeKernel = Callable[..., Kernel]


def array(name: str, shape: tuple[Index, ...]) -> Buffer:
    extents = tuple(index(extent) for extent in shape)
    return Buffer(name, "float32", extents, "cpu", contiguous_strides(extents))


@pytest.fixture
def one_store() -> MakeKernel:
    """Return a maker of ``y[target] = value`` over digits with extents."""

    def make_kernel(
        value: Expression,
        target: tuple[Index, ...],
        axes: dict[Expression, Index],
        shapes: dict[str, tuple[Index, ...]],
    ) -> Kernel:
        return Kernel(
            "k",
            tuple(Axis(digit, index(extent)) for digit, extent in axes.items()),
            (),
            (Store("y", tuple(index(t) for t in target), value, inner=False),),
            {name: array(name, shape) for name, shape in shapes.items()},
        )

    return make_kernel


Planned = tuple[Program, Schedule]


@pytest.fixture
def planned() -> Callable[..., Planned]:
    """Return a maker of a function's program and its schedule."""

    def make(function: Callable[..., Any], *args: Any) -> Planned:
        names = ", ".join(f"a{number}" for number in range(len(args)))
        fixed = eval(f"lambda {names}: function({names})", {"function": function})
        functional = torch.func.functionalize(fixed, remove="mutations")
        graph = make_fx(
            functional, decomposition_table=decompositions(), tracing_mode="fake"
        )(*args)
        program = lower(graph)
        return program, schedule(program, Options(threads=8))

    return make
