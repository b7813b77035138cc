import itertools
from collections.abc import Callable

import pytest
import torch

from compiler.ir import index
from compiler.ir.scalar import apply, constant, from_index, type_name
from compiler.lower.builder import Array
from compiler.lower.promotion import (
    aligned,
    common_type,
    float_type,
    number_type,
    value_at,
)
from compiler.lower.registry import NotLowered

DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64),
    *(torch.int32, torch.int8, torch.uint8, torch.bool),
)


def array(dtype: torch.dtype, rank: int) -> Array:
    return Array("x", type_name(dtype), (index.index(2),) * rank, "cpu")


@pytest.mark.parametrize("first", DTYPES)
def test_common_types_are_torchs(first: torch.dtype) -> None:
    for second, ranks in itertools.product(DTYPES, itertools.product((0, 1), (0, 1))):
        x = torch.zeros((2,) * ranks[0], dtype=first)
        y = torch.zeros((2,) * ranks[1], dtype=second)
        found = common_type(array(first, ranks[0]), array(second, ranks[1]))
        assert found == type_name(torch.result_type(x, y))
    for number in (True, 3, 2.5):
        for rank in (0, 1):
            x = torch.zeros((2,) * rank, dtype=first)
            found = common_type(array(first, rank), number)
            assert found == type_name(torch.result_type(x, number))


def test_integers_divide_as_floats() -> None:
    assert float_type(array(torch.int8, 1), 3) == "float32"
    assert float_type(array(torch.bfloat16, 1), 3) == "bfloat16"


def test_what_has_no_type() -> None:
    with pytest.raises(NotLowered):
        number_type("three")
    with pytest.raises(NotLowered):
        common_type()
    with pytest.raises(NotLowered):
        common_type(Array("x", "complex64", (index.index(2),), "cpu"), 1)


def test_a_point_broadcasts() -> None:
    i, j = index.digit("i"), index.digit("j")
    thin = Array("x", "float32", (index.index(1), index.index(3)), "cpu")
    assert aligned([i, j], thin) == (index.index(0), j)
    assert aligned([i, j], Array("x", "float32", (), "cpu")) == ()


def test_a_number_made_of_sizes_is_a_float() -> None:
    size = index.symbol("n")
    number = apply("truediv", from_index(size, "float64"), constant(5, "float64"))
    assert number_type(size) == torch.int64
    assert number_type(number) == torch.get_default_dtype()
    assert common_type(array(torch.int64, 1), number) == "float32"
    assert common_type(array(torch.float16, 1), number) == "float16"
    with pytest.raises(NotLowered, match="made of sizes"):
        value_at(number, (), "int64")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x.shape[-1] / 5,
        lambda x: x.int() * (x.shape[0] / 7),
        lambda x: x.half() * (x.shape[0] ** 0.5),
        lambda x: torch.full_like(x, x.shape[0] / 4),
        lambda x: x.clamp(min=x.shape[0] / 30),
        lambda x: x > x.shape[0] / 7,
        lambda x: torch.nn.functional.interpolate(x[None], size=9),
    ],
)
def test_numbers_made_of_sizes_keep_their_fractions(
    function: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    x = torch.rand(2, 3, 4)
    compiled = torch.compile(
        function, backend="tilewright", dynamic=True, options={"fallback": False}
    )
    found, expected = compiled(x), function(x)
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.zeros(6, 5) + x[: x.shape[0] // 2],
        lambda x: torch.zeros(6, 5).copy_(x[1 : x.shape[0] - 1]),
        lambda x: x[: x.shape[0] // 3].expand(4, 5).sin(),
        lambda x: x[: x.shape[0] - 2].squeeze(0) + 1,
        lambda x: torch.where(x[: x.shape[0] // 2] > 0, x, -x),
        lambda x: torch.cat([x, x[: x.shape[0] // 2].expand(2, 5)]),
        lambda x: torch.zeros(6, 5).index_put((torch.arange(6),), x[x.shape[0] - 1 :]),
    ],
)
def test_an_extent_that_comes_out_as_1_broadcasts(
    function: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        function, backend="tilewright", dynamic=True, options={"fallback": False}
    )
    x = torch.randn(3, 5)
    torch.testing.assert_close(compiled(x), function(x))
