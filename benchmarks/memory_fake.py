"""Peak memory of training steps by eager mode, Inductor and ours, without a GPU.

    python benchmarks/memory_fake.py --json benchmarks/results/memory_fake.json

Forward and backward under bfloat16 autocast run with tensors that have no data, on a
CUDA device that is not there (``fake_cuda.py``, ``pretended_gpu.py``): wrappers
allocate and free as on a GPU, kernels do nothing. Storages alive beyond weights and
batch are summed whenever one is made. What a library takes while it runs is not counted
and nothing is rounded to an allocator's blocks. Attention is flash attention.
"""

import argparse
import contextlib
import importlib.metadata
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from benchmarks import traffic_fake as traffic
from benchmarks import training_models as models
from benchmarks.pretended_gpu import inductor_launches

WAYS = ("eager", "inductor", "tilewright")


class Ledger:
    """Storages that were made and are alive.

    Attributes:
        peak: Most bytes alive at once since the last ``start``.
        alive: What was alive then: bytes, shape, type, line that made it, number.
    """

    def __init__(self) -> None:
        self.peak, self.alive = 0, list[tuple[int, Any, str, str, int]]()
        self._on, self._now, self._count = False, 0, 0
        self._held: dict[int, tuple[StorageWeakRef, tuple[Any, ...]]] = {}
        self._before: set[int] = set()

    def start(self, known: list[torch.Tensor]) -> None:
        """Forget; storages of these tensors are not counted."""
        self._before = {t.untyped_storage()._cdata for t in known}
        self._on, self._now, self.peak, self._held = True, 0, 0, {}

    def stop(self) -> None:
        """Count no more."""
        self._on = False
        self._held = {}

    def seen(self, result: Any) -> None:
        """Take note of an operator's results."""
        if not self._on:
            return
        fresh = False
        for tensor in tree_leaves(result):
            if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cuda":
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata
            old = self._held.get(key)
            if key in self._before or (old is not None and not old[0].expired()):
                continue
            size = int(storage.nbytes())
            if old is not None:
                self._now -= old[1][0]
            kind = str(tensor.dtype).removeprefix("torch.")
            self._count += 1
            facts = size, tuple(tensor.shape), kind, _place(), self._count
            self._held[key] = StorageWeakRef(storage), facts
            self._now += size
            fresh = True
        if fresh and self._now > self.peak:
            self._sweep()
            if self._now > self.peak:
                self.peak = self._now
                self.alive = [facts for _, facts in self._held.values()]

    def _sweep(self) -> None:
        for key, (reference, facts) in list(self._held.items()):
            if reference.expired():
                self._now -= facts[0]
                del self._held[key]


def _place() -> str:
    """Return the innermost line of a wrapper."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if "<tilewright" in file or "torchinductor" in file:
            return f"{Path(file).name[-24:]}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    assert not enable_gqa
    half = [t.to(torch.bfloat16) for t in (q, k, v)]
    if attn_mask is not None:
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention.default
        bias = attn_mask.expand(*q.shape[:-1], k.shape[-2]).to(torch.bfloat16)
        out: torch.Tensor = efficient(
            *half, bias, True, dropout_p, is_causal, scale=scale
        )[0]
        return out
    flash = torch.ops.aten._scaled_dot_product_flash_attention.default
    found: torch.Tensor = flash(*half, dropout_p, is_causal, scale=scale)[0]
    return found


@contextlib.contextmanager
def _ours() -> Iterator[None]:
    """Let our kernels do nothing, and read none from a cache."""
    from compiler import torch_api
    from compiler.frontend.graph_cache import Place
    from compiler.runtime import wrapper

    def built(kernels: Any, *_: Any) -> dict[str, Any]:
        return {kernel.name: _Idle(kernel) for kernel in kernels}

    view = torch._C._dynamo.guards._reinterpret_tensor  # type: ignore[attr-defined]
    with (
        mock.patch("compiler.frontend.graph.build_kernels", built),
        mock.patch.object(Place, "find", lambda *_: None),
        mock.patch.object(Place, "store", lambda *_: None),
        mock.patch.dict(wrapper.RUNTIME, reinterpret_tensor=view),
        mock.patch.object(torch_api, "reinterpret_tensor", view),
        mock.patch("compiler.frontend.capture.warm_up", lambda _: None),
    ):
        yield


class _Idle:
    source = ""
    symbols = ()

    def __init__(self, kernel: Any) -> None:
        self.parameters = tuple(kernel.buffers)

    def __call__(self, *_: Any) -> None:
        pass


def peak(name: str, way: str) -> Ledger:
    """Return the ledger of a model's second training step."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    ledger = Ledger()
    plain = FakeTensorMode.dispatch

    depth = 0

    def dispatch(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            result = plain(self, *args, **kwargs)
        finally:
            depth -= 1
        if not depth:  # what a fake operator is made of is not there on a GPU
            ledger.seen(result)
        return result

    torch._dynamo.reset()
    with torch.device("meta"):
        model = traffic.model_of(name).train()
    with (
        inductor_launches(lambda *_, **__: None),
        _ours(),
        mock.patch.object(FakeTensorMode, "dispatch", dispatch),
        mock.patch.object(
            torch.nn.functional, "scaled_dot_product_attention", _attention
        ),
        torch.device("cuda"),
    ):
        fake_cuda._without_data(model, "cuda")
        batch = traffic.batch_of(name)
        step: Any = model
        if way == "inductor":
            step = torch.compile(model, backend="inductor")
        elif way == "tilewright":
            from tilewright.backend import compile as ours

            step = torch.compile(model, backend=ours, options={"fallback": False})
        known = [*model.parameters(), *model.buffers(), *batch.values()]
        for number in range(2):
            model.zero_grad(set_to_none=True)
            if number:
                ledger.start(known)
            with torch.autocast("cuda", torch.bfloat16):
                loss = step(**batch)
            loss.backward()
            del loss
        ledger.stop()
    return ledger


def show(ledger: Ledger) -> None:
    """Print what is alive at the peak, by size, type and the half that made it."""
    groups: dict[tuple[int, str, str], list[Any]] = {}
    for size, shape, kind, place, _ in ledger.alive:
        half = next((h for h in ("forward", "backward") if h in place), "")
        groups.setdefault((size, kind, half), []).append(shape)
    for (size, kind, half), shapes in sorted(
        groups.items(), key=lambda group: -group[0][0] * len(group[1])
    ):
        if size * len(shapes) > ledger.peak / 500:
            megabytes = size * len(shapes) / 2**20
            print(f"  {megabytes:8.1f} MB, {len(shapes)} x {kind} {shapes[0]} {half}")


def main() -> int:
    """Count, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS)
    parser.add_argument("--layers", type=int, help="of equal ones; default: all")
    parser.add_argument("--show", action="store_true", help="what is alive at the peak")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    traffic.LAYERS = chosen.layers or traffic.LAYERS
    if chosen.layers is None:
        traffic._DEPTH.clear()
    facts: dict[str, Any] = {"versions": {}, "models": {}}
    if chosen.json and chosen.json.exists():
        facts = json.loads(chosen.json.read_text())
    for package in ("torch", "triton", "transformers", "timm"):
        facts["versions"][package] = importlib.metadata.version(package)
    for name in (name for name in models.NAMES if chosen.only in name):
        row: dict[str, float] = {}
        started = time.monotonic()
        for way in chosen.ways:
            ledger = peak(name, way)
            row[f"{way}_peak_mb"] = round(ledger.peak / 2**20, 1)
            if chosen.show:
                print(name, way)
                show(ledger)
        if {"inductor", "tilewright"} <= set(chosen.ways):
            ratio = row["tilewright_peak_mb"] / row["inductor_peak_mb"]
            row["over_inductor"] = round(ratio, 4)
        print(f"{name:14} {row} {time.monotonic() - started:.0f} s", flush=True)
        facts["models"][name] = row
        rows = facts["models"].values()
        ratios = [row["over_inductor"] for row in rows if "over_inductor" in row]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            facts["over_inductor"] = round(mean, 4)
        if chosen.json:
            chosen.json.write_text(json.dumps(facts, indent=1) + "\n")
    print("geometric mean over Inductor's", facts.get("over_inductor"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
