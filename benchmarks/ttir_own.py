"""How many of our own backend's kernels are proved, as IR and as Triton's text?

    python benchmarks/ttir_own.py --json benchmarks/results/ttir_own.json

Models are traced forward and backward on a CUDA device that is not there
(``fake_cuda.py``): seven of full size under bfloat16 autocast, the others small, from
``model_zoo.py``. Their graphs are lowered, scheduled and printed as on a GPU; each
kernel is certified as ``options={"certify": "ttir"}`` does it. Nothing runs. ``--device
cpu`` certifies the kernels of the C++ printer, which have no text that is checked.
``--collect FILE`` writes the lowered graphs down, and ``--graphs FILE`` reads them.
Equal kernels are checked once and counted as often as they occur. Times are processor
time.
"""

import argparse
import copyreg
import gc
import json
import pickle
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch

from algebra.verdict import Refuted, Unknown, Verdict
from benchmarks import fusing_gpu_models as large
from benchmarks import model_zoo as small
from compiler.frontend.certify import emitted_of
from compiler.frontend.constants import lift_constants
from compiler.frontend.kernels import Builder
from compiler.frontend.validator import Certificate, Emitted
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Program
from compiler.options import Options
from compiler.torch_api import overload_name, overload_of
from verify.obligations import Obligations, worst

SMALL = (
    "roberta", "distilbert", "qwen3", "gemma2", "t5", "deberta-v2", "mixtral", "mamba",
    "convnext_atto", "efficientnet_b0", "swin_tiny_patch4_window7_224", "densenet121",
)  # fmt: skip
"""Models of ``model_zoo``, apart from those that are there in full size."""


def subjects() -> dict[str, tuple[Callable[[], Any], Callable[[], Any], bool]]:
    """Return model -> what makes it, what makes its batch, whether in half types."""
    found: dict[str, tuple[Callable[[], Any], Callable[[], Any], bool]] = {}
    for name in large.MODELS:
        found[name] = partial(large_model, name), partial(large_batch, name), True
    for name in SMALL:
        case = small.CASES[name]
        found[f"small {name}"] = case.make, case.batch, False
    return found


def large_model(name: str) -> torch.nn.Module:
    """Return a model of full size, where tensors have no data."""
    small.declare_vision_operators()
    if name in large._SETTINGS:
        import transformers

        config_class, model_class = large.MODELS[name]
        config = getattr(transformers, config_class)(**large._SETTINGS[name])
        made: torch.nn.Module = getattr(transformers, model_class)(config)
        return made
    import timm

    made = timm.create_model(large.MODELS[name][0], pretrained=False)
    return made


def large_batch(name: str) -> dict[str, Any]:
    """Return the arguments of a model of full size."""
    if name in large._TOKENS:
        return {"input_ids": torch.randint(3, 30000, large._TOKENS[name])}
    return {"x": torch.randn(large._IMAGES)}


def reason_of(certificate: Certificate) -> tuple[str, str]:
    """Return the verdict of a certificate, and why it is none better."""
    verdict: Verdict = worst(certificate.verdicts)
    if isinstance(verdict, Unknown):
        return "unknown", verdict.reason[:300]
    if isinstance(verdict, Refuted):
        for name, one in certificate.verdicts.items():
            if isinstance(one, Refuted):
                return "refuted", f"{name}: {one.counterexample}"[:600]
    return "proved", ""


def builder_of(device: str) -> Builder | None:
    """Return the printer whose texts are checked."""
    if device == "cpu":
        return None
    from compiler.codegen.triton import build

    return build


Planned = tuple[str, str, str, Program, Schedule, float]
"""Model, way, part, what was lowered, what was scheduled, seconds of both."""


def planned(name: str, way: str, graphs: Sequence[Any]) -> Iterator[Planned]:
    """Lower and schedule the graphs of a model."""
    from compiler.lower import REWRITES, lower
    from compiler.schedule import schedule as plan

    options = Options(certify="ttir")
    for part, graph, _ in graphs:
        lift_constants(graph)
        for rewrite in REWRITES:
            rewrite(graph)
        started = time.process_time()
        program = lower(graph, options=options)
        schedule = plan(program, options)
        yield name, way, part, program, schedule, time.process_time() - started


def examine(one: Planned, validator: Obligations, build: Builder | None) -> list[Any]:
    """Certify the kernels of one graph."""
    program, schedule = one[3:5]
    started = time.process_time()
    found = list(validator.scheduled(schedule, program))
    certified = time.process_time()
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    rows: list[Any] = [
        {"kernel": one.kernel, "ir": reason_of(one), "ir_s": one.seconds}
        for one in found
    ]
    row_of = {row["kernel"]: row for row in rows}
    texts: list[Emitted] = []
    if build is not None:
        for kernel in kernels:
            try:
                built = build([kernel], Options(certify="ttir"))[kernel.name]
                texts += emitted_of(kernel, built)
            except Exception as error:
                row_of[kernel.name]["not_printed"] = str(error)[:200]
    printed = time.process_time()
    for one_text in validator.emitted(texts, schedule):
        row = row_of[one_text.kernel]
        row.update({"ttir": reason_of(one_text), "ttir_s": one_text.seconds})
    rows.append(
        {
            "lower_s": one[5],
            "certify_s": certified - started,
            "print_s": printed - certified,
            "texts_s": time.process_time() - printed,
        }
    )
    return rows


def traced(chosen: argparse.Namespace, failures: list[Any]) -> Iterator[list[Planned]]:
    """Yield the graphs of each model and way."""
    for name, (make, batch, half) in subjects().items():
        if chosen.models and name not in chosen.models:
            continue
        for training in (False, True)[: 1 if chosen.inference else 2]:
            way = "training" if training else "inference"
            try:
                graphs = fake_cuda.graphs(
                    make,
                    batch,
                    training=training,
                    half=half and chosen.device == "cuda",
                    device=chosen.device,
                )
                yield list(planned(name, way, graphs))
            except Exception as error:
                failures.append({"model": name, "way": way, "error": str(error)[:300]})
                print(f"{name:<28} {way:<9} FAILED {str(error)[:120]}", flush=True)
            gc.collect()


def collected(file: Path) -> list[list[Planned]]:
    """Return what ``--collect`` wrote, few kernels first."""
    found = list(pickled(file))
    return sorted(found, key=lambda parts: sum(len(part[4].steps) for part in parts))


def pickled(file: Path) -> Iterator[list[Planned]]:
    """Yield what ``--collect`` wrote."""
    with file.open("rb") as stream:
        while True:
            try:
                yield pickle.load(stream)
            except (EOFError, pickle.UnpicklingError):  # its end, or not all there yet
                return


def times_of(values: Sequence[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum [s]."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {
        "p50": round(ordered[len(ordered) // 2], 4),
        "p95": round(ordered[int(len(ordered) * 0.95)], 4),
        "max": round(ordered[-1], 4),
    }


def summary(rows: Sequence[Any]) -> dict[str, Any]:
    """Return counts, shares, times and the reasons of what is not proved."""
    found: dict[str, Any] = {}
    for what in ("ir", "ttir"):
        these = [row for row in rows if what in row]
        counts = Counter(row[what][0] for row in these)
        reasons = Counter(row[what][1] for row in these if row[what][0] == "unknown")
        if these:
            found[what] = {
                "kernels": len(these),
                **{k: counts[k] for k in ("proved", "unknown", "refuted")},
                "proved_share": round(counts["proved"] / len(these), 4),
                "checked": sum(row[f"{what}_s"] > 0 for row in these),
                "seconds": times_of([t for r in these if (t := r[f"{what}_s"]) > 0]),
                "unknown_because": dict(reasons.most_common()),
            }
    found["not_printed"] = sum("not_printed" in row for row in rows)
    return found


def main() -> int:
    """Trace, certify, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--inference", action="store_true", help="no training")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--collect", type=Path, help="write the graphs, check none")
    parser.add_argument("--graphs", type=Path, help="of --collect: nothing is traced")
    parser.add_argument("--seconds", type=float, help="start no model later")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    measured, began = commit(), time.monotonic()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20_000)
    copyreg.pickle(
        type(torch.ops.aten.mm.default), lambda o: (overload_of, (overload_name(o),))
    )
    build = builder_of(chosen.device)
    table: list[Any] = []
    kernels: list[Any] = []
    failures: list[Any] = []
    source = collected(chosen.graphs) if chosen.graphs else traced(chosen, failures)
    for parts in source:
        name, way = parts[0][:2]
        if chosen.collect:
            with chosen.collect.open("ab") as stream:
                pickle.dump(parts, stream)
            print(f"{name:<28} {way:<9} {len(parts)} graphs", flush=True)
            continue
        if chosen.models and name not in chosen.models:
            continue
        if chosen.seconds and time.monotonic() - began > chosen.seconds:
            failures.append({"model": name, "way": way, "error": "out of time"})
            continue
        rows: list[Any] = []
        costs: Counter[str] = Counter()
        for part in parts:
            *found, cost = examine(part, Obligations(), build)
            costs.update(cost)
            rows += [{"model": name, "part": part[2], **row} for row in found]
        figures = summary(rows)
        cost = {key: round(value, 3) for key, value in costs.items()}
        table.append({"model": name, "way": way, **figures, "cost": cost})
        kernels += rows
        show(name, way, figures, costs)
        if chosen.verbose:
            for row in rows:
                for what in ("ir", "ttir"):
                    if row.get(what, ("proved",))[0] != "proved":
                        print("   ", row["kernel"], what, *row[what], flush=True)
        gc.collect()
        if chosen.json:
            written = result_of(chosen, measured, table, kernels, failures)
            chosen.json.write_text(json.dumps(written, indent=1) + "\n")
    if chosen.json:
        written = result_of(chosen, measured, table, kernels, failures)
        chosen.json.write_text(json.dumps(written, indent=1) + "\n")
    if not chosen.collect:
        print(json.dumps(summary(kernels), indent=1))
    return 0


def result_of(
    chosen: argparse.Namespace,
    measured: str,
    table: Sequence[Any],
    kernels: Sequence[Any],
    failures: Sequence[Any],
) -> dict[str, Any]:
    """Return what is written down."""
    return {
        "question": "How many of our own backend's kernels are proved?",
        "command": f"python benchmarks/ttir_own.py --device {chosen.device}",
        "commit": measured,
        "device": chosen.device,
        "torch": torch.__version__,
        "models": len({row["model"].removeprefix("small ") for row in table}),
        "left_out": failures,
        "total": summary(kernels),
        "table": table,
        "not_proved": [
            row
            for row in kernels
            if any(row.get(what, ("proved",))[0] != "proved" for what in ("ir", "ttir"))
        ],
    }


def show(name: str, way: str, figures: Any, costs: Any) -> None:
    """Print a model's line."""
    parts = [
        f"{what} {f['proved']}/{f['kernels']} unknown {f['unknown']} "
        f"refuted {f['refuted']} p95 {f['seconds'].get('p95', 0):.2f} s"
        for what in ("ir", "ttir")
        if (f := figures.get(what))
    ]
    seconds = " ".join(f"{key} {value:.1f}" for key, value in costs.items())
    print(f"{name:<28} {way:<9} {'; '.join(parts)}; {seconds}", flush=True)


def commit() -> str:
    """Return the commit that is measured."""
    from benchmarks.ttir_liger import commit as found

    name: str = found()
    return name


if __name__ == "__main__":
    raise SystemExit(main())
