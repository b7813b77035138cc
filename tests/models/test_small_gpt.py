"""A small character model, trained compiled and in eager mode side by side."""

import pytest

from benchmarks.gpt_curve import BOUND, Setup, compared, furthest, losses


def test_what_is_compared_can_fail() -> None:
    assert furthest([(1.0, 1.0), (1.02, 1.0), (0.99, 1.0)]) == pytest.approx(0.02)
    even = [(1.0 + 0.01 * (-1) ** n, 1.0) for n in range(30)]
    assert compared(even).holds
    assert not compared([(mine + 0.05, other) for mine, other in even]).holds
    # a difference that noise hides is no agreement
    assert not compared([(1.0 + 0.5 * (-1) ** n, 1.0) for n in range(30)]).holds


@pytest.mark.slow
def test_the_loss_is_eager_modes_at_every_step() -> None:
    pairs = list(losses(Setup(dropout=0.0)))
    assert furthest(pairs) < BOUND
    assert pairs[-1][0] < 0.75 * pairs[0][0]


@pytest.mark.slow
def test_with_dropout_the_loss_is_statistically_eager_modes() -> None:
    pairs = list(losses(Setup(dropout=0.1)))
    assert compared(pairs).holds, compared(pairs)
