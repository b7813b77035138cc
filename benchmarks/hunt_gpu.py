"""Generated kernels on a GPU against eager mode, on exact data: how many in a time.

    PYTHONPATH=. python benchmarks/hunt_gpu.py --commit HASH --out hunt_gpu.json \
        --deadline 560 --workers 24

Programs that round nothing (``hunt_gpu_programs.py``) are drawn, many are put into one
function, which ``torch.compile(backend="tilewright")`` compiles once, and each result
must equal eager mode's bit for bit, in value, type, shape and strides. A kernel counts
once it has run and all results of its function were right. Where one is wrong or
something is refused (nothing falls back to PyTorch's operators), programs are run again
apart, and only those at fault do not count. Distinct kernels are told by their text,
without the comments that say where it comes from.

Each worker is a process of its own. One that dies says why, and is started again; the
programs that it had are then run one by one, so that the one it died of is known. The
JSON is written every second.

Without a GPU, ``--mode interpret`` runs the printed Triton kernels in Triton's
interpreter, and ``--mode pretend`` compiles them for an H200 that is not there, with
tensors that have no data: shapes, types and strides are compared, and nothing runs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from threading import Lock, Thread
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

STRIDE = 1_000_000
"""Seeds between two workers."""

ROOM = 24 << 30
"""Free bytes that a folder in memory needs, for Triton's cache."""


class Hunt:
    """Workers, and what they said so far."""

    def __init__(self, given: argparse.Namespace, scratch: Path) -> None:
        self.given, self.scratch = given, scratch
        self.start = time.monotonic()
        self.tally: Counter[str] = Counter()
        self.reasons: dict[str, Counter[str]] = {
            name: Counter() for name in ("dropped", "refused", "wrong", "died")
        }
        self.distinct: set[str] = set()
        self.faults: list[dict[str, Any]] = []
        self.deaths: list[dict[str, Any]] = []
        self.children: dict[int, subprocess.Popen[str]] = {}
        self.lock = Lock()

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return float(self.given.deadline) - (time.monotonic() - self.start)

    def facts(self) -> dict[str, Any]:
        """Return what is known by now."""
        with self.lock:
            seconds = time.monotonic() - self.start
            tally = dict(self.tally)
            return {
                "commit": self.given.commit,
                "device": _device(self.given.mode),
                "mode": self.given.mode,
                "workers": self.given.workers,
                "batch": self.given.batch,
                "operations": self.given.operations,
                "seed": self.given.seed,
                "seconds": round(seconds, 1),
                **{name: round(value, 1) for name, value in sorted(tally.items())},
                "distinct_kernels": len(self.distinct),
                "kernels_per_second": round(tally.get("kernels", 0) / seconds, 2),
                "reasons": {
                    name: dict(found.most_common(30))
                    for name, found in self.reasons.items()
                },
                "deaths": self.deaths[:50],
                "faults": self.faults[:50],
            }

    def take(self, answer: dict[str, Any]) -> None:
        """Count what a worker said."""
        with self.lock:
            self.tally["drawing_s"] += answer.get("drawing_s", 0)
            for why, count in answer.get("dropped", {}).items():
                self.tally["programs_dropped"] += count
                self.reasons["dropped"][why] += count
            status = answer.get("status")
            if status is None:
                return
            self.tally["programs"] += answer["programs"]
            self.tally[f"programs_{status}"] += answer["programs"]
            if status == "ok":
                self.tally["batches"] += 1
                self.tally["kernels"] += len(answer["kernels"])
                self.distinct.update(answer["kernels"])
            else:
                self.reasons[status][_plain(answer["kind"])] += 1
                self.faults.append(answer)
                self.faults.sort(key=lambda fault: fault["status"] == "refused")

    def died(self, number: int, code: int, seed: int, running: str) -> None:
        """Count a death, for the reason that the worker left."""
        lines = self._complaints(number).read_text(errors="replace").splitlines()
        said = next((line for line in reversed(lines) if line.strip()), "nothing said")
        reason = f"{said[:300]} (exit status {code})"
        with self.lock:
            self.tally["workers_died"] += 1
            self.reasons["died"][_plain(reason)] += 1
            self.deaths.append({"seed": seed, "reason": reason})
            if running:
                self.tally["programs_died"] += 1
                fault = {"seed": seed, "status": "died", "kind": reason}
                self.faults.insert(0, {**fault, "source": running})

    def give_up(self) -> None:
        """Count a worker that does not start."""
        with self.lock:
            self.tally["workers_given_up"] += 1

    def _complaints(self, number: int) -> Path:
        return self.scratch / f"{number}.err"

    def follow(self, number: int) -> None:
        """Keep a worker running, and listen to it."""
        seed = self.given.seed + number * STRIDE
        apart, silent = False, 0
        while self.left > 1 and silent < 3:
            heard, running = False, ""
            with self._complaints(number).open("w") as complaints:
                child = self._started(number, seed, apart, complaints)
                assert child.stdout is not None
                for line in child.stdout:
                    try:
                        answer = json.loads(line)
                        seed = answer["seed"]
                    except (ValueError, KeyError, TypeError):
                        continue  # what a library printed
                    if "began" in answer and heard:
                        apart = False
                    heard, silent = True, 0
                    running = answer.get("running", "")
                    self.take(answer)
                code = child.wait()
            if self.left < 1:
                return
            if code != 0:
                self.died(number, code, seed, running)
            silent += not heard
            if apart or not heard:  # the seed was seen through as far as it goes
                seed, apart = seed + (heard and 1), False
            else:
                apart = code != 0
        if silent:
            self.give_up()

    def _started(
        self, number: int, seed: int, apart: bool, complaints: Any
    ) -> "subprocess.Popen[str]":
        given = self.given
        command = [sys.executable, __file__, "--worker", str(seed)]
        command += ["--deadline", f"{self.left:.1f}", "--batch", str(given.batch)]
        command += ["--operations", str(given.operations), "--mode", given.mode]
        command += ["--arch", str(given.arch), *(["--apart"] if apart else [])]
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env={
                "PYTHONPATH": str(ROOT),
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "TRITON_CACHE_DIR": str(self.scratch / "triton"),
                "TILEWRIGHT_CACHE": str(self.scratch / "tilewright"),
            },
        )
        self.children[number] = child
        return child

    def run(self) -> dict[str, Any]:
        """Start the workers, and write what they say until the time is over."""
        for number in range(self.given.workers):
            Thread(target=self.follow, args=(number,), daemon=True).start()
        while self.left > 0:
            time.sleep(min(1, max(self.left, 0.01)))
            self.write()
        result = self.write()
        for child in list(self.children.values()):
            child.kill()
        return result

    def write(self) -> dict[str, Any]:
        """Write the JSON, whole."""
        result = self.facts()
        partial = self.given.out.with_suffix(".part")
        partial.write_text(json.dumps(result, indent=1) + "\n")
        partial.replace(self.given.out)
        return result


def _plain(reason: str) -> str:
    """Return a reason without the numbers and names that tell occurrences apart."""
    reason = re.sub(r"kernel \w+|0x[0-9a-f]+", "...", reason)
    return re.sub(r"\d+", "N", reason)[:160]


def _device(mode: str) -> str:
    if mode != "run" or not torch.cuda.is_available():
        return ""
    return str(torch.cuda.get_device_name())


def _folder() -> Path:
    """Return a new folder, in memory if there is room."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > ROOM
    return Path(tempfile.mkdtemp(prefix="hunt_gpu_", dir=shared if roomy else None))


def main() -> None:
    """Parse the arguments; run one worker, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("hunt_gpu.json"))
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--deadline", type=float, default=560.0, help="[s]")
    parser.add_argument("--workers", type=int, default=max(1, _cores() - 2))
    parser.add_argument("--batch", type=int, default=60, help="programs of a compile")
    parser.add_argument("--operations", type=int, default=8, help="of a program, most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--mode", choices=("run", "interpret", "pretend"), default="run"
    )
    parser.add_argument(
        "--arch", type=int, default=0, help="compile each kernel for it besides, as 90"
    )
    parser.add_argument("--worker", type=int, default=-1, help="for workers")
    parser.add_argument("--apart", action="store_true", help="for workers")
    given = parser.parse_args()
    if given.worker >= 0:
        from benchmarks.hunt_gpu_worker import work

        work(given.worker, given)
        return
    scratch = _folder()
    try:
        result = Hunt(given, scratch).run()
        _report(result)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if {"programs_wrong", "programs_died"} & set(result) else 0)


def _report(result: dict[str, Any]) -> None:
    """Print the numbers, before what may take a while: cleaning up."""
    for name in ("seconds", "programs", "kernels", "distinct_kernels"):
        print(f"{name:20} {result.get(name, 0)}")
    for name in sorted(result):
        if name.startswith(("programs_", "workers_")):
            print(f"{name:20} {result[name]}")
    for why, count in result["reasons"]["died"].items():
        print(f"died {count:15} {why}")
    sys.stdout.flush()


def _cores() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    main()
