import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from compiler.errors import BuildError
from manifolds.charts import SO
from manifolds.recurrent import native
from manifolds.recurrent.loop import backward_loop, forward_loop
from manifolds.recurrent.native import (
    backward_native,
    forward_native,
    library,
    offsets,
    serves,
)

BOUNDS = {torch.float32: 3e-6, torch.float64: 1e-14}


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    dtype = draw(st.sampled_from((torch.float32, torch.float64)))
    n = draw(st.sampled_from((1, 2, 7, 15, 16, 17, 32, 33, 50)))
    steps = draw(st.lists(st.integers(1, 14), min_size=1, max_size=5))
    sizes = tuple(sorted(steps, reverse=True))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype, generator=generator)

    weight = SO().sample((n, n), dtype=dtype, generator=generator)
    data = (
        normal(sum(sizes), n),
        normal(sizes[0], n),
        weight,
        normal(n) / 2,
        normal(sum(sizes), n),
    )
    return data, sizes


def error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / (1 + expected.abs().max()))


@settings(max_examples=60)
@given(cases(), st.integers(1, 3))
def test_it_is_the_loop(
    case: tuple[tuple[Tensor, ...], tuple[int, ...]], threads: int
) -> None:
    (inputs, start, weight, bias, gradient), sizes = case
    torch.set_num_threads(threads)
    bound = BOUNDS[inputs.dtype]
    states = forward_loop(inputs, start, weight, bias, sizes)
    found = forward_native(inputs, start, weight, bias, sizes)
    assert error(found, states) < bound
    wanted = backward_loop(gradient, states, weight, bias, sizes)
    got = backward_native(gradient, states, weight, bias, sizes)
    assert all(error(x, y) < bound for x, y in zip(got, wanted, strict=True))


def test_strides_are_read() -> None:
    weight = SO().sample((20, 20)).T
    inputs = torch.randn(20, 6).T
    sizes = (2, 2, 2)
    data = inputs, torch.zeros(20, 2).T, weight, torch.zeros(40)[::2]
    torch.testing.assert_close(forward_native(*data, sizes), forward_loop(*data, sizes))


def test_a_sum_of_zero_gives_zero_whatever_the_bias() -> None:
    inputs, start = torch.zeros(2, 3), torch.zeros(1, 3)
    states = forward_native(inputs, start, torch.eye(3), torch.ones(3), (1, 1))
    assert not states.any()
    before, to_bias = backward_native(
        torch.ones(2, 3), states, torch.eye(3), torch.ones(3), (1, 1)
    )
    assert not before.any() and not to_bias.any()


def test_nan_reaches_its_sequence_and_no_other() -> None:
    inputs = torch.randn(6, 20)
    inputs[2, 3] = torch.nan
    weight, bias = SO().sample((20, 20)), torch.zeros(20)
    states = forward_native(inputs, torch.zeros(2, 20), weight, bias, (2, 2, 2))
    assert states[2, 3].isnan() and states[4].isnan().all()
    assert not states[[0, 1, 3, 5]].isnan().any()
    before, _ = backward_native(torch.ones(6, 20), states, weight, bias, (2, 2, 2))
    assert before[4].isnan().all() and not before[[1, 3, 5]].isnan().any()


def test_no_step_at_all() -> None:
    nothing = torch.zeros(0, 3)
    states = forward_native(nothing, nothing, torch.eye(3), torch.zeros(3), ())
    assert states.shape == (0, 3)


def test_without_a_compiler_the_loop_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BuildError("no compiler", command="", output="")

    library.cache_clear()
    monkeypatch.setattr(native, "load_library", refuse)
    assert not serves(torch.zeros(1, 1))
    library.cache_clear()
    monkeypatch.undo()
    assert serves(torch.zeros(1, 1))


def test_complex_numbers_are_left_to_the_loop() -> None:
    assert not serves(torch.zeros(1, 1, dtype=torch.complex64))


def test_offsets() -> None:
    assert list(offsets((3, 3, 1))) == [0, 3, 6, 7]
