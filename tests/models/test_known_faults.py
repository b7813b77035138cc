"""Small programs that compilers of PyTorch graphs have got wrong.

Each is written from a report of PyTorch's tracker, whose number its name ends with.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from compiler import torch_api

Same = Callable[..., Any]


def test_flip_after_repeat_interleave_with_dynamic_sizes_187027(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.flatten().repeat_interleave(3).flip(0)

    same(f, torch.arange(12.0).view(3, 4), dynamic=True, exact=True)


def test_floor_modulo_of_what_counts_down_119883(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        i = torch.arange(12)
        return x[(3 - i) % 5] + ((3 - i) // 5)

    same(f, torch.arange(5.0), exact=True)


def test_arange_times_a_constant_in_64_bits_175966(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.arange(7, dtype=torch.int64) * (2**30 + 1) + x

    same(f, torch.zeros(7, dtype=torch.int64), exact=True)


def test_output_strides_are_eagers_116433(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return (x + 1).view(-1, 1, 4), (x.T + 1), (x[:, ::2] * 2)

    same(f, torch.randn(6, 4))


@pytest.mark.parametrize("size", [(8, 16), (256, 300)])
def test_a_shift_in_place_197829(same: Same, size: tuple[int, int]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x[:, 1:] = x[:, :-1].clone()
        return x + 1

    same(f, torch.randn(size), exact=True)


def test_a_view_of_bits_before_a_write_198101(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        bits = x.view(torch.int32) * 2
        x[:2] = 0
        return bits

    same(f, torch.randn(6), exact=True)


def test_a_flip_of_a_dead_array_101950(same: Same) -> None:
    same(lambda x: (x * 2).flip(0).sin(), torch.randn(33))


def test_a_write_to_a_row_of_an_expanded_array_114302(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        y = x.clone().expand(3, 4).contiguous()
        y[1] = 7
        return y, y.sum(0)

    same(f, torch.randn(4), exact=True)


def test_gather_after_scatter_add_191571(same: Same) -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(4).index_add(0, i, x)
        return total[i] + x

    same(f, torch.arange(6.0), torch.tensor([1, 1, 1, 0, 3, 1]), exact=True)


def test_indexed_addition_with_equal_indices_174074(same: Same) -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        x[i] = x[i] + 1
        return x.index_put((i,), torch.ones(3), accumulate=True)

    same(f, torch.arange(4.0), torch.tensor([2, 2, 0]), exact=True)


def test_a_long_scan_of_integers_198208(same: Same) -> None:
    x = torch.randint(-9, 9, (100_003,))
    same(lambda x: x.cumsum(0), x, exact=True)


def test_argmax_over_a_transposed_view_183894(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        y = x.clone()
        y.mul_(2)
        return y.T.argmax(), y.T.argmin(), y.T.argmax(1)

    same(f, torch.randn(5, 7), exact=True)
    same(f, torch.zeros(5, 7), exact=True)


def test_ties_and_nan_in_argmax_114229(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return x.argmax(-1), x.argmin(-1), x.max(-1), x.min(-1), x.amax(-1)

    nan = float("nan")
    x = torch.tensor([[1, 3, 3, 0], [2, nan, 5, nan], [0, 0, 0, 0]])
    same(f, x, exact=True)


def test_bytes_do_not_widen_105264(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        return (x * 3).to(torch.int32), -x, x - 251, (x + 250).sum(), x // 7

    same(f, torch.arange(250, 256, dtype=torch.uint8), exact=True)


def test_any_of_bytes_and_ldexp_keep_eagers_types_198081_197091(same: Same) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.any(0), x.all(), torch.ldexp(y, x), torch.ldexp(x, x)

    same(f, torch.tensor([0, 2], dtype=torch.uint8), torch.randn(2), exact=True)


def test_floor_division_of_floats_197895(same: Same) -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> Any:
        return a // b, torch.remainder(a, b), torch.fmod(a, b)

    a = torch.tensor([1.0, -1.0, 7.5, 0.3, -0.0, float("inf")])
    same(f, a, torch.tensor([0.1, 0.1, -2.5, 0.1, 3.0, 2.0]), exact=True)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_an_explicit_round_trip_rounds_185337(same: Same, half: torch.dtype) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.to(half).to(torch.float32) == x

    same(f, torch.linspace(0, 1, 37), exact=True)


def test_a_comparison_after_half_arithmetic_195223(same: Same) -> None:
    def f(a: torch.Tensor, e: torch.Tensor) -> Any:
        return (a + e) == a, (a * e + a) > a

    a = torch.linspace(1, 3, 41, dtype=torch.bfloat16)
    same(f, a, torch.full_like(a, 0.002), exact=True)


def test_nan_in_clamp_and_extremes_93784(same: Same) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.clamp(0, 1), torch.maximum(x, y), torch.minimum(y, x), x.relu()

    nan = float("nan")
    x = torch.tensor([nan, 1.0, -0.0, 2.0])
    same(f, x, torch.tensor([1.0, nan, 0.0, nan]), exact=True)


def test_tails_do_not_write_over_the_end_196681(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.mean((2, 3))

    x = torch.randn(2, 34, 5, 7).to(memory_format=torch.channels_last)
    same(f, x)


def test_calls_agree_when_their_sizes_change_113875(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if (x.shape[0], 3) != (4, 3) else x + 100

    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright", dynamic=True)
    for rows in (3, 4, 5):
        x = torch.ones(rows, 3)
        torch.testing.assert_close(compiled(x), f(x))


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_out_of_range_is_eagers_error_183608(index: int) -> None:
    table = torch.randn(5, 3)

    def f(i: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(i, table) + 1

    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright")
    torch.testing.assert_close(compiled(torch.tensor([4, 0])), table[[4, 0]] + 1)
    with pytest.raises(IndexError) as caught:
        compiled(torch.tensor([index, 0]))
    assert "test_known_faults.py" in "".join(caught.value.__notes__)


def test_scatter_and_gather_out_of_range() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return x.gather(0, i) + torch.zeros(3).scatter_add(0, i, x)

    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright")
    x = torch.randn(3)
    good = torch.tensor([0, 2, 1])
    torch.testing.assert_close(compiled(x, good), f(x, good))
    for bad in (3, -1):
        with pytest.raises((IndexError, RuntimeError), match="index"):
            compiled(x, torch.tensor([0, bad, 1]))


def test_constants_that_are_not_finite_188225(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        nan, inf = float("nan"), float("inf")
        return (
            x + nan,
            x.clamp(max=inf),
            x.masked_fill(x > 0, -inf),
            x.new_full((), nan),
        )

    same(f, torch.randn(5), exact=True)


def test_gradient_of_a_maximum_with_ties_186799() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.amax(1).sum() + x.max(0).values.sum()

    torch_api.reset()
    ours, theirs = (torch.ones(3, 4, requires_grad=True) for _ in range(2))
    torch.compile(f, backend="tilewright")(ours).backward()
    f(theirs).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_two_norms_that_share_a_scale_193061() -> None:
    def f(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        norm = torch.nn.functional.layer_norm
        return norm(x, (16,), w) * norm(y, (16,), w)

    torch_api.reset()
    ours = [torch.randn(8, 16, requires_grad=True) for _ in range(2)]
    ours.append(torch.randn(16, requires_grad=True))
    theirs = [t.detach().clone().requires_grad_() for t in ours]
    torch.compile(f, backend="tilewright")(*ours).sum().backward()
    f(*theirs).sum().backward()
    for mine, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad, rtol=1e-4, atol=1e-5)


def test_attention_scores_from_a_permuted_key_195383(same: Same) -> None:
    def f(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return (q @ k.permute(1, 0, 3, 2) / 2).softmax(-1) @ v

    same(f, *(torch.randn(4, 4, 4, 4) for _ in range(3)))


def test_an_uneven_view_of_columns_172693(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x[:, ::2].reshape(-1, 2) + 1

    same(f, torch.arange(24.0).view(3, 8), dynamic=True, exact=True)


def test_storage_order_of_channels_last_174963(same: Same) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided(x.roll(1, 1), (4, 5), (3, 1), 2) * 2

    x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    same(f, x, exact=True)
