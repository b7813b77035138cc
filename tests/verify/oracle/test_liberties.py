"""What eager mode leaves to chance is left open, and a fault beside it is seen."""

from collections.abc import Callable

import pytest
import torch

from verify.oracle.liberties import set_bits_of_nans
from verify.oracle.mismatch import compare
from verify.oracle.rounding import expected

INF = float("inf")
NAN = float("nan")
Function = Callable[[torch.Tensor], torch.Tensor]


def overflowing() -> torch.Tensor:
    """Return columns whose sums are -inf or NaN, 33 and 3.3."""
    x = torch.zeros(33, 3)
    x[4, 0] = x[5, 0] = torch.finfo(torch.float32).max
    x[20, 0] = -INF
    x[:, 1], x[:, 2] = 1.0, 0.1
    return x


SUMS: dict[str, Function] = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "nansum": lambda x: x.nansum(0),
    "mv": lambda x: x.t().mv(torch.ones(33)),
    "mm": lambda x: (torch.ones(1, 33) @ x)[0],
    "addmm": lambda x: torch.addmm(torch.zeros(3), torch.ones(1, 33), x)[0],
    "bmm": lambda x: torch.bmm(torch.ones(1, 1, 33), x[None])[0, 0],
    "select": lambda x: torch.select_scatter(x, x.sum(0), 0, 0)[0],
    "slice": lambda x: torch.slice_scatter(x, x.sum(0, keepdim=True), 0, 0, 1)[0],
    "diagonal": lambda x: torch.diagonal_scatter(x[:3], x.sum(0)).diagonal() + 0.0,
    "put": lambda x: x.index_put((torch.tensor([0]),), x.sum(0))[0],
    "where": lambda x: torch.where(x >= 0, x.sum(0), x)[0],
}


@pytest.mark.parametrize("name", SUMS)
def test_an_order_may_decide_between_nan_and_infinity(name: str) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (SUMS[name](x),)

    wanted = expected(function, lambda: [overflowing()])
    (right,) = function(overflowing())
    for value in (NAN, -INF):
        other = right.clone()
        other[0] = value
        assert compare(wanted, [other, overflowing()]) is None
    for place in (1, 2):
        wrong = right.clone()
        wrong[place] = torch.where(right[place] == 0, 1e-3, right[place] * 1.001)
        found = compare(wanted, [wrong, overflowing()])
        assert found is not None and f"({place},)" in found.detail


def test_an_order_may_decide_whether_a_product_overflows() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor([[1e30, 1e30, 0.0, 2.0], [1e30, 1e-30, 3.0, 2.0]])]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.prod(1),)

    wanted = expected(function, given)
    for value in (NAN, 0.0):
        assert compare(wanted, [torch.tensor([value, 6.0]), *given()]) is None
    assert compare(wanted, [torch.tensor([NAN, 6.001]), *given()]) is not None


def test_sums_that_cannot_overflow_are_infinite_for_no_reason() -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor([1e38, 2e38, -1e38, -2e38, 4.0])]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.sum(0),)

    wanted = expected(function, given)
    for value in (INF, -INF, NAN):
        assert compare(wanted, [torch.tensor(value), *given()]) is not None


@pytest.mark.parametrize("dims", [0, -1, (0,), ()])
def test_sums_of_a_single_number_are_no_open_programs(
    dims: int | tuple[int, ...],
) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.sum(dims) + y, x.mean(dims), y.neg())

    def given() -> list[torch.Tensor]:
        return [torch.tensor(1.5), torch.ones(3)]

    wanted = expected(function, given)
    assert not wanted.is_open
    right = list(function(*given()))
    assert compare(wanted, [*right, *given()]) is None
    right[2] = right[2] + 1
    assert compare(wanted, [*right, *given()]) is not None


def test_what_is_scattered_as_it_is_is_equal() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        row = torch.select_scatter(x, x[1], 0, 0)
        return (row, torch.slice_scatter(x, x[1:2], 0, 0, 1))

    def given() -> list[torch.Tensor]:
        return [torch.rand(4, 5, generator=torch.Generator().manual_seed(0)) + 1]

    wanted = expected(function, given)
    right = function(*given())
    for number in (0, 1):
        wrong = [one.clone() for one in right]
        wrong[number][2, 3] = torch.nextafter(wrong[number][2, 3], torch.tensor(9.0))
        assert compare(wanted, [*wrong, *given()]) is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_all_bytes_of_nans_differ_and_no_others(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, NAN, INF, -NAN, -0.0], dtype=dtype)
    low, high = (set_bits_of_nans(x.clone(), ones) for ones in (False, True))
    for other in (low, high):
        assert other.isnan().tolist() == x.isnan().tolist()
    same = low.view(torch.uint8).view(5, -1) == high.view(torch.uint8).view(5, -1)
    assert same.all(1).tolist() == [True, False, True, False, True]
    assert not same[1].any() and not same[3].any()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.maximum(x, x.abs()).view(torch.int32),
        lambda x: torch.minimum(x, x.abs()).view(torch.uint8)[::4].clone(),
        lambda x: x.bfloat16().view(torch.int16),
        lambda x: (x - x).half().view(torch.int16),
    ],
)
def test_any_bits_of_a_made_up_nan_do(function: Function) -> None:
    def given() -> list[torch.Tensor]:
        return [torch.tensor([NAN, 1.0, 0.0, 0.5, 3.0])]

    wanted = expected(lambda x: (function(x),), given)
    right = function(*given())
    for bits in (-1, 0x7F):
        other = right.clone()
        other[0] = bits & 0xFF if right.dtype == torch.uint8 else bits
        assert compare(wanted, [other, *given()]) is None
    wrong = right.clone()
    wrong[2] += 64
    assert compare(wanted, [wrong, *given()]) is not None


def test_bits_of_a_nan_that_is_moved_are_its_own() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.cat((x, x.flip(0))).view(torch.int32),)

    def given() -> list[torch.Tensor]:
        return [torch.tensor([NAN, 1.0])]

    wanted = expected(function, given)
    (wrong,) = function(*given())
    wrong[3] = -1
    assert compare(wanted, [wrong, *given()]) is not None


def test_a_truth_that_a_batch_s_mean_decides_is_left_open() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.nn.functional.instance_norm(x[None])
        return (y.any(2), x.any(1))

    def given() -> list[torch.Tensor]:
        return [torch.tensor(1.541015625).expand(4, 1025)]

    wanted = expected(function, given)
    first, second = function(*given())
    assert compare(wanted, [~first, second, *given()]) is None
    assert compare(wanted, [first, ~second, *given()]) is not None


HALVES: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "index_add": lambda x: (x.index_add(0, torch.tensor([0, 0]), x[:2].clone()),),
    "index_add_": lambda x: (x.index_add_(0, torch.tensor([0, 0]), x[:2].clone()),),
    "scatter_add": lambda x: (
        x.scatter_add(0, torch.zeros(2, 3, dtype=torch.long), x.clone()),
    ),
}


@pytest.mark.parametrize("name", HALVES)
def test_a_scattered_sum_of_halves_may_overflow_on_the_way(name: str) -> None:
    def build() -> list[torch.Tensor]:
        return [torch.tensor([[65504.0, 1, 3], [-INF, 2, 5]], dtype=torch.float16)]

    wanted = expected(HALVES[name], build)
    for value in (NAN, -INF):
        right = build()
        HALVES[name](*right)
        (other,) = HALVES[name](*build())
        other[0, 0] = value
        kept = [other] if name.endswith("_") else right
        assert compare(wanted, [other, *kept]) is None
    other[0, 1] += 1
    kept = [other] if name.endswith("_") else right
    assert compare(wanted, [other, *kept]) is not None


def test_a_quotient_of_halves_may_lose_its_fraction_before_it_is_rounded() -> None:
    def build() -> list[torch.Tensor]:
        x = torch.tensor([0.6015625, -0.5, -0.8984375], dtype=torch.bfloat16)
        return [x, torch.tensor([0.69921875, -0.10009765625, 0.3], dtype=x.dtype)]

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.div(x, y, rounding_mode="trunc"),)

    wanted = expected(function, build)
    for value in (4.0, 5.0):
        (other,) = function(*build())
        other[1] = value
        assert compare(wanted, [other, *build()]) is None
    other[0] = 1.0
    assert compare(wanted, [other, *build()]) is not None


@pytest.mark.parametrize("function", [torch.sinh, torch.cosh])
def test_vectors_of_integers_may_overflow_early(function: Function) -> None:
    def build() -> list[torch.Tensor]:
        return [torch.cat([torch.arange(85, 93), torch.zeros(192).long()])]

    wanted = expected(lambda x: (function(x),), build)
    exact = function(build()[0].double()).float()
    assert exact[4].isfinite() and exact[5].isinf()
    for value in (INF, float(exact[4])):
        other = exact.clone()
        other[4] = value
        assert compare(wanted, [other, *build()]) is None
    other[3] = INF
    assert compare(wanted, [other, *build()]) is not None


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_running_sums_of_equal_terms_may_be_of_blocks(dtype: torch.dtype) -> None:
    """One after another, all are rounded to the same side."""

    def build() -> list[torch.Tensor]:
        return [torch.full((2, 512), 0.001, dtype=dtype)]

    wanted = expected(lambda x: (x.cumsum(1),), build)
    exact = (torch.arange(1, 513).double() * build()[0][0, 0].double()).to(dtype)
    exact = exact.expand(2, 512).contiguous()
    assert compare(wanted, [exact, *build()]) is None
    assert compare(wanted, [exact.roll(1, 1), *build()]) is not None
    wrong = exact.clone()
    wrong[1, 300] *= 1 + 100 * 512 * torch.finfo(dtype).eps
    assert compare(wanted, [wrong, *build()]) is not None


def test_rows_of_halves_may_be_rounded_once() -> None:
    """Of a sum that cancels, digits are lost if each term is rounded."""

    def build() -> list[torch.Tensor]:
        x = torch.tensor([[2048.0, 3.0], [0.5, 1.0], [-2048.0, 5.0]])
        return [x.to(torch.float16)]

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        index = torch.zeros(3, dtype=torch.long)
        return (torch.ops.aten.embedding_dense_backward(x, index, 2, 1, False),)

    wanted = expected(function, build)
    (right,) = function(*build())
    for value in (0.0, 0.5):
        other = right.clone()
        other[0, 0] = value
        assert compare(wanted, [other, *build()]) is None
    other[0, 1] = 10.0
    assert compare(wanted, [other, *build()]) is not None


def test_the_largest_number_overflows_in_some_runs_only() -> None:
    def build() -> list[torch.Tensor]:
        most = torch.finfo(torch.bfloat16).max
        return [torch.tensor([most, -INF, 1.0], dtype=torch.bfloat16)]

    wanted = expected(lambda x: ((x * 1).expand(3, 3).sum((1, 0)),), build)
    for value in (NAN, -INF):
        other = torch.tensor(value, dtype=torch.bfloat16)
        assert compare(wanted, [other, *build()]) is None
