"""One rank of ``benchmarks/distributed.py``, started by torchrun."""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from benchmarks import turns
from benchmarks.training_models import Loss, batch_of, model_of

WAYS = ("eager", "inductor", "tilewright")
STEPS = 50
MEASURED = "measured steps"
KEPT: list[Any] = []
"""What trains. Were it dropped before the end, a reducer would wait for a thread of
gloo's that waits for Python's lock."""
ALPHABET = 100
SAVED = 5


class WideLoss(Loss):
    """The loss from scores in float32, as autocast takes it and sharding does not.

    A loss in bfloat16 is a multiple of 2**-6 here: nothing could be compared to 1e-3.
    """

    def __init__(self, model: nn.Module, causal: bool) -> None:
        super().__init__(model, True)
        self.causal = causal

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy [1]."""
        scores = self.model(input_ids=inputs).logits.float()
        if self.causal:
            scores, labels = scores[:, :-1], labels[:, 1:]
        return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())


class Trained:
    """A model spread over the ranks, compiled, with its optimizer.

    Attributes:
        device: ``"cuda"`` or ``"cpu"``.
        inner: The model before it was wrapped.
        ready: What is called with a batch.
        optimizer: AdamW.
    """

    def __init__(self, name: str, kind: str, way: str, device: str, tiny: bool) -> None:
        self.name, self.kind, self.device, self.tiny = name, kind, device, tiny
        model = model_of(name, tiny=tiny).model
        self.inner = WideLoss(model, causal=name != "bert-base").to(device)
        backend = None if way == "eager" else way
        if kind == "ddp":
            self.ready: Any = DistributedDataParallel(self.inner)
            if backend:
                self.ready = torch.compile(self.ready, backend=backend)
        else:
            self.ready = sharded(self.inner, backend, device)
        self.optimizer = torch.optim.AdamW(self.inner.parameters(), lr=1e-4)
        KEPT.append(self.ready)

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Return bfloat16 autocast, which sharding does by its own policy."""
        if self.kind == "fsdp":
            return contextlib.nullcontext()
        return torch.autocast(self.device, torch.bfloat16)

    def step(self, number: int) -> Tensor:
        """Train on this rank's batch of a step; return the loss."""
        seed = number * dist.get_world_size() + dist.get_rank()
        batch = batch_of(
            self.name, self.device, seed=seed, alphabet=ALPHABET, tiny=self.tiny
        )
        return self.train_on(*batch)

    def train_on(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Train on a batch; return the loss."""
        with self.autocast():
            loss: Tensor = self.ready(inputs, labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def mean_loss(self, number: int) -> float:
        """Train a step; return the mean loss over the ranks."""
        loss = self.step(number).float()
        dist.all_reduce(loss)
        return float(loss) / dist.get_world_size()


def sharded(model: Loss, backend: str | None, device: str) -> nn.Module:
    """Shard each block and the rest; each block is compiled."""
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32
    )
    for blocks in model.modules():
        if isinstance(blocks, nn.ModuleList) and len(blocks) > 1:
            for block in blocks:
                if backend:
                    block.compile(backend=backend)
                fully_shard(block, mesh=mesh, mp_policy=policy)
            break
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def synchronize(device: str) -> None:
    """Wait for the device."""
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(step: Callable[[], Any], device: str, count: int) -> float:
    """Return the mean time of a step, all ranks together [s]."""
    synchronize(device)
    dist.barrier()
    start = time.perf_counter()
    for _ in range(count):
        step()
    synchronize(device)
    return (time.perf_counter() - start) / count


def overlap(step: Callable[[], Any], device: str, trace: Path | None) -> dict[str, Any]:
    """Profile two steps; return the time of collectives and the part under compute.

    A step before them takes up how far apart the ranks start to profile.
    """
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        step()
        synchronize(device)
        dist.barrier()
        with torch.profiler.record_function(MEASURED):
            for _ in range(2):
                step()
            synchronize(device)
    if trace is not None:
        profile.export_chrome_trace(str(trace))
    spans: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    events = profile.events() or ()
    first = min(event.time_range.start for event in events if event.name == MEASURED)
    for event in events:
        on_device = event.device_type.name == "CUDA" and event.name != MEASURED
        if on_device and event.time_range.start >= first:
            collective = "nccl" in event.name.lower()
            spans[collective].append((event.time_range.start, event.time_range.end))
    compute = merged(spans[False])
    total = covered = 0.0
    for start, end in merged(spans[True]):
        total += end - start
        covered += sum(max(0.0, min(end, b) - max(start, a)) for a, b in compute)
    return {
        "collectives_ms": total / 2e3,
        "overlapped": covered / total if total else float("nan"),
    }


def merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the union of spans as disjoint spans."""
    result: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def train(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the losses, times and memory of the three ways."""
    device, rows = chosen.device, {way: dict[str, Any]() for way in WAYS}
    steps: dict[str, Callable[[], Any]] = {}
    losses: dict[str, list[float]] = {}
    timed = batch_of(chosen.model, device, alphabet=ALPHABET, tiny=chosen.tiny)
    for way in WAYS:
        with turns.beside():
            before = torch.cuda.memory_allocated() if device == "cuda" else 0
            trained = Trained(chosen.model, chosen.kind, way, device, chosen.tiny)
            start = time.perf_counter()
            losses[way] = [trained.mean_loss(0)]
            synchronize(device)
            rows[way]["compile_s"] = time.perf_counter() - start
            losses[way] += [trained.mean_loss(1)]
            if device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            losses[way] += [trained.mean_loss(n) for n in range(2, STEPS)]
            peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
            rows[way]["peak_mb"] = peak / 2**20
            rows[way]["first_loss"], rows[way]["last_loss"] = (
                losses[way][0],
                losses[way][-1],
            )
            rows[way]["worst_loss"] = max(
                abs(a - b) / abs(b)
                for a, b in zip(losses[way], losses["eager"], strict=True)
            )
            steps[way] = partial(trained.train_on, *timed)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    with turns.alone():
        for number in range(chosen.rounds):
            for way in WAYS if number % 2 else reversed(WAYS):
                times[way].append(seconds(steps[way], device, 5))
    for way in WAYS:
        rows[way]["step_ms"] = 1e3 * statistics.median(times[way])
        out = os.environ.get("OUT")
        keep = way == "tilewright" and dist.get_rank() == 0 < dist.get_world_size() - 1
        name = f"{chosen.model}_{chosen.kind}.json.gz"
        file = Path(out, name) if keep and out else None
        with turns.beside():
            rows[way] |= overlap(steps[way], device, file)
    return {"ways": rows}


def resume(chosen: argparse.Namespace) -> dict[str, Any]:
    """Train ten steps of ours, with a checkpoint after five; die or load if asked."""
    trained = Trained(
        chosen.model, chosen.kind, "tilewright", chosen.device, chosen.tiny
    )
    folder = chosen.folder / "checkpoint"
    model, optimizer = trained.inner, trained.optimizer
    first = 0
    if chosen.load:
        weights, moments = get_state_dict(model, optimizer)
        state: dict[str, Any] = {"weights": weights, "moments": moments}
        load(state, checkpoint_id=folder)
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["weights"],
            optim_state_dict=state["moments"],
        )
        first = SAVED
    losses = []
    for number in range(first, 2 * SAVED):
        if number == SAVED and not chosen.load:
            weights, moments = get_state_dict(model, optimizer)
            save({"weights": weights, "moments": moments}, checkpoint_id=folder)
        if number == chosen.die_at and dist.get_rank() == dist.get_world_size() - 1:
            os._exit(17)
        losses.append(trained.mean_loss(number))
    return {"losses": losses}


def main() -> None:
    """Join the others, do one task, and let rank 0 write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("train", "resume"))
    parser.add_argument("model")
    parser.add_argument("kind", choices=("ddp", "fsdp"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--die-at", type=int, default=-1)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if chosen.device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl")
    else:
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
    found = (train if chosen.task == "train" else resume)(chosen)
    if chosen.out and dist.get_rank() == 0:
        chosen.out.write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # A thread of gloo may still hold a tensor of the last reduction; were it to drop it
    # while the interpreter ends, the process would abort.  So end without that phase.
    sys.stdout.flush()
    os._exit(0)
