from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
)

from manifolds import rebase_after_steps
from manifolds.charts import SO, skew
from manifolds.errors import ShapeError
from manifolds.recurrent import ExpRNN, modrelu, parameter_groups
from manifolds.recurrent.layer import add_batch, last_rows


def by_cells(rnn: ExpRNN, x: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
    lasts = []
    for k, cell in enumerate(rnn.cells):
        state = None if h is None else h[k]
        states = []
        for step in x:
            state = cell(step, state)
            states.append(state)
        assert state is not None
        x = torch.stack(states)
        lasts.append(state)
    return x, torch.stack(lasts)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_layers_are_loops_over_cells(dtype: torch.dtype, layers: int) -> None:
    rnn = ExpRNN(3, 4, layers, dtype=dtype)
    x = torch.randn(6, 2, 3, dtype=torch.float64)
    h = torch.randn(layers, 2, 4, dtype=dtype)
    for start in (None, h):
        found, expected = rnn(x, start), by_cells(rnn, x, start)
        torch.testing.assert_close(found, expected)
        to_found = torch.autograd.grad(found[0].abs().sum(), list(rnn.parameters()))
        to_expected = torch.autograd.grad(
            expected[0].abs().sum(), list(rnn.parameters())
        )
        torch.testing.assert_close(to_found, to_expected, rtol=1e-7, atol=1e-7)


def test_shapes_are_those_of_torchs_rnn() -> None:
    ours, theirs = ExpRNN(3, 4, 2), torch.nn.RNN(3, 4, 2)
    first = ExpRNN(3, 4, 2, batch_first=True)
    first.load_state_dict(ours.state_dict())
    for x in (torch.randn(6, 5, 3), torch.randn(6, 3), torch.randn(1, 1, 3)):
        found, expected = ours(x), theirs(x)
        assert [t.shape for t in found] == [t.shape for t in expected]
    x = torch.randn(6, 5, 3)
    states, last = first(x.transpose(0, 1))
    torch.testing.assert_close(states.transpose(0, 1), ours(x)[0])
    torch.testing.assert_close(last, ours(x)[1])
    h = torch.randn(2, 4)
    torch.testing.assert_close(
        ours(x[:, 0], h)[0], ours(x[:, :1], h.unsqueeze(1))[0][:, 0]
    )


def test_an_empty_batch_has_empty_states() -> None:
    layer = ExpRNN(3, 4)
    states, last = layer(torch.zeros(5, 0, 3))
    assert states.shape == (5, 0, 4) and last.shape == (1, 0, 4)


def test_integers_are_one_hot() -> None:
    rnn = ExpRNN(5, 4, 2)
    x = torch.randint(5, (7, 2))
    one_hot = torch.nn.functional.one_hot(x, 5).float()
    torch.testing.assert_close(rnn(x), rnn(one_hot))
    assert rnn(x[:, 0])[0].shape == (7, 4)


@pytest.mark.parametrize("sort", [True, False])
def test_packed_sequences_are_their_sequences(sort: bool) -> None:
    rnn = ExpRNN(3, 4, 2).double()
    lengths = [5, 3, 3, 1] if sort else [3, 5, 1, 3]
    sequences = [torch.randn(n, 3, dtype=torch.float64) for n in lengths]
    h = torch.randn(2, 4, 4, dtype=torch.float64)
    packed = pack_sequence(sequences, enforce_sorted=sort)
    states, last = rnn(packed, h)
    assert isinstance(states, PackedSequence)
    padded, found_lengths = pad_packed_sequence(states)
    assert found_lengths.tolist() == lengths
    for i, sequence in enumerate(sequences):
        alone, alone_last = rnn(sequence, h[:, i])
        torch.testing.assert_close(padded[: lengths[i], i], alone)
        torch.testing.assert_close(last[:, i], alone_last)


def test_packed_and_padded_agree_on_equal_lengths() -> None:
    rnn = ExpRNN(3, 4, batch_first=True)
    x = torch.randn(2, 6, 3)
    packed = pack_padded_sequence(x, [6, 6], batch_first=True)
    states, last = rnn(packed)
    padded, _ = pad_packed_sequence(states, batch_first=True)
    torch.testing.assert_close(padded, rnn(x)[0])
    torch.testing.assert_close(last, rnn(x)[1])


def test_static_training_is_exprnn() -> None:
    """Against the loop with B = exp(A), the same optimizer on plain tensors."""
    rnn = ExpRNN(2, 6).double()
    cell = rnn.cells[0]
    plain = [p.detach().clone().requires_grad_() for p in rnn.parameters()]
    kernel, bias, free = plain
    x = torch.randn(5, 3, 2, dtype=torch.float64)
    ours = torch.optim.RMSprop(parameter_groups(rnn, 1e-2))
    rebase_after_steps(ours, rnn)
    theirs = torch.optim.RMSprop(
        [{"params": [kernel, bias], "lr": 1e-2}, {"params": [free], "lr": 1e-3}]
    )
    for _ in range(10):
        ours.zero_grad()
        rnn(x)[0].square().mean().backward()
        ours.step()
        theirs.zero_grad()
        b = torch.matrix_exp(skew(free))
        h, states = torch.zeros(3, 6, dtype=torch.float64), []
        for step in x:
            h = modrelu(step @ kernel + h @ b, bias)
            states.append(h)
        torch.stack(states).square().mean().backward()
        theirs.step()
        torch.testing.assert_close(
            cell.recurrent, torch.matrix_exp(skew(free)), rtol=0, atol=1e-11
        )


def test_dynamic_training_stays_orthogonal() -> None:
    rnn: Any = ExpRNN(2, 8, every=2)
    optimizer = torch.optim.Adam(parameter_groups(rnn, 1e-2))
    rebase_after_steps(optimizer, rnn)
    x = torch.randn(10, 3, 2)
    for _ in range(10):
        optimizer.zero_grad()
        rnn(x)[0].square().mean().backward()
        optimizer.step()
    assert SO().in_manifold(rnn.cells[0].recurrent)


def test_autocast_does_not_reach_the_recurrence() -> None:
    rnn: Any = ExpRNN(3, 16)
    x = torch.randn(50, 2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states, _ = rnn(x)
        states.square().sum().backward()
    assert states.dtype == torch.float32
    with torch.no_grad():
        rnn.cells[0].kernel.copy_(torch.zeros(3, 16))
    start = torch.randn(1, 2, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = rnn(x, start)[0]
    torch.testing.assert_close(inside, rnn(x, start)[0])


def test_groups() -> None:
    model = torch.nn.Sequential(ExpRNN(2, 4), torch.nn.Linear(4, 1))
    plain, slow = parameter_groups(model, 1.0)
    assert (len(plain["params"]), len(slow["params"])) == (4, 1)
    assert slow["lr"] == 0.1
    assert parameter_groups(model, 1.0, 0.5)[1]["lr"] == 0.5


def test_mistakes_are_named() -> None:
    with pytest.raises(ShapeError, match="num_layers=0"):
        ExpRNN(2, 4, 0)
    rnn = ExpRNN(2, 4)
    with pytest.raises(ShapeError, match=r"x\.shape=\(2,\)"):
        rnn(torch.zeros(2))
    with pytest.raises(ShapeError, match=r"h\.shape=\(1, 4\)"):
        rnn(torch.zeros(5, 3, 2), torch.zeros(1, 4))
    with pytest.raises(ShapeError, match="time=0"):
        rnn(torch.zeros(0, 3, 2))
    with pytest.raises(ShapeError, match=r"h\.shape=\(1, 1, 4\)"):
        add_batch(torch.zeros(1, 1, 4))
    assert add_batch(None) is None


@pytest.mark.parametrize(
    ("sizes", "rows"), [([2, 2], [2, 3]), ([3, 1], [3, 1, 2]), ([1], [0])]
)
def test_last_rows(sizes: list[int], rows: list[int]) -> None:
    assert last_rows(sizes) == rows
