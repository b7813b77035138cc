"""The training step of the copying task without our kernels, as a user would write it.

The recurrent weight is computed once a step (torch.matrix_exp of a skew matrix), inputs
are projected and outputs read by one product each, and the recurrence is a loop. Run as
a program, this compiles the step and writes its time:

    python benchmarks/manifolds_baselines.py LENGTH RESULT GO

It compiles, waits until the file GO is there, and writes RESULT.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

SIZE, BATCH, CLASSES = 190, 128, 10


def training_data(length: int, device: str = "cuda") -> tuple[Tensor, Tensor]:
    """Return inputs and targets of the copying task [length + 20, batch]."""
    symbols = torch.randint(1, 9, (10, BATCH), device=device)
    inputs = torch.zeros(length + 20, BATCH, dtype=torch.int64, device=device)
    inputs[:10] = symbols
    inputs[length + 10] = 9
    targets = torch.zeros_like(inputs)
    targets[-10:] = symbols
    return inputs, targets


class Hoisted:
    """Eager code with all that can be moved out of the loop moved out."""

    def __init__(self, data: tuple[Tensor, Tensor], device: str = "cuda") -> None:
        """Draw the parameters."""
        inputs, self.targets = data
        self.inputs = nn.functional.one_hot(inputs, CLASSES).float()
        angles = (torch.rand(SIZE // 2, device=device) * 2 - 1) * math.pi
        skew = torch.zeros(SIZE, SIZE, device=device)
        even = torch.arange(0, SIZE, 2, device=device)
        skew[even, even + 1] = angles
        self.free = skew.requires_grad_()
        kernel = torch.randn(CLASSES, SIZE, device=device) * math.sqrt(2 / CLASSES)
        self.kernel = kernel.requires_grad_()
        self.bias = torch.zeros(SIZE, device=device).uniform_(-0.01, 0.01)
        self.bias.requires_grad_()
        self.head = nn.Linear(SIZE, CLASSES - 1, device=device)
        self.start = torch.zeros(BATCH, SIZE, device=device)
        plain = [self.kernel, self.bias, *self.head.parameters()]
        groups: list[dict[str, Any]] = [
            {"params": plain},
            {"params": [self.free], "lr": 2e-5},
        ]
        self.optimizer = torch.optim.RMSprop(groups, lr=2e-4)

    def weight(self) -> Tensor:
        """Return the orthogonal weight."""
        upper = self.free.triu(1)
        return torch.matrix_exp(upper - upper.T)

    def loss(self, weight: Tensor) -> Tensor:
        """Return the loss of the recurrent network."""
        projected = self.inputs @ self.kernel
        h = self.start
        states = []
        for x in projected.unbind():
            z = torch.addmm(x, h, weight)
            h = z.sign() * torch.relu(z.abs() + self.bias)
            states.append(h)
        logits = self.head(torch.stack(states))
        return nn.functional.cross_entropy(logits.flatten(0, 1), self.targets.flatten())

    def step(self) -> None:
        """Take an optimizer step."""
        self.optimizer.zero_grad()
        self.loss(self.weight()).backward()
        self.optimizer.step()


class Graphed(Hoisted):
    """The same with the loop, the loss and their gradients in one CUDA graph."""

    def __init__(self, data: tuple[Tensor, Tensor]) -> None:
        """Capture the graph."""
        super().__init__(data)
        self.leaf = self.weight().detach().requires_grad_()
        self.leaves = [self.leaf, self.kernel, self.bias, *self.head.parameters()]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.autograd.grad(self.loss(self.leaf), self.leaves)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.gradients = torch.autograd.grad(self.loss(self.leaf), self.leaves)

    def step(self) -> None:
        """Take an optimizer step."""
        weight = self.weight()
        with torch.no_grad():
            self.leaf.copy_(weight)
        self.graph.replay()
        (self.free.grad,) = torch.autograd.grad(weight, self.free, self.gradients[0])
        for leaf, gradient in zip(self.leaves[1:], self.gradients[1:], strict=True):
            leaf.grad = gradient
        self.optimizer.step()


def main() -> None:
    """Compile the step; write its time when asked."""
    length, result, go = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    torch.manual_seed(0)
    hoisted = Hoisted(training_data(length))
    begin = time.perf_counter()
    step = torch.compile(lambda: hoisted.loss(hoisted.weight()))
    try:
        step().backward()
        torch.cuda.synchronize()
    except Exception as error:
        result.write_text(json.dumps({"failed": repr(error)[:300]}))
        return
    compiling = time.perf_counter() - begin
    while not go.exists():
        time.sleep(0.1)
    times = []
    for _ in range(7):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        hoisted.optimizer.zero_grad()
        step().backward()
        hoisted.optimizer.step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    times.sort()
    facts = {"ms": times[len(times) // 2], "compile_seconds": compiling}
    result.write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
