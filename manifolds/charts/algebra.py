"""Lie algebras as linear images of unconstrained square matrices."""

import torch
from torch import Tensor


def skew(free: Tensor) -> Tensor:
    """Read a skew-Hermitian matrix from the strict upper triangle.

    For complex matrices the diagonal is ``1j`` times its imaginary part. Real parts of
    the diagonal and the lower triangle are not read; their gradient is zero.

    Args:
        free: [..., n, n].

    Returns:
        ``A`` with ``A.mH == -A`` [..., n, n].

    Example:
        >>> skew(torch.tensor([[7.0, 1.0], [8.0, 9.0]])).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
    """
    upper = free.triu(1)
    matrix = upper - upper.mH
    if free.is_complex():
        angles = free.diagonal(dim1=-2, dim2=-1).imag
        matrix = matrix + torch.diag_embed(torch.complex(angles * 0, angles))
    return matrix


def traceless(matrix: Tensor) -> Tensor:
    """Subtract the mean of the diagonal from it.

    Args:
        matrix: [..., n, n], n >= 1.

    Returns:
        The nearest matrix of trace zero [..., n, n].

    Example:
        >>> traceless(torch.tensor([[3.0, 1.0], [0.0, 1.0]])).tolist()
        [[1.0, 1.0], [0.0, -1.0]]
    """
    size = matrix.shape[-1]
    mean = matrix.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    return matrix - mean * torch.eye(size, dtype=matrix.dtype, device=matrix.device)


def hermitian(free: Tensor) -> Tensor:
    """Return the Hermitian part, half of the sum with the adjoint.

    Example:
        >>> hermitian(torch.tensor([[1.0, 4.0], [0.0, 2.0]])).tolist()
        [[1.0, 2.0], [2.0, 2.0]]
    """
    return (free + free.mH) / 2


def cayley(matrix: Tensor) -> Tensor:
    """Return the Cayley transform ``(I - A/2)^-1 (I + A/2)``.

    Law: unitary where A is skew-Hermitian; equals ``exp(A)`` up to third order, so that
    its derivative at zero is the identity; never has the eigenvalue -1.

    Args:
        matrix: A [..., n, n]; NaN gives NaN.

    Returns:
        [..., n, n].

    Example:
        >>> cayley(torch.tensor([[0.0, -2.0], [2.0, 0.0]])).round(decimals=6).tolist()
        [[0.0, -1.0], [1.0, 0.0]]

    Source: the retraction form; one LU factorisation serves both passes.
    """
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    solution: Tensor = torch.linalg.solve_ex(eye - matrix / 2, eye + matrix / 2)[0]
    return solution
