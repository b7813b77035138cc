"""Random orthogonal matrices, and random coordinates of a maximal torus.

Henaff's and the Cayley-type initial matrices are block-diagonal: rotations in the
planes of rows 0 and 1, 2 and 3, and so on; with an odd number of rows the last is left.
"""

import math

import torch
from torch import Tensor

from manifolds.errors import MapError

from .manifold import Shape

TORI = ("henaff", "cayley")


def torus(
    kind: str,
    shape: Shape,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return coordinates of random rotations in orthogonal planes.

    ``"henaff"`` draws angles uniform in [-pi, pi]. ``"cayley"`` draws t uniform in [0,
    pi/2] and takes ``-tan(t/2)``, which under the older Cayley map ``(I + A)^-1 (I -
    A)`` is a rotation by t; under exp it is used as an angle all the same.

    Args:
        kind: ``"henaff"`` or ``"cayley"``.
        shape: [..., n, n].
        dtype: Real or complex; the default dtype if None.
        device: Where to make it.
        generator: Source of randomness.

    Returns:
        Upper triangular [..., n, n]; ``skew`` of it is the matrix A.

    Raises:
        MapError: No such kind.

    Example:
        >>> torus("henaff", (4, 4)).count_nonzero().item()
        2

    Source: M. Henaff, A. Szlam, Y. LeCun, ICML 2016; K. Helfrich, D. Willmott, Q. Ye,
    ICML 2018.
    """
    if kind not in TORI:
        raise MapError(
            f"the tori are {', '.join(TORI)}, but kind={kind!r}", kind=kind, known=TORI
        )
    size = shape[-1]
    uniform = torch.rand(*shape[:-2], size // 2, device=device, generator=generator)
    if kind == "henaff":
        angles = (2 * uniform - 1) * math.pi
    else:
        angles = -torch.tan(uniform * (math.pi / 4))
    matrix = torch.zeros(*shape, dtype=dtype, device=device)
    even = torch.arange(0, size - 1, 2, device=device)
    matrix[..., even, even + 1] = angles.to(matrix.dtype)
    return matrix


def haar(
    shape: Shape,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return matrices with orthonormal columns (rows if wide), uniform by Haar measure.

    Args:
        shape: [..., n, k].
        dtype: Real or complex; the default dtype if None.
        device: Where to make it.
        generator: Source of randomness.

    Returns:
        [..., n, k]; square real ones have either determinant with probability 1/2.

    Example:
        >>> q = haar((3, 3))
        >>> torch.allclose(q @ q.T, torch.eye(3), atol=1e-5)
        True

    Source: F. Mezzadri, How to generate random matrices from the classical compact
    groups, Notices AMS 54 (2007): QR of a Gaussian matrix with the phases of R moved
    to Q.
    """
    rows, columns = shape[-2:]
    tall = (*shape[:-2], max(rows, columns), min(rows, columns))
    normal = torch.randn(*tall, dtype=dtype, device=device, generator=generator)
    q = phased_qr(normal)
    return q if rows >= columns else q.mT


def phased_qr(matrix: Tensor) -> Tensor:
    """Return the Q factor that belongs to an R with positive diagonal.

    Args:
        matrix: Of full column rank [..., n, k], n >= k.

    Returns:
        [..., n, k]; differentiable.

    Example:
        >>> phased_qr(torch.tensor([[-2.0]])).tolist()
        [[-1.0]]
    """
    q, r = torch.linalg.qr(matrix)
    phases: Tensor = r.diagonal(dim1=-2, dim2=-1).sgn()
    rotated: Tensor = q * phases[..., None, :]
    return rotated
