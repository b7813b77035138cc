"""Do expRNN and dtriv learn to copy over a thousand steps and more?

    PYTHONPATH=. python benchmarks/copying_gpu.py --length 1000 --out FOLDER

Three seeds of each, with the papers' hyper-parameters (n = 190, batch 128, RMSprop),
train in one process, a step of each in turn, until the mean cross-entropy of 20 steps
is below a tenth of that of an answer without memory. Then, for some steps, an LSTM and
an unconstrained tanh RNN of the same size. Checkpoints go to FOLDER/runs.tar.gz; with
``--resume`` they are read, so that the same command goes on in another run.
"""

import argparse
import json
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import torch

from manifolds.training import Schedule, Settings
from manifolds.training.run import Run

SEEDS = (5544, 5545, 5546)
THRESHOLD = 0.1
BASELINE_STEPS = {"rnn": 1000, "lstm": 300}


def main() -> int:
    """Train; return 1 if a run that counts did not reach the threshold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="runs.tar.gz of an earlier run")
    parser.add_argument(
        "--seconds", type=float, default=150, help="for those that count"
    )
    parser.add_argument("--baseline-seconds", type=float, default=40)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--hidden", type=int, default=None)
    options = parser.parse_args()
    folder = options.out / f"runs-{options.length}"
    folder.mkdir(parents=True, exist_ok=True)
    if options.resume and options.resume.is_file():
        with tarfile.open(options.resume) as tar:
            tar.extractall(folder, filter="data")
    begin = time.perf_counter()
    runs = [
        make_run(model, seed, options, folder, Schedule(10**9, until=THRESHOLD))
        for model in ("exprnn", "dtriv")
        for seed in SEEDS
    ]
    together(runs, begin + options.seconds)
    counted = list(runs)
    late = time.perf_counter() + options.baseline_seconds
    for model, steps in BASELINE_STEPS.items():
        schedule = Schedule(10**9, check_every=10**9, stop_after=steps)
        run = make_run(model, SEEDS[0], options, folder, schedule)
        together([run], late)
        runs.append(run)
    rows = [describe(run) for run in runs]
    for row in rows:
        print(
            f"{row['title']:44} {row['iterations']:5} steps, "
            f"{row['ratio_to_baseline']:.3f} of the baseline, solved: {row['solved']}"
        )
    report = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": options.commit,
        "gpu": torch.cuda.get_device_name() if options.device == "cuda" else "none",
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
        "length": options.length,
        "threshold": THRESHOLD,
        "cases": len(counted),
        "solved": sum(row["solved"] for row in rows[: len(counted)]),
        "seconds": round(time.perf_counter() - begin, 1),
        "rows": rows,
    }
    name = f"copying_gpu_{options.length}.json"
    (options.out / name).write_text(json.dumps(report) + "\n")
    with tarfile.open(options.out / f"runs-{options.length}.tar.gz", "w:gz") as tar:
        for path in folder.iterdir():
            tar.add(path, path.name)
    return int(report["solved"] < len(counted))


def make_run(
    model: str,
    seed: int,
    options: argparse.Namespace,
    folder: Path,
    schedule: Schedule,
) -> Run:
    """Start a run, or go on with it."""
    settings = Settings(
        "copying",
        model,
        length=options.length,
        seed=seed,
        device=options.device,
        hidden=options.hidden,
    )
    return Run(settings, folder / settings.title, schedule)


def together(runs: list[Run], until: float) -> None:
    """Take a step of each run in turn, until all are over or there is no time."""
    shown = time.perf_counter()
    while active := [run for run in runs if not run.is_over]:
        for run in active:
            run.begin_step()
        for run in active:
            run.end_step()
        now = time.perf_counter()
        if now > shown + 10:
            shown = now
            print(
                *(
                    f"{run.done}:{run.rows[-1].loss / run.task.baseline:.2f}"
                    for run in runs
                ),
                flush=True,
            )
        if now > until:
            break
    for run in runs:
        run.finish()


def describe(run: Run) -> dict[str, Any]:
    """Return the outcome of a run, and its losses."""
    outcome = run.finish()
    losses = [row.loss for row in run.rows]
    return {
        "title": run.settings.title,
        "model": run.settings.model,
        "seed": run.settings.seed,
        "iterations": outcome.iterations,
        "loss": outcome.loss,
        "baseline": outcome.baseline,
        "ratio_to_baseline": outcome.loss / outcome.baseline,
        "solved": outcome.loss < THRESHOLD * outcome.baseline,
        "defect": outcome.defect,
        "losses": [float(f"{loss:.5g}") for loss in losses],
    }


if __name__ == "__main__":
    sys.exit(main())
