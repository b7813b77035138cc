"""expRNN over sequences, used like ``torch.nn.RNN``."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from manifolds.errors import ShapeError
from manifolds.trivialization import Trivialization

from .cell import ExpRNNCell
from .scan import scan


class ExpRNN(nn.Module):
    """Layers of expRNN cells, each run over whole sequences.

    Input projections of all steps are one product, B is computed once for a forward
    pass, and the recurrence is one operation with its own backward pass.

    Args:
        input_size: Elements of an input; the number of classes of integer inputs.
        hidden_size: n, elements of a state.
        num_layers: Cells stacked; each reads the states of the one before.
        batch_first: Whether sequences are [batch, time, ...].
        cell: Further arguments of ``ExpRNNCell``: map, every, init, project_every,
            dtype, device, generator.

    Raises:
        ShapeError: A size is not positive.

    Example:
        >>> rnn = ExpRNN(3, 8, every=100)
        >>> states, last = rnn(torch.ones(20, 5, 3))
        >>> states.shape, last.shape
        (torch.Size([20, 5, 8]), torch.Size([1, 5, 8]))

    Source: Lezcano-Casado, Martinez-Rubio, ICML 2019; Lezcano-Casado, NeurIPS 2019.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        batch_first: bool = False,
        **cell: Any,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ShapeError(
                f"at least one layer is needed, but num_layers={num_layers}",
                num_layers=num_layers,
            )
        self.batch_first = batch_first
        self.hidden_size = hidden_size
        self.cells = nn.ModuleList(
            ExpRNNCell(hidden_size if k else input_size, hidden_size, **cell)
            for k in range(num_layers)
        )

    def forward(
        self, x: Tensor | PackedSequence, h: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        """Return the states of the last layer at all steps, and the last of each layer.

        Args:
            x: [time, batch, input_size], or batch first; without a batch [time,
                input_size]; packed; or integers, without the last dim. A floating-point
                tensor of two dims and an integer one of one dim have no batch.
            h: States to start with [num_layers, batch, hidden_size], without the batch
                where x has none; zero by default.

        Returns:
            States shaped as the input; [num_layers, batch, hidden_size].

        Raises:
            ShapeError: An extent is wrong, or there is no step.
        """
        if isinstance(x, PackedSequence):
            return self._packed(x, h)
        features = int(x.is_floating_point() or x.is_complex())
        if x.dim() == 1 + features:
            states, last = self._padded(x.unsqueeze(1), add_batch(h))
            return states.squeeze(1), last.squeeze(1)
        if x.dim() != 2 + features:
            raise ShapeError(
                "a sequence [time, batch, features], or [time, batch] of integers, is "
                f"needed, but x.shape={tuple(x.shape)}, dtype={x.dtype}",
                shape=tuple(x.shape),
            )
        if not self.batch_first:
            return self._padded(x, h)
        states, last = self._padded(x.transpose(0, 1), h)
        return states.transpose(0, 1), last

    def _padded(self, x: Tensor, h: Tensor | None) -> tuple[Tensor, Tensor]:
        steps, batch = x.shape[:2]
        states, last = self._run(x.flatten(0, 1), [batch] * steps, batch, h)
        return states.view(steps, batch, self.hidden_size), last

    def _packed(
        self, x: PackedSequence, h: Tensor | None
    ) -> tuple[PackedSequence, Tensor]:
        sizes = x.batch_sizes.tolist()
        if h is not None and x.sorted_indices is not None:
            h = h[:, x.sorted_indices]
        states, last = self._run(x.data, sizes, sizes[0], h)
        if x.unsorted_indices is not None:
            last = last[:, x.unsorted_indices]
        packed = PackedSequence(
            states, x.batch_sizes, x.sorted_indices, x.unsorted_indices
        )
        return packed, last

    def _run(
        self, rows: Tensor, sizes: list[int], batch: int, h: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        if not sizes:
            raise ShapeError("at least one step is needed, but time=0", time=0)
        wanted = (len(self.cells), batch, self.hidden_size)
        if h is not None and h.shape != wanted:
            raise ShapeError(
                f"states h {wanted} are needed, but h.shape={tuple(h.shape)}",
                shape=tuple(h.shape),
            )
        equal = sizes[-1] == sizes[0]
        ends = slice(-batch, None) if equal else last_rows(sizes)
        lasts = []
        for k, cell in enumerate(self.cells):
            assert isinstance(cell, ExpRNNCell)
            projected = cell.project(rows)
            start = projected.new_zeros(wanted[1:]) if h is None else h[k]
            rows = scan(projected, start, cell.recurrent, cell.bias, sizes)
            lasts.append(rows[ends])
        return rows, torch.stack(lasts)


def add_batch(h: Tensor | None) -> Tensor | None:
    """Give states [layers, n] a batch of one.

    Raises:
        ShapeError: There is a batch already.

    Example:
        >>> add_batch(torch.zeros(1, 4)).shape
        torch.Size([1, 1, 4])
    """
    if h is None:
        return None
    if h.dim() != 2:
        raise ShapeError(
            "states h [layers, hidden_size] are needed for a sequence without a batch, "
            f"but h.shape={tuple(h.shape)}",
            shape=tuple(h.shape),
        )
    return h.unsqueeze(1)


def last_rows(sizes: list[int]) -> list[int]:
    """Return the packed row of the last step of each sequence, longest first.

    Args:
        sizes: Rows of each step, not increasing.

    Example:
        >>> last_rows([3, 3, 1])
        [6, 4, 5]
    """
    ends = [0] * sizes[0]
    first = 0
    for size in sizes:
        ends[:size] = range(first, first + size)
        first += size
    return ends


def parameter_groups(
    module: nn.Module, lr: float, manifold_lr: float | None = None
) -> list[dict[str, Any]]:
    """Sort parameters for an optimizer: those on manifolds learn more slowly.

    Args:
        module: Any.
        lr: Learning rate of the plain parameters.
        manifold_lr: Learning rate of trivialized ones; a tenth by default, as in the
            paper.

    Returns:
        Two groups, plain ones first.

    Example:
        >>> groups = parameter_groups(ExpRNN(2, 4), 1e-3)
        >>> [len(group["params"]) for group in groups]
        [2, 1]
    """
    constrained = {
        id(parameter)
        for child in module.modules()
        if isinstance(child, nn.utils.parametrize.ParametrizationList)
        and isinstance(child[0], Trivialization)
        for parameter in child.parameters(recurse=False)
    }
    plain = [p for p in module.parameters() if id(p) not in constrained]
    slow = [p for p in module.parameters() if id(p) in constrained]
    rate = lr / 10 if manifold_lr is None else manifold_lr
    return [{"params": plain, "lr": lr}, {"params": slow, "lr": rate}]
