"""Forward and backward pass of a step on a GPU as one CUDA graph.

A step is some hundred launches, which take the host longer than the GPU. The optimizer
stays outside: it works on the same parameters and gradients, and a change of the base
keeps its storage, so the graph stays valid.
"""

import torch
from torch import Tensor

from manifolds.tasks import Batch, Task

from .network import Network


class RecordedPass:
    """A graph for batches of one shape, which leaves gradients in the parameters.

    Law: outputs, loss and gradients are those of the same pass without a graph.

    Args:
        network: On a GPU. Its gradients must not be replaced afterwards.
        task: Gives the loss.
        example: A batch on the CPU, without a mask; all batches have its shape.

    Example:
        >>> RecordedPass.serves("cpu", Batch(torch.zeros(1), torch.zeros(1)))
        False
    """

    def __init__(self, network: Network, task: Task, example: Batch) -> None:
        device = next(network.parameters()).device
        self.batch = example.to(device)
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            task.loss(network(self.batch.inputs), self.batch).backward()
        torch.cuda.current_stream(device).wait_stream(side)
        for parameter in network.parameters():
            parameter.grad = None
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = network(self.batch.inputs)
            self.loss = task.loss(self.outputs, self.batch)
            self.loss.backward()

    @staticmethod
    def serves(device: str, batch: Batch) -> bool:
        """Tell whether a pass can be recorded.

        Args:
            device: Of the run.
            batch: The first one.
        """
        return device.startswith("cuda") and batch.mask is None

    def fits(self, batch: Batch) -> bool:
        """Tell whether a batch has the shape of the recorded ones."""
        return batch.mask is None and batch.inputs.shape == self.batch.inputs.shape

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return outputs and loss, which the next call overwrites.

        Args:
            batch: On the CPU.
        """
        self.batch.inputs.copy_(batch.inputs)
        self.batch.targets.copy_(batch.targets)
        self.graph.replay()
        return self.outputs.detach(), self.loss.detach()
