"""Training of bert-base and a llama of 0.3 billion weights on several GPUs.

    PYTHONPATH=. python benchmarks/distributed.py --deadline 550 --out distributed.json

One torchrun for each model, kind (DDP, FSDP2) and number of GPUs trains it in bfloat16
by eager mode, Inductor and ours: 50 steps for the loss, then timed in turns, then one
profile each. Two more launches lose a rank in the middle, and go on from a checkpoint.
The engine is PyTorch's own. ``--device cpu --tiny`` tries all of it with gloo.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import torch

sys.path[0] = str(Path(__file__).resolve().parent.parent)
MODELS = ("bert-base", "llama-0.3b")
KINDS = ("ddp", "fsdp")
RESULTS = Path(__file__).parent / "results" / "distributed.json"
WORKER = "benchmarks.distributed_worker"


def launch(
    processes: int, arguments: list[str], limit: float, gpu: int | None = None
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the worker under torchrun; return what it printed, and the seconds.

    Args:
        processes: Ranks.
        arguments: The worker's.
        limit: When to give up [s].
        gpu: The only one to be seen; None: all.
    """
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]
    command += ["--standalone", "--nproc-per-node", str(processes), "-m", WORKER]
    environment = {**os.environ, "PYTHONPATH": sys.path[0]}
    if gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
    start = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as late:
        text = (late.stderr or b"")[-1500:]
        done = subprocess.CompletedProcess(command, 124, "", f"timed out; {text!r}")
    return done, time.monotonic() - start


def of_rank_0(text: str) -> str:
    """Return the end of what the first rank complained of, or of the whole."""
    lines = [line for line in text.splitlines() if line.startswith("[rank0]")]
    return "\n".join(lines or text.splitlines())[-2500:]


def cell(
    model: str,
    kind: str,
    processes: int,
    options: list[str],
    until: float,
    gpu: int | None = None,
) -> dict[str, Any]:
    """Return what one launch measured, or that it came too late."""
    row: dict[str, Any] = {"model": model, "kind": kind, "processes": processes}
    limit = until - time.monotonic()
    if limit < 30:
        return row | {"skipped": "deadline"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "row.json")
        arguments = ["train", model, kind, "--out", str(out), *options]
        done, row["seconds"] = launch(processes, arguments, limit, gpu)
        if out.exists():
            row |= json.loads(out.read_text())
    if done.returncode:
        row["failed"] = f"exit {done.returncode}: {of_rank_0(done.stderr)}"
    return row


def lost_rank(kind: str, processes: int, options: list[str]) -> dict[str, Any]:
    """Lose the last rank in the middle, then go on from the checkpoint.

    Returns:
        The exit status and seconds of the launch that lost a rank, and the largest
        relative difference of the losses after the checkpoint from an undisturbed run.
    """
    row: dict[str, Any] = {"kind": kind, "processes": processes}
    with tempfile.TemporaryDirectory() as folder:
        whole, rest = Path(folder, "whole.json"), Path(folder, "rest.json")
        common = ["resume", MODELS[0], kind, *options, "--folder", folder]
        plain, _ = launch(processes, [*common, "--out", str(whole)], 300)
        killed, row["seconds"] = launch(processes, [*common, "--die-at", "6"], 300)
        row["exit"] = killed.returncode
        again, _ = launch(processes, [*common, "--load", "--out", str(rest)], 300)
        if plain.returncode or again.returncode:
            row["failed"] = of_rank_0(plain.stderr) + of_rank_0(again.stderr)
            return row
        losses, resumed = (
            json.loads(path.read_text())["losses"] for path in (whole, rest)
        )
        row["resumed_steps"] = len(resumed)
        row["worst_after_resuming"] = max(
            abs(a - b) / abs(a)
            for a, b in zip(losses[-len(resumed) :], resumed, strict=True)
        )
    return row


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    name = f"{row['model']:11s} {row['kind']:5s} x{row['processes']}"
    if "failed" in row:
        print(name, "FAILED", row["failed"], flush=True)
    ways = row.get("ways", {})
    for way, found in ways.items():
        print(
            f"{name} {way:10s} {found['step_ms']:8.2f} ms  {found['peak_mb']:8.0f} MB  "
            f"loss off by {found['worst_loss']:.1e}  overlapped "
            f"{found['overlapped']:.2f} of {found['collectives_ms']:.2f} ms  compile "
            f"{found['compile_s']:.1f} s",
            flush=True,
        )


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return step time over Inductor's and the efficiency of scaling, for each cell."""
    found: dict[str, Any] = {}
    for row in rows:
        ways = row.get("ways", {})
        if not {"inductor", "tilewright"} <= set(ways):
            continue
        name = f"{row['model']} {row['kind']} x{row['processes']}"
        ours, theirs = ways["tilewright"], ways["inductor"]
        found[name] = {
            "time_over_inductor": ours["step_ms"] / theirs["step_ms"],
            "peak_over_inductor": ours["peak_mb"] / max(theirs["peak_mb"], 1e-9),
            "worst_loss": ours["worst_loss"],
        }
        for alone in rows:
            same = alone.get("ways") and alone["processes"] == 1
            if not same or row["processes"] == 1:
                continue
            if (alone["model"], alone["kind"]) == (row["model"], row["kind"]):
                for way in ("eager", "inductor", "tilewright"):
                    efficiency = alone["ways"][way]["step_ms"] / ways[way]["step_ms"]
                    found[name][f"{way}_efficiency"] = efficiency
    return found


def merged(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one report of several runs; each cell says its commit.

    What a later run measured takes the place of what an earlier one did; a cell that
    failed or came too late takes no other's place. A report may be a merged one.
    """
    places: dict[tuple[str, ...], dict[str, Any]] = {}
    commits: list[str] = []
    machines: list[dict[str, Any]] = []
    for report in reports:
        commits += report.get("commits") or [report["commit"]]
        machines += report.get("machines") or [report["machine"]]
        for group in ("cells", "lost_ranks"):
            for row in report[group]:
                name = [row.get("model", ""), row["kind"], str(row["processes"])]
                lost = not ("ways" in row or "resumed_steps" in row)
                if not lost or (group, *name) not in places:
                    commit = row.get("commit") or report["commit"]
                    places[(group, *name)] = {**row, "commit": commit}
    cells = [row for key, row in sorted(places.items()) if key[0] == "cells"]
    return {
        "commits": commits,
        "machines": machines,
        "cells": cells,
        "lost_ranks": [r for key, r in sorted(places.items()) if key[0] != "cells"],
        "summary": summary(cells),
    }


def machine(device: str) -> dict[str, Any]:
    """Return where and with what this runs."""
    gpus = torch.cuda.device_count() if device == "cuda" else 0
    return {
        "gpu": torch.cuda.get_device_name() if gpus else None,
        "gpus": gpus,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def main() -> int:
    """Run the cells and write JSON after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--processes", type=int, help="default: the number of GPUs")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--tiny", action="store_true", help="to try the script out")
    parser.add_argument("--no-scaling", action="store_true", help="not on one GPU")
    parser.add_argument("--alone", action="store_true", help="on one GPU only")
    parser.add_argument("--no-loss-of-rank", action="store_true")
    parser.add_argument("--deadline", type=float, default=550, help="[s]")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path, nargs="*", help="write one of several")
    chosen = parser.parse_args()
    if chosen.merge:
        whole = merged([json.loads(path.read_text()) for path in chosen.merge])
        chosen.out.write_text(json.dumps(whole, indent=1) + "\n")
        print(json.dumps(whole["summary"], indent=1))
        return 0
    until = time.monotonic() + chosen.deadline
    many = chosen.processes or torch.cuda.device_count() or 2
    options = ["--device", chosen.device, *(["--tiny"] if chosen.tiny else [])]
    found: dict[str, Any] = {
        "commit": chosen.commit,
        "machine": machine(chosen.device),
        "cells": [],
        "lost_ranks": [],
    }
    pairs = [(model, kind) for model in chosen.models for kind in chosen.kinds]

    def keep(row: dict[str, Any]) -> None:
        found["cells"].append(row)
        show(row)
        found["summary"] = summary(found["cells"])
        chosen.out.write_text(json.dumps(found, indent=1) + "\n")

    for pair in () if chosen.alone else pairs:
        keep(cell(*pair, many, options, until))
    if not chosen.no_scaling:  # each on a GPU of its own, side by side
        side = many if chosen.device == "cuda" else 1
        free: Queue[int] = Queue()
        for gpu in range(side):
            free.put(gpu)

        def alone(pair: tuple[str, str]) -> dict[str, Any]:
            gpu = free.get()
            try:
                return cell(*pair, 1, options, until, gpu)
            finally:
                free.put(gpu)

        with ThreadPoolExecutor(side) as pool:
            for row in pool.map(alone, pairs):
                keep(row)
    if not chosen.no_loss_of_rank and until - time.monotonic() > 60:
        # nothing is timed: side by side on a GPU, in turns on a CPU
        with ThreadPoolExecutor(2 if chosen.device == "cuda" else 1) as pool:
            for row in pool.map(lambda k: lost_rank(k, many, options), chosen.kinds):
                found["lost_ranks"].append(row)
                print("lost rank", json.dumps(row), flush=True)
                chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(summary(found["cells"]), indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
