from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir.evaluate import run_program

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)
Tensors = Callable[..., st.SearchStrategy[torch.Tensor]]


@given(data=st.data())
@settings(max_examples=5)
def test_gathers(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(shape=(4, 3, 5)))
    seed = data.draw(st.integers(0, 99))
    g = torch.Generator().manual_seed(seed)
    rows = torch.randint(-4, 4, (2, 3), generator=g)
    some = rows % 3
    columns = torch.randint(-5, 5, (3,), generator=g).int()
    at = torch.randint(0, 3, (4, 2, 5), generator=g)

    def run(x: Any, rows: Any, some: Any, columns: Any, at: Any) -> tuple[Any, ...]:
        return (
            x[rows],
            x[:, :, columns],
            x[rows, :, columns],
            x[:, some, columns],
            x[some[:, :1], :2, columns],
            x.gather(1, at),
            x.index_select(2, columns.abs() % 5),
            torch.nn.functional.embedding(some, x.reshape(4, 15)),
            torch.take_along_dim(x, at, 1),
        )

    agree(run, x, rows, some, columns, at, ulps=0)


@given(data=st.data())
@settings(max_examples=5)
def test_scatters(
    agree: Callable[..., Any], tensors_of: Tensors, data: st.DataObject
) -> None:
    x = data.draw(tensors_of(dtypes=DTYPES, shape=(4, 3), special=False))
    y = data.draw(tensors_of(dtypes=(x.dtype,), shape=(6, 3), special=False))
    g = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    rows = torch.randint(0, 4, (6,), generator=g)
    once = torch.randperm(4, generator=g)
    at = torch.randint(0, 4, (6, 3), generator=g)

    def run(x: Any, y: Any, rows: Any, once: Any, at: Any) -> tuple[Any, ...]:
        out = [
            x.index_put((once,), y[:4]),
            x.index_put((once - 4, torch.zeros_like(once)), y[0, 0]),
            x.scatter(0, at[:1], y[:1]),
            x.scatter(1, at[:4, :1] % 3, 1),
            x.index_copy(0, once, y[:4]),
            x.index_fill(0, once[:2], 1),
            x.masked_fill(x > 0, 0),
            x.index_put((x > 0,), x[0, 0]),
            x.diagonal_scatter(y[0, :], 0),
            x.select_scatter(y[0], 0, -1),
            x.slice_scatter(y[:2], 0, 1, 4, 2),
        ]
        if x.dtype != torch.bool:
            out += [
                x.scatter_add(0, at, y),
                x.index_add(0, rows, y),
                x.index_add(0, rows, y, alpha=2),
                x.index_put((rows,), y, accumulate=True),
                x.scatter_reduce(0, at, y, "amax"),
                x.scatter_reduce(0, at, y, "sum"),
            ]
        return tuple(out)

    agree(run, x, y, rows, once, at, ulps=8)


FAULTS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "index": lambda x, at: x[at],
    "embedding": lambda x, at: torch.nn.functional.embedding(at, x),
    "gather": lambda x, at: x.gather(0, at[:, None]),
    "index_put": lambda x, at: x.index_put((at,), x[0]),
    "scatter_add": lambda x, at: x.scatter_add(0, at[:, None], x[:2, :1]),
    "index_add": lambda x, at: x.index_add(0, at, x[:2]),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("index", [4, -1, -5])
def test_an_index_out_of_range_is_an_error_where_it_is_one_in_eager_mode(
    agree: Callable[..., Any], name: str, index: int
) -> None:
    x, at = torch.randn(4, 3), torch.tensor([0, index])
    try:
        FAULTS[name](x, at)
        raised = False
    except (IndexError, RuntimeError):
        raised = True
    program = agree.program(FAULTS[name], x, at)  # type: ignore[attr-defined]
    if raised:
        with pytest.raises(IndexError):
            run_program(program, [x, at])
    else:
        agree(FAULTS[name], x, at)


def test_gradients_of_an_embedding_are_added_up(agree: Callable[..., Any]) -> None:
    rows = torch.tensor([[1, 0, 3], [3, 3, 0]])
    for dtype in (torch.float32, torch.bfloat16):
        grad = torch.randn(2, 3, 5).to(dtype)
        agree(
            lambda g, r: torch.ops.aten.embedding_dense_backward(g, r, 4, 0, False),
            grad,
            rows,
        )


def test_a_clone_after_an_addition_in_place_is_a_copy(
    agree: Callable[..., Any],
) -> None:
    def add_and_copy(x: Any, rows: Any, y: Any) -> Any:
        x.index_add_(0, rows, y)
        return x.clone()

    x, rows, y = torch.randn(4, 3), torch.tensor([1, 1, 0]), torch.randn(3, 3)
    agree(add_and_copy, x, rows, y)
    program = agree.program(add_and_copy, x, rows, y)  # type: ignore[attr-defined]
    (copy,) = run_program(program, [x, rows, y])
    assert isinstance(copy, torch.Tensor)
    assert copy.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_numbers_are_scattered_into_sums_of_float32(dtype: torch.dtype) -> None:
    x = torch.ones(3, dtype=dtype)
    added = torch.ones(5000, dtype=dtype)
    at = torch.arange(5000) % 2
    total = torch.compile(
        lambda x, at, added: x.scatter_add(0, at, added), backend="tilewright"
    )(x, at, added)
    assert total.tolist() == torch.tensor([2501.0, 2501.0, 1.0]).to(dtype).tolist()
