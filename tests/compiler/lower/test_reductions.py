from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTEGERS, torch.bool)
Tensors = Callable[..., st.SearchStrategy[torch.Tensor]]

# (function of a tensor, a list of dims and keepdim; types)
DIMS: tuple[tuple[Callable[..., Any], tuple[torch.dtype, ...]], ...] = (
    (lambda x, d, k: x.sum(d, k), ALL),
    (lambda x, d, k: x.mean(d, k), FLOATS),
    (lambda x, d, k: x.amax(d, k), ALL),
    (lambda x, d, k: x.amin(d, k), ALL),
    (lambda x, d, k: x.any(d, k), ALL),
    (lambda x, d, k: x.all(d, k), ALL),
    (lambda x, d, k: x.prod(d[0], k), ALL),
    (lambda x, d, k: x.argmax(d[0], k), (*FLOATS, *INTEGERS)),
    (lambda x, d, k: x.argmin(d[0], k), (*FLOATS, *INTEGERS)),
    (lambda x, d, k: x.max(d[0], k), ALL),
    (lambda x, d, k: x.min(d[0], k), ALL),
    (lambda x, d, k: torch.count_nonzero(x, d), ALL),
    (lambda x, d, k: x.sum(d, k, dtype=torch.float32), ALL),
)


@given(data=st.data())
@settings(max_examples=8)
def test_reductions_over_dims(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(least_rank=1, least=1))
    rank = x.dim()
    dims = data.draw(st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank))
    dims = list({d % rank: d for d in dims}.values())
    keep = data.draw(st.booleans())
    functions = [f for f, dtypes in DIMS if x.dtype in dtypes]

    def run(x: torch.Tensor) -> tuple[Any, ...]:
        found = [f(x, dims, keep) for f in functions]
        parts = [tuple(f) if isinstance(f, tuple) else (f,) for f in found]
        return tuple(part for group in parts for part in group)

    agree(run, x, ulps=8)


@given(data=st.data())
@settings(max_examples=3)
def test_reductions_of_all(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(least=1))

    def run(x: torch.Tensor) -> tuple[Any, ...]:
        real = () if x.dtype == torch.bool else (x.argmax(), x.argmin())
        means = (x.mean(),) if x.dtype.is_floating_point else ()
        return (x.sum(), x.any(), x.all(), x.max(), x.min(), x.prod(), *real, *means)

    agree(run, x, ulps=8)


@given(data=st.data())
@settings(max_examples=4)
def test_moments_and_norms(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(dtypes=FLOATS, least_rank=1, least=1, special=False))
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))
    correction = data.draw(st.sampled_from((0, 1)))
    if x.shape[dim] <= correction:
        return

    def run(x: torch.Tensor) -> tuple[Any, ...]:
        return (
            x.var(dim, correction=correction),
            x.std(dim, correction=correction, keepdim=True),
            *torch.var_mean(x, dim, correction=correction),
            *(torch.linalg.vector_norm(x, p, dim) for p in (0, 1, 2, 3, float("inf"))),
            x.logsumexp(dim),
        )

    agree(run, x, ulps=8)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_nothing_is_reduced(agree: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    agree(lambda x: (x.sum(), x.prod(), x.any(), x.all(), x.sum(0), x.mean(-1)), x)


def test_ties_and_nan_take_the_first(agree: Callable[..., Any]) -> None:
    x = torch.tensor([[1.0, 3, 3], [float("nan"), 5, float("nan")]])
    agree(lambda x: (x.argmax(1), x.argmin(1), x.t().argmax(), x.argmax()), x)
    agree(lambda x: (*x.max(1), *x.t().min(0)), x)


def test_truth_of_bytes_stays_bytes(agree: Callable[..., Any]) -> None:
    x = torch.tensor([[0, 2], [0, 0]], dtype=torch.uint8)
    agree(lambda x: (x.any(1), x.all(0), x.any()), x)


def test_an_empty_extreme_is_eager_modes_error(agree: Callable[..., Any]) -> None:
    x = torch.randn(0, 3)
    with pytest.raises((RuntimeError, IndexError)):
        agree(lambda x: x.amax(0), x, extern=True)
