import pytest
import torch

from compiler.runtime.extern import into, quick, settled, several

aten = torch.ops.aten


@pytest.mark.parametrize("target", [aten.mm.default, aten.matmul.default])
def test_quick_callables_do_the_same(target: torch._ops.OpOverload) -> None:
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    torch.testing.assert_close(quick(target)(a, b), target(a, b), rtol=0, atol=0)


def test_other_callables_stay() -> None:
    assert quick(several) is several


def test_promised_strides_are_kept() -> None:
    made = torch.randn(2, 3, 4)
    assert settled(made, (2, 3, 4), (12, 4, 1)) is made
    moved = settled(made, (2, 3, 4), (12, 1, 3))
    assert (
        moved is not None and moved.stride() == (12, 1, 3) and torch.equal(moved, made)
    )


def test_strides_of_single_elements_are_free() -> None:
    made = torch.randn(1, 3)
    assert settled(made, (1, 3), (99, 1)) is made


def test_what_an_operator_leaves_out_stays_out() -> None:
    """As the logsumexp of cuDNN's attention, which the fake operator returns."""
    assert settled(None, (2, 3), (3, 1)) is None


def test_another_shape_is_an_error() -> None:
    with pytest.raises(AssertionError):
        settled(torch.randn(2, 3), (3, 2), (2, 1))


def test_results_are_tuples() -> None:
    one = torch.ones(1)
    assert several(one) == (one,)
    assert several([one, one]) == (one, one)
    assert several({"x": one, "y": one}) == (one, one)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_results_are_written_between_gaps(dtype: torch.dtype) -> None:
    weight = torch.randn(5, 7, dtype=dtype, requires_grad=True)
    x, bias = torch.randn(2, 4, 5, dtype=dtype), torch.randn(7, dtype=dtype)
    batch = weight.detach().expand(2, 5, 7)
    for call, shape, args in (
        (torch.mm, (4, 7), (x[0], weight)),
        (torch.addmm, (4, 7), (bias, x[0], weight)),
        (torch.bmm, (2, 4, 7), (x, batch)),
    ):
        strides = (8, 1) if len(shape) == 2 else (32, 8, 1)
        storage = torch.full((64,), 9.0, dtype=dtype)
        made = storage.as_strided(shape, strides)
        assert into(call, made, *args) is made and not made.requires_grad
        torch.testing.assert_close(made, call(*args).detach())
        assert (storage.as_strided((4,), (8,), 7) == 9).all()
