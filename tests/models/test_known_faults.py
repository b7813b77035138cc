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


def test_a_call_that_writes_and_returns_its_argument_189735(same: Same) -> None:
    @torch.library.custom_op("tilewright_tests::filled", mutates_args=("x",))
    def filled(x: torch.Tensor) -> None:
        x.fill_(3.0)

    def f(x: torch.Tensor) -> Any:
        y = x * 2
        shown = y[1:]
        filled(y)
        z = x.cumsum(0) + 1  # as many bytes as what the call wrote
        return shown.sum() + z, z

    same(f, torch.randn(6), graphs=None)


def test_all_rows_show_a_write_to_one_row_of_an_expanded_array_152425(
    same: Same,
) -> None:
    def f(x: torch.Tensor) -> Any:
        y = x.clone().expand(3, 4)
        y[1] = 7
        y[2, :2].mul_(2)
        return y.sum(0), y + 1

    same(f, torch.randn(4), exact=True)


def test_an_update_in_place_that_is_read_through_two_names_93497(same: Same) -> None:
    def f(x: torch.Tensor) -> Any:
        view = x[2:]
        before = view * 3
        x.add_(1)
        view.mul_(2)
        return before, x * view.sum(), view - x[:-2]

    same(f, torch.arange(20.0), exact=True)


def test_one_row_updated_twice_through_an_index_138908(same: Same) -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        x[[1, 1]] = x[[1, 1]] * 2 + 1
        x.index_add_(0, i, torch.ones(4, 3))
        return x

    same(f, torch.arange(12.0).view(4, 3), torch.tensor([2, 2, 2, 0]), exact=True)


def test_many_equal_indices_give_equal_bits_93537() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.zeros(7).index_put((i,), x, accumulate=True) + x.sum()

    torch_api.reset()
    compiled = torch.compile(
        f, backend="tilewright", options={"deterministic": True, "threads": 2}
    )
    x, i = torch.randn(200_000), torch.randint(0, 7, (200_000,))
    first = compiled(x, i)
    assert all(torch.equal(compiled(x, i), first) for _ in range(3))
    torch.testing.assert_close(first, f(x, i), rtol=1e-4, atol=1e-2)


def gradients_agree(
    f: Callable[..., torch.Tensor], *shapes: tuple[int, ...], equal: bool = False
) -> None:
    torch_api.reset()
    make = torch.ones if equal else torch.randn
    ours = [make(shape).requires_grad_() for shape in shapes]
    theirs = [t.detach().clone().requires_grad_() for t in ours]
    torch.compile(f, backend="tilewright")(*ours).square().sum().backward()
    f(*theirs).square().sum().backward()
    for mine, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, wanted.grad)


def test_gradient_of_a_scattered_diagonal_182012() -> None:
    gradients_agree(lambda x, d: x.diagonal_scatter(d.sin(), 1), (4, 5), (4,))


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@pytest.mark.parametrize("reduce", ["mean", "amax"])
def test_gradient_of_an_index_reduction_168358(reduce: str) -> None:
    i = torch.tensor([1, 1, 0])
    gradients_agree(
        lambda x, y: x.exp().index_reduce(0, i, y, reduce), (3, 4), (3, 4), equal=True
    )


@pytest.mark.parametrize("length", [1025, 2049])
def test_scans_just_over_blocks_2361(same: Same, length: int) -> None:
    same(lambda x: x.cumsum(0), torch.ones(length), exact=True)
    same(lambda x: x.flip(1).cumsum(1).flip(1), torch.ones(3, length), exact=True)


def test_seeds_beyond_32_bits_165545() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    torch_api.reset()
    compiled = torch.compile(f, backend="tilewright")
    seeds = (3, (7 << 32) + 4, (1 << 62) + 5, 3)
    masks, drawn = [], []
    for seed in seeds:
        torch.manual_seed(seed)
        masks.append(compiled(torch.ones(1001)))  # no multiple of four
        torch.manual_seed(seed)
        drawn.append(torch.rand(1001))
    # the CPU's generator has the low 32 bits of a seed: it decides which are equal
    for one, other in ((0, 1), (0, 2), (1, 2), (0, 3)):
        same = (masks[one] == masks[other]).float().mean().item()
        equal = torch.equal(drawn[one], drawn[other])
        assert same == 1.0 if equal else 0.4 < same < 0.6


def test_a_gradient_has_the_numbers_of_its_forward_half_141557() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x.exp(), 0.25) * torch.rand_like(x)

    torch_api.reset()
    x = torch.zeros(4001, requires_grad=True)
    result = torch.compile(f, backend="tilewright")(x)
    result.sum().backward()
    # d/dx of exp(x) * c is exp(x) * c
    torch.testing.assert_close(x.grad, result.detach())
    assert 0.2 < (result == 0).float().mean().item() < 0.3


def test_the_generator_advances_once_a_call() -> None:
    torch_api.reset()
    compiled = torch.compile(lambda x: x + torch.rand(5), backend="tilewright")
    runs = []
    for _ in range(2):
        torch.manual_seed(11)
        runs.append((compiled(torch.zeros(5)), torch.rand(3), compiled(torch.zeros(5))))
    for first, again in zip(*runs, strict=True):
        assert torch.equal(first, again)
    assert not torch.equal(runs[0][0], runs[0][2])
    torch.manual_seed(11)
    assert not torch.equal(runs[0][1], torch.rand(3))  # the call drew a seed


@pytest.mark.slow
def test_a_sweep_of_sizes_compiles_twice_106067() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 3:
            x = torch.cat([x, x * 2])
        return (x @ y).softmax(-1).sum(0)

    torch_api.reset()
    torch_api.forget_counts()
    compiled = torch.compile(f, backend="tilewright")
    y = torch.randn(4, 5)
    for rows in range(5, 25):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x, y), f(x, y))
    assert torch_api.captured_graphs() <= 2
