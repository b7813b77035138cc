"""Are 29 models right when compiled, in inference and in training?

    PYTHONPATH=. python benchmarks/models_correct.py --out results.json

The reference is the model in float64. Over all outputs (in training: all gradients
and changed buffers) the RMS error may be three times that of eager mode and 4 ulp of
the output's size; shapes, strides and types equal eager mode's, and a model gives one
graph where Dynamo captures one.
"""

import argparse
import copy
import json
import math
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path[0] = str(Path(__file__).resolve().parent.parent)
from benchmarks.model_zoo import CASES, Case, tensors_of
from compiler import torch_api
from compiler.errors import FallbackWarning


@dataclass
class Row:
    """What was found about a model.

    Attributes:
        name: Of the model.
        right: Whether everything that was asked for holds.
        error: RMS error of the compiled model against float64.
        allowed: What it may be.
        eager: RMS error of eager mode.
        graphs: Number that Dynamo captured.
        dynamo_graphs: What it captures for a backend that compiles nothing; counted
            where ``graphs`` is not 1.
        kernels: Launches of our own kernels.
        externs: Calls into PyTorch.
        fallbacks: What warnings said was not compiled.
        faults: What is wrong, in words.
        seconds: What compiling took, with the capture [s].
    """

    name: str
    right: bool = False
    error: float = math.nan
    allowed: float = math.nan
    eager: float = math.nan
    graphs: int = 0
    dynamo_graphs: int | None = None
    kernels: int = 0
    externs: int = 0
    fallbacks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = math.nan


Values = list[torch.Tensor]


def run_model(model: Any, inputs: dict[str, Any], train: bool) -> Values:
    """Return outputs, and in training gradients and buffers after one step."""
    if not train:
        with torch.no_grad():
            return tensors_of(model(**inputs))
    outputs = tensors_of(model(**inputs))
    weight = torch.linspace(-1, 1, outputs[0].numel(), device=outputs[0].device)
    loss = (outputs[0].flatten() * weight.to(outputs[0].dtype)).mean()
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    buffers = [b.detach() for b in model.buffers() if b.is_floating_point()]
    return [*(output.detach() for output in outputs), *gradients, *buffers]


def widen(value: Any) -> Any:
    """Return floating tensors as float64, all else as it is."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def rms(values: Values, reference: Values) -> float:
    """Return the root mean square of the difference over all elements."""
    total, count = 0.0, 0
    for value, wanted in zip(values, reference, strict=True):
        if value.is_floating_point():
            total += float((value.double() - wanted.double()).square().sum())
            count += value.numel()
    return math.sqrt(total / max(count, 1))


def size(values: Values) -> float:
    """Return the root mean square of all elements."""
    return rms(values, [torch.zeros_like(value) for value in values])


def check(
    case: Case,
    *,
    train: bool = False,
    device: str = "cpu",
    options: dict[str, Any] | None = None,
) -> Row:
    """Return what compiling a model gives."""
    row = Row(case.name)
    model = case.model().train(train).to(device)
    inputs = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in case.inputs().items()
    }
    wide = case.reference(model)
    reference = run_model(wide, {n: widen(v) for n, v in inputs.items()}, train)
    eager = run_model(copy.deepcopy(model), inputs, train)
    torch_api.reset()
    torch_api.forget_counts()
    compiled = torch.compile(model, backend="tilewright", options=options or {})
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = run_model(compiled, inputs, train)
    row.seconds = round(time.perf_counter() - started, 2)
    row.fallbacks = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, FallbackWarning)
    ]
    row.graphs = torch_api.captured_graphs()
    compare(row, ours, eager, reference)
    if row.graphs != 1:
        row.dynamo_graphs = graphs_of_dynamo(
            lambda ready: run_model(ready, inputs, train), model
        )
        if row.graphs != row.dynamo_graphs:
            row.faults.append(f"{row.graphs} graphs, Dynamo gives {row.dynamo_graphs}")
    row.faults += row.fallbacks
    row.right = not row.faults
    return row


def graphs_of_dynamo(run: Callable[[Any], object], model: Any) -> int:
    """Return how many graphs Dynamo captures where the backend compiles nothing.

    Args:
        run: Runs a model once.
        model: The model; it is copied.
    """
    torch_api.reset()
    torch_api.forget_counts()
    run(torch.compile(copy.deepcopy(model), backend="eager"))
    return torch_api.captured_graphs()


def compare(row: Row, ours: Values, eager: Values, reference: Values) -> None:
    """Fill in errors and what differs from eager mode."""
    if len(ours) != len(eager):
        row.faults.append(f"{len(ours)} results, eager mode has {len(eager)}")
        return
    for number, (mine, theirs) in enumerate(zip(ours, eager, strict=True)):
        for what, a, b in (
            ("dtype", mine.dtype, theirs.dtype),
            ("shape", mine.shape, theirs.shape),
            ("strides", mine.stride(), theirs.stride()),
        ):
            if a != b:
                row.faults.append(f"{what} of result {number} is {a}, eager's {b}")
    floating = [value.dtype for value in eager if value.is_floating_point()]
    ulp = max(torch.finfo(dtype).eps for dtype in floating)
    row.eager, row.error = rms(eager, reference), rms(ours, reference)
    row.allowed = 3 * row.eager + 4 * ulp * size(reference)
    if not row.error <= row.allowed:
        row.faults.append(f"error {row.error:.3g}, allowed {row.allowed:.3g}")


def count_steps(folder: Path) -> tuple[int, int]:
    """Return numbers of kernels and extern calls in the traces of a folder."""
    kernels = externs = 0
    for path in folder.glob("*/summary.json"):
        facts = json.loads(path.read_text())
        kernels += len(facts.get("kernels", ()))
        externs += len(facts.get("extern_calls", ()))
    return kernels, externs


def main() -> int:
    """Check the models; return 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--models", nargs="*", default=list(CASES))
    parser.add_argument("--trace", type=Path, help="folder for traces")
    parser.add_argument("--deadline", type=float, help="start no model after this [s]")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": arguments.commit or commit(),
        "machine": machine(arguments.device),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "training": arguments.train,
        "models": [],
    }
    wrong = 0
    torch.backends.cudnn.allow_tf32 = False
    started = time.perf_counter()
    for name in arguments.models:
        if time.perf_counter() - started > (arguments.deadline or math.inf):
            report.setdefault("not_reached", []).append(name)
            continue
        options = {}
        folder = None
        if arguments.trace is not None:
            folder = arguments.trace / name
            options["trace"] = str(folder)
        try:
            row = check(
                CASES[name],
                train=arguments.train,
                device=arguments.device,
                options=options,
            )
        except Exception as error:
            row = Row(name, faults=[f"{type(error).__name__}: {error}"[:500]])
        if folder is not None:
            row.kernels, row.externs = count_steps(folder)
        wrong += not row.right
        report["models"].append(asdict(row))
        print(
            f"{name:30} {'right' if row.right else 'WRONG':6} "
            f"error {row.error:9.3g} allowed {row.allowed:9.3g} "
            f"kernels {row.kernels:4} externs {row.externs:4} {row.seconds:6.2f} s",
            flush=True,
        )
        for fault in row.faults:
            print(f"    {fault[:300]}", flush=True)
        report["cases"] = len(report["models"])
        report["wrong"] = wrong
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    right = report.get("cases", 0) - wrong
    print(f"{right} of {len(arguments.models)} right")
    return int(right < len(arguments.models))


def machine(device: str) -> str:
    """Return what the models ran on."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            return f"{name}, {torch.get_num_threads()} threads"
    return platform.machine()


def commit() -> str:
    """Return the commit of the checkout, with ``-dirty`` if it was changed."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
