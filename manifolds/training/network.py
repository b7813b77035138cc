"""The network of a run: a recurrent layer and a linear head."""

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer, RMSprop

from manifolds.rebase import rebase_after_steps, trivializations
from manifolds.recurrent import ExpRNN, parameter_groups
from manifolds.tasks import Task

from .settings import Settings


class Network(nn.Module):
    """A recurrent layer and a head, for all steps or for the last one.

    The head starts with Kaiming-normal weights and bias zero, as in the paper.

    Args:
        settings: Model, size and hyper-parameters.
        task: Sizes of inputs and outputs.

    Example:
        >>> from manifolds.tasks import Copying
        >>> network = Network(Settings(hidden=8), Copying(5))
        >>> network(torch.zeros(25, 3, dtype=torch.int64)).shape
        torch.Size([25, 3, 9])
    """

    def __init__(self, settings: Settings, task: Task) -> None:
        super().__init__()
        self.every_step = task.every_step
        self.input_size = task.input_size
        size = settings.size
        self.rnn: nn.Module
        if settings.model == "lstm":
            self.rnn = nn.LSTM(task.input_size, size)
        elif settings.model == "rnn":
            self.rnn = nn.RNN(task.input_size, size)
        else:
            self.rnn = ExpRNN(
                task.input_size,
                size,
                map=settings.map,
                every=settings.period,
                init=settings.defaults.init,
                project_every=settings.defaults.project_every,
            )
        self.head = nn.Linear(size, task.output_size)
        nn.init.kaiming_normal_(self.head.weight, nonlinearity="relu")
        nn.init.zeros_(self.head.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits or predictions.

        Args:
            inputs: [time, batch, features], or integers [time, batch].

        Returns:
            [time, batch, output_size], or of the last step [batch, output_size].
        """
        if not inputs.is_floating_point() and not isinstance(self.rnn, ExpRNN):
            inputs = nn.functional.one_hot(inputs, self.input_size).float()
        states = self.rnn(inputs)[0]
        outputs: Tensor = self.head(states if self.every_step else states[-1])
        return outputs

    @torch.no_grad()
    def defect(self) -> float:
        """Return how far the recurrent weights are from their manifolds; 0 if free."""
        defects = [
            float(each.manifold.defect(each(*parameters)))
            for each, parameters in trivializations(self)
        ]
        return max(defects, default=0.0)


def make_optimizers(settings: Settings, network: Network) -> list[Optimizer]:
    """Return RMSprop for all, or Adam for the plain parameters on TIMIT.

    The one that holds the recurrent weight also moves its base.

    Args:
        settings: Learning rates and task.
        network: To be trained.

    Returns:
        One or two optimizers; step them all.

    Example:
        >>> from manifolds.tasks import Copying
        >>> settings = Settings(hidden=8)
        >>> network = Network(settings, Copying(5))
        >>> (optimizer,) = make_optimizers(settings, network)
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.0002, 2e-05]
    """
    groups = parameter_groups(network, settings.rate, settings.manifold_lr)
    groups = [group for group in groups if group["params"]]
    optimizers: list[Optimizer]
    if settings.task == "timit":
        optimizers = [Adam(groups[:1]), *(RMSprop([group]) for group in groups[1:])]
    else:
        optimizers = [RMSprop(groups)]
    rebase_after_steps(optimizers[-1], network)
    return optimizers
