"""Exponentials that one call of compiled code does: small ones, and many of them."""

from torch import Tensor

from . import launch, native


def serves(matrix: Tensor) -> bool:
    """Tell whether one call does it: C++ on the CPU or a Triton kernel on a GPU.

    Args:
        matrix: [..., n, n].
    """
    return matrix.numel() > 0 and (native.serves(matrix) or launch.serves(matrix))


def exponentiate(matrix: Tensor, direction: Tensor | None = None) -> Tensor:
    """Return ``exp(A)``, or ``L(A, E)`` if there is a direction.

    Args:
        matrix: A, served [..., n, n].
        direction: E, of the same shape.
    """
    if matrix.device.type == "cpu":
        return native.exponentiate(matrix, direction)
    return launch.launch(matrix, direction)
