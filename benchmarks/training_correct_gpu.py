"""Do fourteen models of full size train rightly when compiled, on a GPU?

    python benchmarks/training_correct_gpu.py --commit HASH --deadline 230

Forward, backward and one step of AdamW, all compiled, against float64 on the same GPU.
Arithmetic is float32 without TF32: bfloat16's rounding is larger than most mistakes.
Allowed is an RMS error of three times eager mode's and 4 ulp of the size, for the loss,
gradients, changed weights and buffers, over all numbers and with each tensor scaled to
size 1. Models run in processes of their own, side by side on all GPUs, those first that
compile longest; nothing is timed.
"""

import argparse
import contextlib
import copy
import fcntl
import gc
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from benchmarks.models_correct import commit, graphs_of_dynamo, machine
from benchmarks.training_cases import CASES, TrainingCase, batch_of, model_of
from compiler import torch_api
from compiler.errors import FallbackWarning

RESULTS = ROOT / "benchmarks" / "results" / "models_training_gpu.json"
_ADAMW = {"lr": 1e-3, "eps": 1e-6, "weight_decay": 0.01}
_PIECES = 4
"""Of a batch whose rows do not depend on each other, in float64."""

Named = dict[str, Tensor]


@dataclass
class Row:
    """What was found about a model.

    Attributes:
        name: Of the model.
        right: Whether everything that was asked for holds.
        measures: What is compared -> RMS errors of ours, of eager mode, and allowed.
        numbers: In all its parameters.
        vanishing: Parameters whose gradient in float64 is below float32's rounding of
            the largest one: compared, but not when each tensor is scaled to size 1.
        graphs: Number that Dynamo captured of the model.
        dynamo_graphs: What it captures for a backend that compiles nothing; counted
            where ``graphs`` is not 1.
        step_graphs: Number that it captured of the optimizer's step.
        fallbacks: What warnings said was not compiled.
        faults: What is wrong, in words.
        seconds: What the first compiled step took, beside other processes [s].
        peak_gb: Most memory of the process on the GPU, the reference included [GB];
            None elsewhere.
    """

    name: str
    right: bool = False
    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    numbers: int = 0
    vanishing: list[str] = field(default_factory=list)
    graphs: int = 0
    dynamo_graphs: int | None = None
    step_graphs: int = 0
    fallbacks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float | None = None
    peak_gb: float | None = None


@dataclass
class Step:
    """What one training step leaves.

    Attributes:
        loss: Before the step.
        gradients: Of the parameters that have one.
        weights: Parameters after the step.
        buffers: Floating buffers after it.
    """

    loss: Tensor
    gradients: Named
    weights: Named
    buffers: Named

    def to(self, device: str) -> "Step":
        """Return it on a device."""
        moved = [
            {name: tensor.to(device) for name, tensor in part.items()}
            for part in (self.gradients, self.weights, self.buffers)
        ]
        return Step(self.loss.to(device), *moved)


class KeepFloat64(TorchFunctionMode):
    """Gives float64 where a model asks for float32."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Replace the type."""
        kwargs = dict(kwargs or {})
        if func is Tensor.float:
            return args[0].double()
        args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        if kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


def taken(
    model: nn.Module,
    batch: tuple[Named, Tensor],
    compiled: Callable[[Any], Any] = lambda function: function,
    pieces: int = 1,
) -> Step:
    """Take a training step.

    Args:
        model: Returns the loss of a batch; its parameters change.
        batch: Inputs and labels, where the model is.
        compiled: Compiles the model, and the optimizer's step.
        pieces: Takes the batch in so many pieces; the gradients are those of the whole.
    """
    inputs, labels = batch
    forward = compiled(model)
    loss = torch.zeros((), dtype=torch.float64, device=labels.device)
    for number in range(pieces):
        rows = slice(
            number * len(labels) // pieces, (number + 1) * len(labels) // pieces
        )
        part = {name: value[rows] for name, value in inputs.items()}
        share = forward(part, labels[rows])
        if pieces > 1:
            share = share * (len(labels[rows]) / len(labels))
        share.backward()
        loss += share.detach()
    gradients = {
        name: weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.grad is not None
    }
    settings: dict[str, Any] = {**_ADAMW, "capturable": labels.is_cuda}
    optimizer = torch.optim.AdamW(model.parameters(), **settings)
    compiled(optimizer.step)()
    buffers = {n: b for n, b in model.named_buffers() if b.is_floating_point()}
    weights = {n: w.detach() for n, w in model.named_parameters()}
    return Step(loss, gradients, weights, buffers)


def exact_step(model: nn.Module, batch: tuple[Named, Tensor], pieces: int) -> Step:
    """Take a step in float64; the model is changed to it."""
    inputs, labels = batch
    wide = {n: v.double() if v.is_floating_point() else v for n, v in inputs.items()}
    with KeepFloat64():
        return taken(model.double(), (wide, labels), pieces=pieces)


def compare(row: Row, ours: Step, eager: Step, exact: Step, before: Named) -> None:
    """Fill in errors, and what is wrong.

    Args:
        row: What is filled in.
        ours: Of the compiled model.
        eager: Of eager mode.
        exact: Of float64.
        before: Parameters before the step.
    """
    for what in ("gradients", "weights", "buffers"):
        _same_kinds(row, what, getattr(ours, what), getattr(eager, what))
    if row.faults:
        return
    steps = ours, eager, exact
    sizes = {name: _rms(gradient) for name, gradient in exact.gradients.items()}
    least = torch.finfo(torch.float32).eps * max(sizes.values(), default=0.0)
    row.numbers = sum(weight.numel() for weight in before.values())
    row.vanishing = sorted(name for name in before if not sizes.get(name, 0) > least)
    for name in row.vanishing:
        if before[name].dim() > 1:
            row.faults.append(f"nothing is tested: the gradient of {name} vanishes")
    loss = [{"loss": step.loss} for step in steps]
    gradients = [step.gradients for step in steps]
    changes = [
        {n: w.double() - before[n].double() for n, w in step.weights.items()}
        for step in steps
    ]
    buffers = [step.buffers for step in steps]
    for what, values in (
        ("loss", loss),
        ("gradients", gradients),
        ("changes", changes),
        ("buffers", buffers),
    ):
        whole, scaled = _measures(values, set(row.vanishing))
        if whole is not None:
            row.measures[what] = whole
        if what in ("gradients", "changes"):
            row.measures[f"{what}_scaled"] = scaled
    for what, measure in row.measures.items():
        if not measure["error"] <= measure["allowed"]:
            row.faults.append(
                f"{what}: error {measure['error']:.3g}, "
                f"allowed {measure['allowed']:.3g}, worst in {measure['worst']}"
            )


def _same_kinds(row: Row, what: str, ours: Named, eager: Named) -> None:
    if ours.keys() != eager.keys():
        row.faults.append(f"{what} of {sorted(ours.keys() ^ eager.keys())} differ")
        return
    for name, mine in ours.items():
        theirs = eager[name]
        if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
            row.faults.append(
                f"{what}: {name} is {mine.dtype} {tuple(mine.shape)}, in eager mode "
                f"{theirs.dtype} {tuple(theirs.shape)}"
            )
        elif mine.stride() != theirs.stride():
            row.faults.append(
                f"{what}: {name} has strides {mine.stride()}, in eager mode "
                f"{theirs.stride()}"
            )


def _rms(tensor: Tensor) -> float:
    return float(tensor.double().square().mean().sqrt()) if tensor.numel() else 0.0


def _measures(
    steps: Sequence[Named], leave_out: set[str]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return errors over all numbers, and with each tensor scaled to size 1."""
    ours, eager, exact = steps
    count, tensors = 0, 0
    whole, scaled = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    worst, worst_ratio = "", -1.0
    for name, right in exact.items():
        square = float(right.double().square().sum())
        errors = [
            float((step[name].double() - right.double()).square().sum())
            for step in (ours, eager)
        ]
        count += right.numel()
        whole = [total + s for total, s in zip(whole, (*errors, square), strict=True)]
        if name in leave_out or not square:
            continue
        tensors += 1
        ratios = [error / square for error in errors]
        scaled = [a + b for a, b in zip(scaled, (*ratios, 1.0), strict=True)]
        ratio = math.inf if math.isnan(ratios[0]) else ratios[0]
        if ratio > worst_ratio:
            worst, worst_ratio = name, ratio
    if not count:
        return None, {}
    return _measure(whole, count, worst), _measure(scaled, max(tensors, 1), worst)


def _measure(sums: list[float], count: int, worst: str) -> dict[str, Any]:
    error, eager, size = (math.sqrt(total / count) for total in sums)
    allowed = 3 * eager + 4 * torch.finfo(torch.float32).eps * size
    return {
        "error": error,
        "eager": eager,
        "allowed": allowed,
        "size": size,
        "worst": worst,
    }


def check(case: TrainingCase, device: str, tiny: bool, turn: Path | None = None) -> Row:
    """Return what a compiled training step gives.

    Args:
        case: Model and batch.
        device: Where it trains.
        tiny: Take the small twin.
        turn: File that is locked while float64's memory is taken.
    """
    from tilewright.backend import compile as backend

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    row = Row(case.name)
    model, (inputs, labels) = model_of(case, tiny=tiny), batch_of(case, tiny=tiny)
    batch = {n: v.to(device) for n, v in inputs.items()}, labels.to(device)
    if device == "cuda":  # what is not written is NaN
        torch.empty(1 << 31, dtype=torch.uint8, device=device).fill_(255)
    graphs: list[int] = []

    def compiled(function: Any) -> Any:
        ready: Any = torch.compile(function, backend=backend)

        def call(*args: Any) -> Any:
            torch_api.forget_counts()
            result = ready(*args)
            graphs.append(torch_api.captured_graphs())
            return result

        return call

    torch_api.reset()
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = taken(copy.deepcopy(model).to(device), batch, compiled).to("cpu")
    row.seconds = round(time.perf_counter() - started, 1)
    row.graphs, row.step_graphs = graphs
    row.fallbacks = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, FallbackWarning)
    ]
    pieces = 1 if case.whole else min(_PIECES, len(labels))
    with locked(turn):
        release()
        exact = exact_step(copy.deepcopy(model).to(device), batch, pieces)
        release()
        eager = taken(copy.deepcopy(model).to(device), batch)
        before = {n: w.detach().to(device) for n, w in model.named_parameters()}
        compare(row, ours.to(device), eager, exact, before)
        if row.graphs != 1:
            row.dynamo_graphs = graphs_of_dynamo(
                lambda ready: taken(ready, batch), model.to(device)
            )
    if row.graphs != 1 and row.graphs != row.dynamo_graphs:
        row.faults.append(f"{row.graphs} graphs, Dynamo gives {row.dynamo_graphs}")
    row.faults += row.fallbacks
    if device == "cuda":
        row.peak_gb = round(torch.cuda.max_memory_allocated() / 1e9, 1)
    row.right = not row.faults
    return row


def release() -> None:
    """Give memory that is not used back to the GPU."""
    torch_api.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@contextlib.contextmanager
def locked(path: Path | None) -> Iterator[None]:
    """Hold a file that other processes wait for, in the block."""
    if path is None:
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        release()


def child(name: str, chosen: argparse.Namespace) -> None:
    """Check one model and write its row, in a process of its own."""
    from compiler.runtime.triton_pool import POOL

    POOL.size = min(POOL.size, chosen.compilers)
    try:
        row = check(CASES[name], chosen.device, chosen.tiny, chosen.folder / "turn")
    except Exception as error:
        row = Row(name, faults=[f"{type(error).__name__}: {error}"[:800]])
    (chosen.folder / f"{name}.json").write_text(json.dumps(asdict(row)))


def side_by_side(
    chosen: argparse.Namespace, folder: Path
) -> Iterator[dict[str, Any] | None]:
    """Yield the rows of all models as they come, and None now and then.

    The last of ``chosen.models`` starts first.
    """
    environment: dict[str, str] = {
        **os.environ,
        "TILEWRIGHT_CACHE": str(folder / "cache"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // chosen.jobs)),
        "PYTHONWARNINGS": "ignore",
    }
    waiting, running = list(chosen.models), dict[str, subprocess.Popen[bytes]]()
    gpus = torch.cuda.device_count() if chosen.device == "cuda" else 0
    seen = itertools.cycle(range(max(1, gpus)))
    command = [sys.executable, __file__, "--folder", str(folder)]
    command += ["--device", chosen.device, "--compilers", str(chosen.compilers)]
    command += ["--tiny"] if chosen.tiny else []
    try:
        while waiting or running:
            while waiting and len(running) < chosen.jobs:
                name = waiting.pop()
                if gpus > 1:
                    environment["CUDA_VISIBLE_DEVICES"] = str(next(seen))
                with (folder / f"{name}.log").open("wb") as log:
                    running[name] = subprocess.Popen(
                        [*command, "--child", name],
                        stdout=log,
                        stderr=log,
                        env=environment,
                        start_new_session=True,
                    )
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    yield _row_of(folder, name, process.returncode)
            yield None
            time.sleep(0.2)
    finally:
        for process in running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _row_of(folder: Path, name: str, code: int) -> dict[str, Any]:
    path = folder / f"{name}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    said = (folder / f"{name}.log").read_text(errors="replace")[-800:]
    return asdict(Row(name, faults=[f"the process ended with {code}: {said}"]))


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    ratios = " ".join(
        f"{what} {measure['error'] / measure['allowed']:.2f}"
        for what, measure in row["measures"].items()
        if measure["allowed"]
    )
    print(
        f"{row['name']:16} {'right' if row['right'] else 'WRONG':6} "
        f"over allowed: {ratios}  graphs {row['graphs']}+{row['step_graphs']} "
        f"{row['seconds'] or 0:6.1f} s {row['peak_gb'] or 0} GB",
        flush=True,
    )
    for fault in row["faults"]:
        print(f"    {fault[:500]}", flush=True)


def main() -> int:
    """Check the models; return 1 if one is wrong or not reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", "--json", type=Path, default=RESULTS)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--models", nargs="*", default=list(CASES))
    parser.add_argument("--deadline", type=float, default=230, help="[s]")
    parser.add_argument("--jobs", type=int, default=8, help="models side by side")
    parser.add_argument("--compilers", type=int, default=3, help="processes a model")
    parser.add_argument("--tiny", action="store_true", help="small twins")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child, chosen)
        return 0
    begin = time.monotonic()
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": chosen.commit or commit(),
        "machine": machine(chosen.device),
        "versions": {"torch": torch.__version__},
        "arithmetic": "float32 without TF32",
        "tiny": chosen.tiny,
        "cases": len(chosen.models),
        "right": 0,
        "models": [],
    }
    with tempfile.TemporaryDirectory(prefix="training-") as made:
        for row in side_by_side(chosen, Path(made)):
            if row is None:
                if time.monotonic() - begin > chosen.deadline:
                    break
                continue
            report["models"].append(row)
            report["right"] += row["right"]
            show(row)
            _write(report, chosen, begin)
    _write(report, chosen, begin)
    print(f"{report['right']} of {report['cases']} right, {report['seconds']} s")
    return int(report["right"] < report["cases"])


def _write(report: dict[str, Any], chosen: argparse.Namespace, begin: float) -> None:
    reached = {row["name"] for row in report["models"]}
    report["not_reached"] = [name for name in chosen.models if name not in reached]
    report["seconds"] = round(time.monotonic() - begin, 1)
    chosen.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
