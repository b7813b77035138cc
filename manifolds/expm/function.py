"""The matrix exponential and its derivatives of any order, differentiable.

``D^k exp(A)[E1, ..., Ek]`` is linear in each direction, and the derivatives of its
inner product with G are again of its kind: in ``Ei`` it is ``D^k exp(A^H)`` of G and
the other directions' adjoints, in A it is ``D^(k+1) exp(A^H)`` of G and all of them.
One autograd function is therefore closed under differentiation.
"""

from typing import Any

import torch
from torch import Tensor

from compiler.torch_api import transforms_are_active
from manifolds.errors import PrecisionError, ShapeError

from . import direct, graphs
from .evaluation import compute, flatten, spoil
from .jet import Tape, derivative_from_tape
from .operator import frechet_operator

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def expm(matrix: Tensor) -> Tensor:
    """Exponentiate square matrices.

    Law: ``expm(A) @ expm(-A) == I``; orthogonal where A is skew, unitary where it is
    skew-Hermitian; ``expm(P A P^-1) == P expm(A) P^-1``.

    The Taylor polynomial of degree 1 to 18 that the largest 1-norm of the batch needs,
    with scaling and squaring for each matrix. The gradient is ``L(A^H, G)``, from the
    products that the forward pass made; its cost doesn't depend on the size of G, and
    it can be differentiated again, also by ``torch.func`` in both modes and ``vmap``.
    A matrix that holds NaN or infinity gives NaN in all its elements and leaves the
    others of its batch alone.

    Args:
        matrix: float32, float64, complex64 or complex128, any strides
            [..., n, n]. n = 0 and n = 1 are served.

    Returns:
        A new tensor [..., n, n].

    Raises:
        ShapeError: The last two extents differ, or there is only one.
        PrecisionError: The dtype is not one of the four.

    Example:
        >>> quarter = torch.tensor([[0.0, -torch.pi / 2], [torch.pi / 2, 0.0]])
        >>> expm(quarter).round(decimals=5).tolist()
        [[-0.0, -1.0], [1.0, -0.0]]

    Source: Bader, Blanes, Casas 2019 (polynomial); Al-Mohy, Higham 2009 (derivative).
    """
    check_matrix("matrix", matrix)
    if torch.compiler.is_compiling():
        traced: Tensor = frechet_operator(matrix, [])
        return traced
    kind: Any = _Exponential
    if transforms_are_active():
        kind = _Derivative  # of order zero
    elif direct.serves(matrix):
        kind = _Direct
    elif graphs.serves(matrix):
        kind = _Replayed
    result: Tensor = kind.apply(matrix)
    return result


def frechet(matrix: Tensor, *directions: Tensor) -> Tensor:
    """Differentiate the matrix exponential in given directions.

    Law: ``frechet(A, A) == A @ expm(A)``; with the commutator [X, Y] = XY - YX,
    ``frechet(A, [A, Y]) == [expm(A), Y]``; ``<frechet(A, E), G> == <E, frechet(A.mH,
    G)>``; symmetric and linear in the directions.

    Args:
        matrix: A, as in ``expm`` [..., n, n].
        directions: E1 to Ek, of the same dtype and shape; none gives ``expm``.

    Returns:
        ``D^k exp(A)[E1, ..., Ek]`` [..., n, n].

    Raises:
        ShapeError: A shape is not square or differs from the matrix's.
        PrecisionError: A dtype is not served or differs from the matrix's.

    Example:
        >>> zero = torch.zeros(2, 2)
        >>> frechet(zero, torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[1.0, 2.0], [3.0, 4.0]]

    Source: Al-Mohy, Higham 2009, theorem 3.1 (order 1).
    """
    check_matrix("matrix", matrix)
    for position, direction in enumerate(directions):
        name = f"directions[{position}]"
        check_matrix(name, direction)
        if direction.shape != matrix.shape:
            raise ShapeError(
                f"a direction must have the matrix's shape {tuple(matrix.shape)}, but "
                f"{name}.shape={tuple(direction.shape)}; expand it first",
                shape=tuple(direction.shape),
            )
        if direction.dtype != matrix.dtype:
            raise PrecisionError(
                f"a direction must have the matrix's dtype {matrix.dtype}, but "
                f"{name}.dtype={direction.dtype}; convert one of them",
                dtype=direction.dtype,
            )
    if not directions:
        return expm(matrix)
    if torch.compiler.is_compiling():
        traced: Tensor = frechet_operator(matrix, list(directions))
        return traced
    result: Tensor = _Derivative.apply(  # type: ignore[no-untyped-call]
        matrix, *directions
    )
    return result


def check_matrix(name: str, matrix: Tensor) -> None:
    """Refuse what has no exponential here.

    Args:
        name: How the caller calls it.
        matrix: Anything.

    Raises:
        ShapeError: Not square.
        PrecisionError: Not one of the four dtypes.
    """
    if matrix.dim() < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ShapeError(
            f"square matrices [..., n, n] are needed, but "
            f"{name}.shape={tuple(matrix.shape)}",
            shape=tuple(matrix.shape),
        )
    if matrix.dtype not in DTYPES:
        raise PrecisionError(
            f"float32, float64, complex64 or complex128 is needed, but "
            f"{name}.dtype={matrix.dtype}; half precision has too few bits for an "
            f"exponential that is orthogonal: use {name}.float() and round the result",
            dtype=matrix.dtype,
        )


class _Exponential(torch.autograd.Function):
    """``expm``, which keeps the factors of its products for the gradient."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        value, tape = compute([matrix])
        factors = () if tape is None else tape.factors
        flat = [factor for pair in factors for factor in pair]
        distinct = {id(factor): factor for factor in flat}
        position = {key: i for i, key in enumerate(distinct, 1)}
        ctx.save_for_backward(matrix, *distinct.values())
        ctx.plan = None if tape is None else tape.plan
        ctx.order = [position[id(factor)] for factor in flat]
        return value

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        matrix, *_ = saved = ctx.saved_tensors
        if torch.is_grad_enabled() or ctx.plan is None:
            return frechet(matrix.mH, gradient)
        factors = [saved[i] for i in ctx.order]
        pairs = tuple(zip(factors[::2], factors[1::2], strict=True))
        with torch.autocast(matrix.device.type, enabled=False):
            adjoint = derivative_from_tape(
                Tape(ctx.plan, pairs).adjoint(), flatten(gradient)
            )
        adjoint = adjoint.view(matrix.shape)
        return spoil(adjoint, ctx.plan.broken)


class _Direct(torch.autograd.Function):
    """``expm`` of small matrices: one call of compiled code for each direction."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        ctx.save_for_backward(matrix)
        return direct.exponentiate(matrix)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (matrix,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            return frechet(matrix.mH, gradient)
        return direct.exponentiate(matrix.mT, gradient)


class _Replayed(torch.autograd.Function):
    """``expm`` of one larger matrix on a GPU: a graph for each direction."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        ctx.save_for_backward(matrix)
        ctx.plan = graphs.read_plan(matrix)
        return graphs.replay(ctx.plan, matrix)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (matrix,) = ctx.saved_tensors
        if torch.is_grad_enabled() or not graphs.serves(matrix):
            return frechet(matrix.mH, gradient)
        # all factors are polynomials of the matrix: what serves it serves its adjoint
        return graphs.replay(ctx.plan, matrix.mH, gradient)


class _Derivative(torch.autograd.Function):
    """``frechet``, which keeps nothing but its arguments: ``torch.func`` serves it."""

    @staticmethod
    def forward(matrix: Tensor, *directions: Tensor) -> Tensor:
        value, _ = compute([matrix, *directions])
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        matrix, *directions = ctx.saved_tensors
        adjoints = [direction.mH for direction in directions]
        needs, *each_needs = ctx.needs_input_grad
        to_matrix = frechet(matrix.mH, gradient, *adjoints) if needs else None
        to_directions = (
            frechet(matrix.mH, gradient, *adjoints[:i], *adjoints[i + 1 :])
            if each_needs[i]
            else None
            for i in range(len(directions))
        )
        return to_matrix, *to_directions

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        matrix, *directions = ctx.saved_tensors
        first, *others = tangents
        terms = [] if first is None else [frechet(matrix, first, *directions)]
        for i, other in enumerate(others):
            if other is not None:
                changed = *directions[:i], other, *directions[i + 1 :]
                terms.append(frechet(matrix, *changed))
        return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *tensors: Tensor) -> Any:
        batched = [
            tensor.expand(info.batch_size, *tensor.shape)
            if dim is None
            else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, dims, strict=True)
        ]
        matrix, *directions = batched
        return frechet(matrix, *directions), 0
