"""Record launches: what a library's own wrapper hands to its kernels.

Nothing runs: the wrapper goes on with outputs that nobody wrote, so one that reads them
back gets garbage. CPU tensors will do.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from verify.checking.arguments import dtype_name


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument, without its data.

    Attributes:
        dtype: Element type in Triton's spelling.
        shape: Extents.
        strides: Strides [elements].
        address: Where it starts; equal addresses are one memory.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int


@dataclass(frozen=True, slots=True)
class Recording:
    """One launch.

    Attributes:
        kernel: The ``@triton.jit`` function.
        tensors: Parameter -> tensor.
        scalars: Parameter -> number.
        constants: Compile-time parameter -> value.
        grid: Number of programs along each axis.
    """

    kernel: Any
    tensors: Mapping[str, Tensor]
    scalars: Mapping[str, int | float | bool]
    constants: Mapping[str, Any]
    grid: tuple[int, ...]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)


@contextmanager
def recorded(*, launch: bool = False) -> Iterator[list[Recording]]:
    """Record each launch of a Triton kernel in the block.

    Args:
        launch: Whether the kernels run too; otherwise no GPU is needed.

    Returns:
        A list that grows with each launch.
    """
    from compiler.triton_api import intercepted_launches

    found: list[Recording] = []

    def note(
        kernel: Any,
        arguments: dict[str, Any],
        constants: frozenset[str],
        grid: tuple[int, ...],
    ) -> None:
        found.append(recording_of(kernel, arguments, constants, grid))

    with intercepted_launches(note, launch=launch):
        yield found


def recording_of(
    kernel: Any,
    arguments: Mapping[str, Any],
    constants: frozenset[str],
    grid: tuple[int, ...],
) -> Recording:
    """Return a launch without its data."""
    tensors: dict[str, Tensor] = {}
    scalars: dict[str, int | float | bool] = {}
    fixed: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in constants:
            fixed[name] = getattr(value, "value", value)
        elif hasattr(value, "data_ptr"):
            tensors[name] = Tensor(
                dtype_name(value.dtype),
                tuple(int(size) for size in value.shape),
                tuple(int(step) for step in value.stride()),
                int(value.data_ptr()),
            )
        else:
            scalars[name] = value
    return Recording(kernel, tensors, scalars, fixed, grid)
