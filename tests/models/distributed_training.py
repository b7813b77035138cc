"""Train a small transformer on two processes and, beside it, on one in eager mode.

Started by torchrun with ``ddp`` or ``fsdp``; rank 0 prints the largest relative
difference of the loss.
"""

import copy
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

STEPS = 50


def make() -> torch.nn.Sequential:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return torch.nn.Sequential(layer, torch.nn.Linear(16, 8))


def spread(model: torch.nn.Sequential, kind: str) -> torch.nn.Module:
    if kind == "ddp":
        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for module in (model[0], model):
        fully_shard(module, mesh=mesh)
    return model


def main(kind: str) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank, count = dist.get_rank(), dist.get_world_size()
    model = make()
    twin = copy.deepcopy(model)
    wrapped = spread(model, kind)
    compiled = torch.compile(wrapped, backend="tilewright")
    ours = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    theirs = torch.optim.SGD(twin.parameters(), lr=0.1)
    worst = 0.0
    for step in range(STEPS):
        x = torch.randn(4, 6, 16, generator=torch.Generator().manual_seed(step))
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
        print(worst, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
    # A thread of gloo may still hold a tensor of the last reduction; were it to drop it
    # while the interpreter ends, the process would abort.  So end without that phase.
    os._exit(0)
