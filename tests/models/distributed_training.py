"""Train a small transformer on two processes and, beside it, on one in eager mode.

Started by torchrun with ``ddp`` or ``fsdp``; rank 0 prints how many graphs were
compiled and the largest relative difference of the loss. The gradients do not fit into
one bucket of DDP's, so that several graphs are made of one.
"""

import copy
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, fx
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tilewright import backend

STEPS = 50
WIDTH = 160


class Block(torch.nn.Module):
    """A layer of a transformer; Dynamo looks into no frame of torch's own modules."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(
            WIDTH, 2, 2 * WIDTH, dropout=0.0, batch_first=True
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(3))
        self.head = torch.nn.Linear(WIDTH, 8)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.head(x)
        return out


def make() -> Small:
    torch.manual_seed(0)
    return Small()


def spread(model: Small, kind: str) -> torch.nn.Module:
    if kind == "ddp":
        return DistributedDataParallel(model, bucket_cap_mb=1)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for module in (*model.blocks, model):
        fully_shard(module, mesh=mesh)
    return model


def main(kind: str) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, count = dist.get_rank(), dist.get_world_size()
    model = make()
    twin = copy.deepcopy(model)
    wrapped = spread(model, kind)
    graphs = 0

    def counted(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        nonlocal graphs
        graphs += 1
        return backend.compile(graph, inputs)

    compiled = torch.compile(wrapped, backend=counted)
    ours = torch.optim.SGD(wrapped.parameters(), lr=0.01)
    theirs = torch.optim.SGD(twin.parameters(), lr=0.01)
    worst = 0.0
    for step in range(STEPS):
        x = torch.randn(4, 6, WIDTH, generator=torch.Generator().manual_seed(step))
        losses = []
        for run, optimizer, batch in (
            (compiled, ours, x.chunk(count)[rank]),
            (twin, theirs, x),
        ):
            loss = run(batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().clone())
        dist.all_reduce(losses[0])
        mine, wanted = losses[0].item() / count, losses[1].item()
        worst = max(worst, abs(mine - wanted) / wanted)
    if rank == 0:
        print(graphs, worst, flush=True)
    dist.barrier()
    # A thread of gloo may still hold a tensor of the last reduction, which it drops
    # when it gets Python's lock.  Were the reducer dropped first, with this function's
    # names, it would wait for that thread and keep the lock.  So end without that.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
