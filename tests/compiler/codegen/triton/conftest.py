"""Kernels by hand, for the modules of the Triton printer."""

from collections.abc import Callable, Sequence

import pytest

from compiler.ir.expression import Expression
from compiler.ir.index import index
from compiler.ir.kernel import Kernel, Stage
from compiler.ir.node import Axis, Buffer

Make = Callable[..., Kernel]


@pytest.fixture
def make_kernel() -> Make:
    """Make a kernel of stages over contiguous arrays."""

    def make(
        stages: Sequence[Stage],
        arrays: dict[str, tuple[str, tuple[int, ...]]],
        outer: dict[Expression, int],
        inner: dict[Expression, int] | None = None,
        name: str = "kernel_7",
    ) -> Kernel:
        return Kernel(
            name,
            tuple(Axis(d, index(n)) for d, n in outer.items()),
            tuple(Axis(d, index(n)) for d, n in (inner or {}).items()),
            tuple(stages),
            {
                key: Buffer(key, dtype, tuple(map(index, shape)), "cuda:0")
                for key, (dtype, shape) in arrays.items()
            },
        )

    return make
