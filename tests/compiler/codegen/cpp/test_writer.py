"""Threads where there is work, and parameters in order."""

from typing import Any

import torch

from compiler.codegen.cpp import print_kernel
from compiler.ir.index import digit
from compiler.ir.kernel import Store
from compiler.ir.scalar import apply, load
from compiler.options import Options


def doubling(kernel: Any, count: int) -> Any:
    i = digit("i")
    x = load("x", (i,), "float32")
    tensors = {"x": torch.zeros(count), "o": torch.zeros(count)}
    stage = Store("o", (i,), apply("add", x, x), inner=False)
    return kernel("double", tensors, [stage], {"i": count})


def test_threads_only_where_they_pay(kernel: Any) -> None:
    assert "parallel" not in print_kernel(doubling(kernel, 1000)).text
    assert "parallel" in print_kernel(doubling(kernel, 1_000_000)).text


def test_the_number_of_threads_can_be_fixed(kernel: Any) -> None:
    made = print_kernel(doubling(kernel, 1_000_000), Options(threads=3))
    assert "num_threads(3)" in made.text


def test_parameters_are_the_buffers_in_order(kernel: Any) -> None:
    made = print_kernel(doubling(kernel, 7))
    assert made.parameters == ("x", "o")
    assert "k_double(const f32 *p_x, f32 *p_o)" in made.text
    assert "restrict" not in made.text  # memory may be reused in place


def test_without_points_nothing_is_read(kernel: Any) -> None:
    """Memory without elements has no address, and what all points share is none."""
    text = print_kernel(doubling(kernel, 0)).text
    assert "p_x[" not in text and "return bad" in text


def test_no_rows_of_an_embedding() -> None:
    def rows(x: torch.Tensor, table: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = torch.nn.functional.embedding(x % 4, table)
        return found.view_as(found), found.sum(0), found.amax(1)

    x, table = torch.zeros(0, dtype=torch.int32), torch.ones(4, 2)
    torch.compiler.reset()
    ours = torch.compile(rows, backend="tilewright")(x, table)
    for one, other in zip(ours, rows(x, table), strict=True):
        assert torch.equal(one, other)
