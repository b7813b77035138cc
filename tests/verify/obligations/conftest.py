"""A loop nest with one store, to be made right or wrong."""

from collections.abc import Callable

import pytest

from compiler.ir.expression import Expression
from compiler.ir.index import Index, contiguous_strides, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer

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
