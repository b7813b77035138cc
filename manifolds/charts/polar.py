"""Nearest orthonormal and unimodular matrices."""

import torch
from torch import Tensor


def orthonormal(matrix: Tensor) -> Tensor:
    """Return the nearest matrix with orthonormal columns, or rows if it is wide.

    Law: idempotent; ``orthonormal(Q H) == Q`` for H Hermitian positive definite.

    Args:
        matrix: [..., n, k].

    Returns:
        The unitary polar factor [..., n, k].

    Example:
        >>> orthonormal(torch.tensor([[3.0, 0.0], [0.0, 0.1]])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]

    Source: K. Fan, A. J. Hoffman, Some metric inequalities in the space of matrices,
    Proc. AMS 6 (1955).
    """
    left, _, right = svd(matrix)
    return left @ right


def orthonormal_of_sign(matrix: Tensor, det: int) -> Tensor:
    """Return the nearest real orthogonal matrix with this determinant.

    The direction of the least singular value is flipped where it must be.

    Args:
        matrix: Real [..., n, n], n >= 1.
        det: 1 or -1.

    Returns:
        [..., n, n].

    Example:
        >>> orthonormal_of_sign(torch.tensor([[3.0, 0.0], [0.0, -0.1]]), 1).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    left, _, right = svd(matrix)
    wrong = torch.linalg.det(left @ right) * det < 0
    flip = torch.ones_like(matrix[..., 0, :])
    flip[..., -1] = 1 - 2 * wrong.to(matrix.dtype)
    return (left * flip[..., None, :]) @ right


def gram_defect(matrix: Tensor) -> Tensor:
    """Return ``||Q^H Q - I||_F``, for the shorter of columns and rows [...].

    Example:
        >>> float(gram_defect(torch.eye(3)[:, :2]))
        0.0
    """
    tall = matrix if matrix.shape[-2] >= matrix.shape[-1] else matrix.mH
    eye = torch.eye(tall.shape[-1], dtype=matrix.dtype, device=matrix.device)
    defect: Tensor = torch.linalg.matrix_norm(tall.mH @ tall - eye)
    return defect


def unimodular(matrix: Tensor) -> Tensor:
    """Scale matrices to determinant one.

    A real matrix of negative determinant first has the direction of its least singular
    value flipped. A singular one has its singular values raised to a small part of the
    largest.

    Args:
        matrix: [..., n, n], n >= 1.

    Returns:
        [..., n, n].

    Example:
        >>> unimodular(torch.tensor([[4.0, 0.0], [0.0, 1.0]])).tolist()
        [[2.0, 0.0], [0.0, 0.5]]
    """
    matrix = nonsingular(matrix)
    det: Tensor = torch.linalg.det(matrix)
    root = det ** (1 / matrix.shape[-1])
    return matrix / root[..., None, None]


def nonsingular(matrix: Tensor) -> Tensor:
    """Return a near matrix whose determinant is positive, or nonzero if complex.

    Args:
        matrix: [..., n, n], n >= 1.

    Returns:
        The matrix itself where it serves; else singular values are raised to
        ``sqrt(eps)`` times the largest, and the least one's direction is flipped.

    Example:
        >>> nonsingular(torch.tensor([[1.0, 0.0], [0.0, -2.0]])).tolist()
        [[-1.0, 0.0], [0.0, -2.0]]
    """
    left, values, right = svd(matrix)
    floor = torch.finfo(matrix.dtype).eps ** 0.5 * values[..., :1]
    raised = torch.maximum(values, floor)
    signs = torch.ones_like(values)
    if not matrix.is_complex():
        signs[..., -1] = torch.linalg.det(left @ right).sign()
    repaired = (left * (raised * signs)[..., None, :]) @ right
    fine = ((values >= floor) & (signs > 0)).all(-1)
    return torch.where(fine[..., None, None], matrix, repaired)


def svd(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the thin singular value decomposition: left, values, right adjoint.

    A matrix with NaN or infinity has NaN in all of them.

    Example:
        >>> svd(torch.tensor([[2.0], [0.0]]))[1].tolist()
        [2.0]
    """
    broken = ~matrix.isfinite().all(-1).all(-1)[..., None, None]
    parts = torch.linalg.svd(matrix.masked_fill(broken, 0), full_matrices=False)
    left, values, right = parts
    return (
        left.masked_fill(broken, torch.nan),
        values.masked_fill(broken[..., 0], torch.nan),
        right.masked_fill(broken, torch.nan),
    )
