"""The front door: constrain a weight of a module to a manifold."""

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, register_parametrization

from manifolds.charts import Manifold, O, Stiefel, U, torus
from manifolds.charts.rotations import Map
from manifolds.charts.tori import TORI
from manifolds.errors import MapError, PrecisionError, ShapeError
from manifolds.rebase import trivialization_parameters
from manifolds.trivialization import Trivialization, working_dtype

Constrained = TypeVar("Constrained", bound=nn.Module)

INITS = ("nearest", "identity", "sample", *TORI)


def constrain(
    module: Constrained,
    name: str,
    manifold: Manifold,
    *,
    every: int | None = None,
    project_every: int | None = 30,
    init: str | Tensor = "nearest",
    generator: torch.Generator | None = None,
) -> Constrained:
    """Constrain a weight to a manifold, by a trivialization.

    Law: the weight lies on the manifold whatever the optimizer does.

    Reading the weight computes it; put training steps in
    ``torch.nn.utils.parametrize.cached()`` if a module reads it often. Dynamic
    trivializations also need ``rebase_after_steps(optimizer, module)``.

    A weight of half precision gets a parameter in float32. Don't convert the module to
    half precision afterwards: the next forward pass refuses it.

    Args:
        module: Has the weight; changed in place.
        name: Of the weight.
        manifold: Where it is to live.
        every: K, optimizer steps between changes of the base; None is a static one.
        project_every: M, changes of the base between repairs of its rounding errors.
        init: ``"nearest"`` projects the present weight. ``"sample"`` draws one.
            ``"identity"`` is the unit matrix. ``"henaff"`` and ``"cayley"`` keep the
            base at the identity and draw rotations as coordinates, as expRNN does. A
            tensor is taken as it is, and must lie on the manifold.
        generator: Source of randomness.

    Returns:
        The module.

    Raises:
        ShapeError: The weight is parametrized already, or has a wrong shape.
        PrecisionError: The manifold has no such dtype.
        NotOnManifoldError: ``init`` is a tensor that is not on the manifold.
        MapError: No such ``init``, or not for this manifold.
        PolicyError: A period is not positive.

    Example:
        >>> from manifolds.charts import SPD
        >>> layer = constrain(nn.Linear(2, 2), "weight", SPD())
        >>> bool((torch.linalg.eigvalsh(layer.weight) > 0).all())
        True
    """
    if is_parametrized(module, name):
        raise ShapeError(
            f"a plain weight was needed, but name={name!r} is parametrized already; "
            "remove_parametrizations first",
            name=name,
        )
    weight = weight_of(module, name)
    with torch.no_grad():
        start, coordinates = initial(manifold, weight, init, generator)
        trivialization = Trivialization(
            manifold,
            start,
            dtype=weight.dtype,
            every=every,
            project_every=project_every,
        )
        weight.data = start
        # unsafe: the parameter may have another dtype and shape than the weight
        register_parametrization(module, name, trivialization, unsafe=True)
        if coordinates is not None:
            (parameter,) = trivialization_parameters(module, name)
            parameter.copy_(coordinates)
    return module


def weight_of(module: nn.Module, name: str) -> Tensor:
    """Return a weight of a module.

    Raises:
        ShapeError: The module has nothing of that name, or it is no tensor.

    Example:
        >>> weight_of(nn.Linear(2, 3), "weight").shape
        torch.Size([3, 2])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ShapeError(
            f"a weight of {type(module).__name__} was needed, but name={name!r} is "
            f"{type(weight).__name__}",
            name=name,
        )
    return weight


def initial(
    manifold: Manifold,
    weight: Tensor,
    init: str | Tensor,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Return the weight to start with, and coordinates around it if not zero.

    Args:
        manifold: Where the weight is to live.
        weight: The present one, which gives shape, dtype and device.
        init: See ``constrain``.
        generator: Source of randomness.

    Returns:
        A weight on the manifold, in float32 instead of half precision; coordinates,
        or None.

    Raises:
        ShapeError: The shape is wrong, or that of a tensor as ``init``.
        PrecisionError: The dtype is wrong, or ``init`` is complex for a real weight.
        MapError: No such ``init``, or not for this manifold.
    """
    dtype, device = working_dtype(weight.dtype), weight.device
    manifold.check(weight.shape, dtype)
    if isinstance(init, Tensor):
        if init.shape != weight.shape:
            raise ShapeError(
                f"init {tuple(weight.shape)} is needed, the shape of the weight, but "
                f"init.shape={tuple(init.shape)}",
                shape=tuple(init.shape),
            )
        if init.is_complex() and not dtype.is_complex:
            raise PrecisionError(
                f"a real init is needed for a weight of {weight.dtype}, but "
                f"init.dtype={init.dtype}",
                dtype=init.dtype,
            )
        return init.to(dtype=dtype, device=device), None
    if init == "nearest":
        return manifold.project(weight.to(dtype)), None
    if init == "sample":
        sample = manifold.sample(
            weight.shape, dtype=dtype, device=device, generator=generator
        )
        return sample, None
    eye = torch.eye(*weight.shape[-2:], dtype=dtype, device=device)
    eye = eye.expand(weight.shape).clone()
    if init == "identity":
        return eye, None
    if init in TORI and isinstance(manifold, O | U):
        angles = torus(
            init, weight.shape, dtype=dtype, device=device, generator=generator
        )
        return eye, angles
    raise MapError(
        f"init is a tensor or one of {', '.join(INITS)} (tori for O, SO and U), but "
        f"init={init!r} for {manifold}",
        init=init,
        known=INITS,
    )


def orthogonal(
    module: Constrained,
    name: str = "weight",
    map: Map = "exp",
    every: int | None = None,
    *,
    det: int | None = None,
    project_every: int | None = 30,
    init: str | Tensor = "nearest",
    generator: torch.Generator | None = None,
) -> Constrained:
    """Constrain a weight to orthogonal or unitary matrices.

    Square real weights are orthogonal with a determinant that training does not change,
    complex ones unitary. Tall ones have orthonormal columns and wide ones orthonormal
    rows, at a cost of O(n k^2).

    Args:
        module: Has the weight; changed in place.
        name: Of the weight [..., n, k].
        map: ``"exp"``, ``"cayley"``; also ``"qr"`` if not square, or a function of the
            skew matrix if square.
        every: K, optimizer steps between changes of the base: 1 is Riemannian gradient
            descent, None the static parametrization. See ``rebase_after_steps``.
        det: 1 or -1 for square real weights; None keeps the present sign.
        project_every: M, changes of the base between repairs of its rounding errors.
        init: See ``constrain``.
        generator: Source of randomness.

    Returns:
        The module.

    Raises:
        ShapeError: No matrix, or a determinant for one that has none.
        PrecisionError: The dtype is an integer.
        NotOnManifoldError: ``init`` is a tensor that is not orthogonal.
        MapError: No such map or ``init``.
        PolicyError: A period is not positive.

    Example:
        >>> layer = orthogonal(nn.Linear(4, 4), "weight", det=1)
        >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(4), atol=1e-5)
        True
        >>> torch.linalg.det(layer.weight).round().item()
        1.0

    Source: Lezcano-Casado, Martinez-Rubio, ICML 2019.
    """
    weight = weight_of(module, name)
    square = weight.dim() >= 2 and weight.shape[-1] == weight.shape[-2]
    if det is not None and (not square or weight.is_complex()):
        raise ShapeError(
            "det is for square real weights, but "
            f"shape={tuple(weight.shape)}, dtype={weight.dtype}, det={det}",
            shape=tuple(weight.shape),
            det=det,
        )
    manifold: Manifold
    if square:
        manifold = U(map) if weight.is_complex() else O(det, map)
    elif isinstance(map, str):
        manifold = Stiefel(map)
    else:
        raise MapError(
            "a function as map is for square weights, but "
            f"shape={tuple(weight.shape)}; use exp, cayley or qr",
            map=map,
        )
    return constrain(
        module,
        name,
        manifold,
        every=every,
        project_every=project_every,
        init=init,
        generator=generator,
    )
