import importlib
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.nn.utils.parametrize import cached, remove_parametrizations

from manifolds import constrain, orthogonal
from manifolds.charts import SO, SPD, O, Sphere, Stiefel, U, skew
from manifolds.constraint import INITS, initial
from manifolds.errors import MapError, NotOnManifoldError, PrecisionError, ShapeError
from manifolds.rebase import trivialization_parameters

DOUBLE = torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("map", ["exp", "cayley"])
def test_orthogonal_is_so_from_the_start_and_after_steps(
    shape: tuple[int, int], map: str, dtype: torch.dtype
) -> None:
    layer = nn.Linear(shape[1], shape[0], bias=False, dtype=dtype)
    before = layer.weight.detach().clone()
    orthogonal(layer, map=map)
    expected = Stiefel().nearest(before)
    torch.testing.assert_close(layer.weight, expected, rtol=0, atol=1e-5)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.ones(1, shape[1], dtype=dtype)).abs().sum().backward()
        optimizer.step()
    assert Stiefel().in_manifold(layer.weight)
    assert [p.dtype for p in layer.parameters()] == [dtype]


def test_batches_of_weights() -> None:
    layer = orthogonal(nn.Conv2d(2, 3, (4, 4)))
    assert Stiefel().in_manifold(layer.weight)
    assert layer(torch.ones(1, 2, 8, 8)).shape == (1, 3, 5, 5)


@pytest.mark.parametrize("map", ["exp", "cayley"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_agrees_with_torch_where_they_overlap(shape: tuple[int, int], map: str) -> None:
    """Same image: each reproduces the other's weights; both start at Q^H Q = I."""
    name = {"exp": "matrix_exp", "cayley": "cayley"}[map]
    theirs: Any = parametrizations.orthogonal(
        nn.Linear(*shape).double(), "weight", name
    )
    ours = orthogonal(nn.Linear(*shape).double(), map=map)
    ours.weight = theirs.weight.detach()
    torch.testing.assert_close(ours.weight, theirs.weight)
    sample = Stiefel().sample(shape[::-1], dtype=DOUBLE)
    theirs.weight = sample
    ours.weight = sample
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.parametrize("map", ["exp", "cayley"])
def test_square_maps_are_torchs_maps(map: str) -> None:
    """Ours reads the upper triangle, torch the lower one: a sign apart."""
    name = {"exp": "matrix_exp", "cayley": "cayley"}[map]
    theirs: Any = parametrizations.orthogonal(nn.Linear(4, 4).double(), "weight", name)
    base = theirs.weight.detach().clone()
    ours = orthogonal(nn.Linear(4, 4).double(), map=map, init=base)
    free = torch.randn(4, 4, dtype=DOUBLE).triu(1)
    with torch.no_grad():
        trivialization_parameters(ours, "weight")[0].copy_(free)
        theirs.parametrizations.weight.original.copy_(-free.T)
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.parametrize(("map", "triv"), [("exp", "expm"), ("cayley", "cayley")])
def test_agrees_with_geotorch(map: str, triv: str) -> None:
    """Weights and gradients around the same base; it reads the lower triangle."""
    if importlib.util.find_spec("geotorch") is None:
        pytest.skip("geotorch is not installed")
    geotorch = importlib.import_module("geotorch")
    theirs: Any = nn.Linear(4, 4).double()
    geotorch.orthogonal(theirs, "weight", triv=triv)
    base = theirs.weight.detach().clone()
    theirs.weight = base
    ours = orthogonal(nn.Linear(4, 4).double(), map=map, init=base)
    free, target = torch.randn(2, 4, 4, dtype=DOUBLE)
    (our_free,) = trivialization_parameters(ours, "weight")
    their_free = theirs.parametrizations.weight.original
    with torch.no_grad():
        our_free.copy_(free)
        their_free.copy_(-free.T)
    torch.testing.assert_close(ours.weight, theirs.weight)
    (to_ours,) = torch.autograd.grad((ours.weight * target).sum(), our_free)
    (to_theirs,) = torch.autograd.grad((theirs.weight * target).sum(), their_free)
    torch.testing.assert_close(to_ours.triu(1), -to_theirs.T.triu(1))
    sample = SO().sample((4, 4), dtype=DOUBLE)
    theirs.weight = sample
    ours.weight = sample
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_inits() -> None:
    def weight(init: str | torch.Tensor) -> torch.Tensor:
        layer = orthogonal(nn.Linear(4, 4), init=init, generator=generator)
        found = layer.weight
        assert isinstance(found, torch.Tensor)
        return found.detach()

    generator = torch.Generator().manual_seed(0)
    assert torch.equal(weight("identity"), torch.eye(4))
    assert O().in_manifold(weight("sample"))
    assert torch.equal(weight(torch.eye(4)), torch.eye(4))
    for init in ("henaff", "cayley"):
        found = weight(init)
        assert found[0, 2] == 0
        assert found[0, 1] != 0
    assert set(INITS) == {"nearest", "identity", "sample", "henaff", "cayley"}


@pytest.mark.parametrize("init", ["henaff", "cayley"])
def test_tori_keep_the_base_at_the_identity(init: str) -> None:
    layer = orthogonal(nn.Linear(5, 5), init=init, det=1)
    (free,) = trivialization_parameters(layer, "weight")
    base = layer.parametrizations.weight[0].base_0
    assert torch.equal(base, torch.eye(5))
    expected = torch.matrix_exp(skew(free))
    torch.testing.assert_close(layer.weight, expected)
    start, coordinates = initial(U(), torch.eye(2, dtype=torch.complex64), init)
    assert coordinates is not None
    assert coordinates.dtype == start.dtype == torch.complex64


def test_any_manifold() -> None:
    layer = constrain(nn.Linear(3, 3), "weight", SPD(), init="sample")
    assert SPD().in_manifold(layer.weight)
    bias = constrain(nn.Linear(3, 3), "bias", Sphere())
    assert Sphere().in_manifold(bias.bias)


def test_torch_tools_work() -> None:
    layer = orthogonal(nn.Linear(3, 3))
    with cached():
        assert layer.weight is layer.weight
    kept = layer.weight.detach().clone()
    remove_parametrizations(layer, "weight")
    assert torch.equal(layer.weight, kept)
    frozen = nn.Linear(3, 3).requires_grad_(False)
    orthogonal(frozen)
    assert not any(p.requires_grad for p in frozen.parameters())


def test_mistakes_are_named() -> None:
    empty = nn.Module()
    empty.weight = nn.Parameter(torch.zeros(3, 0))
    with pytest.raises(ShapeError, match="det is for square real"):
        orthogonal(nn.Linear(3, 4), det=1)
    with pytest.raises(ShapeError, match="det is for square real"):
        orthogonal(nn.Linear(3, 3, dtype=torch.complex64), det=1)
    with pytest.raises(ShapeError, match="n, k"):
        orthogonal(nn.Linear(3, 3), "bias")
    with pytest.raises(ShapeError):
        orthogonal(empty)
    with pytest.raises(MapError, match="map='qr'"):
        orthogonal(nn.Linear(3, 3), map="qr")
    with pytest.raises(MapError, match="square"):
        orthogonal(nn.Linear(3, 4), map=torch.matrix_exp)
    with pytest.raises(MapError, match="henaff"):
        orthogonal(nn.Linear(3, 4), init="henaff")
    with pytest.raises(NotOnManifoldError):
        orthogonal(nn.Linear(2, 2), init=torch.ones(2, 2))
    layer = orthogonal(nn.Linear(2, 2))
    with pytest.raises(ShapeError, match="parametrized already"):
        orthogonal(layer)
    with pytest.raises(ShapeError, match="NoneType"):
        constrain(nn.Linear(2, 2, bias=False), "bias", Sphere())
    module = nn.Module()
    module.register_buffer("table", torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(PrecisionError, match="int64"):
        constrain(module, "table", SO())


def test_an_initial_tensor_has_the_weight_s_shape_and_field() -> None:
    with pytest.raises(ShapeError, match=r"init\.shape=\(3, 3\)"):
        orthogonal(nn.Linear(4, 4), init=torch.eye(3))
    with pytest.raises(PrecisionError, match=r"init\.dtype=torch\.complex64"):
        orthogonal(nn.Linear(4, 4), init=torch.eye(4, dtype=torch.complex64))


@pytest.mark.parametrize("name", ["wieght", "bias", "in_features"])
def test_what_is_no_weight_is_refused(name: str) -> None:
    for constraint in (orthogonal, lambda m, n: constrain(m, n, Sphere())):
        with pytest.raises(ShapeError, match=f"name='{name}'"):
            constraint(nn.Linear(3, 3, bias=False), name)


def test_a_function_as_map_wants_a_square_weight() -> None:
    with pytest.raises(MapError, match=r"shape=\(3, 2\)"):
        orthogonal(nn.Linear(2, 3), map=torch.matrix_exp)
