"""What share of compiling goes into certificates, and how many kernels are proved?

    python benchmarks/certify_cost.py --json benchmarks/results/certify_cost.json

Small models of ``model_zoo.py`` are compiled for the CPU with ``certify=True``, from
Dynamo's capture to the first call's end, with nothing cached, and the validator's part
of it is timed. A certificate is one kernel's of the C++ printer, or a memory plan's.
All times are processor time, of this process and of the C++ compiler.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

from algebra.verdict import Proved, Refuted, Unknown
from benchmarks.model_zoo import CASES, tensors_of
from benchmarks.ttir_liger import commit
from compiler import torch_api
from compiler.frontend import compile_captured
from compiler.frontend.validator import Certificate, Emitted
from compiler.ir.kernel import Schedule
from compiler.ir.node import Program
from compiler.options import Options
from verify.obligations import Obligations, worst

MODELS = (
    "bert", "gpt2", "llama", "t5", "mixtral", "vit", "resnet18", "convnext_atto",
    "mobilenetv3_small_100", "mixer_s32_224",
)  # fmt: skip


COUNTED = ("certificates", "proved", "unknown", "refuted", "obligations")


class Timed:
    """The validator, with the processor time that it took.

    Attributes:
        seconds: Of all calls [s].
        found: All certificates.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.found: list[Certificate] = []
        self._inner = Obligations()

    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> Sequence[Certificate]:
        """Certify a schedule."""
        start = time.process_time()
        found = self._inner.scheduled(schedule, program)
        self.seconds += time.process_time() - start
        self.found += found
        return found

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> Sequence[Certificate]:
        """Certify emitted texts."""
        return self._inner.emitted(kernels, schedule)


def processor_time() -> float:
    """Return what this process and those that it has ended took [s]."""
    return sum(os.times()[:4])


def measure(name: str, training: bool) -> dict[str, Any]:
    """Compile one model and return its row."""
    case = CASES[name]
    model, batch = case.model(), case.inputs()
    model = model.train() if training else model.eval()
    validator = Timed()
    options = Options(certify=True, cache=False)

    def backend(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_captured(graph, inputs, options, validator)

    torch_api.reset()
    compiled: Any = torch.compile(model, backend=backend)
    before = processor_time()
    with torch.set_grad_enabled(training):
        outputs = tensors_of(compiled(**batch))
        if training:
            sum(o.float().sum() for o in outputs if o.requires_grad).backward()  # type: ignore[union-attr]
    whole = processor_time() - before
    verdicts = [v for one in validator.found for v in one.verdicts.values()]
    worsts = [worst(one.verdicts) for one in validator.found]
    reasons = Counter(v.reason[:200] for v in worsts if isinstance(v, Unknown))
    return {
        "model": name,
        "way": "training" if training else "inference",
        "certificates": len(worsts),
        "proved": sum(isinstance(v, Proved) for v in worsts),
        "unknown": sum(isinstance(v, Unknown) for v in worsts),
        "refuted": sum(isinstance(v, Refuted) for v in worsts),
        "obligations": len(verdicts),
        "compile_s": round(whole, 3),
        "certify_s": round(validator.seconds, 3),
        "share": round(validator.seconds / whole, 4),
        "unknown_because": dict(reasons.most_common()),
    }


def main() -> int:
    """Measure, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, help="start no model later")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    measured, began = commit(), time.monotonic()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE"] = folder
        measure("vit", False)  # what is loaded once in a process
        for name in chosen.models:
            for training in (False, True):
                if chosen.seconds and time.monotonic() - began > chosen.seconds:
                    continue
                rows.append(measure(name, training))
                print(*rows[-1].values(), flush=True)
                result = result_of(measured, rows)
                if chosen.json:
                    chosen.json.write_text(json.dumps(result, indent=1) + "\n")
    result = result_of(measured, rows)
    print(json.dumps({k: v for k, v in result.items() if k != "rows"}, indent=1))
    return 0


def result_of(measured: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what is written down."""
    whole = sum(row["compile_s"] for row in rows)
    return {
        "question": "What share of compiling a model goes into its certificates?",
        "command": "python benchmarks/certify_cost.py",
        "commit": measured,
        "torch": torch.__version__,
        "models": len({row["model"] for row in rows}),
        "cases": len(rows),
        "share": round(sum(row["certify_s"] for row in rows) / whole, 4),
        "largest_share": max(row["share"] for row in rows),
        **{key: sum(row[key] for row in rows) for key in COUNTED},
        "rows": list(rows),
    }


if __name__ == "__main__":
    raise SystemExit(main())
