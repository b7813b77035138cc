"""How many programs a second does a campaign run, and what limits it?

    python benchmarks/hunt_throughput.py --json benchmarks/results/hunt_throughput.json

Small programs (up to four statements, one call, no gradients) from fixed seeds. Three
figures, all of one process each, on the CPU:

* drawing: programs that hypothesis draws, tried eagerly statement by statement;
* harness: programs that go to a subject's process as JSON, are built, run by eager mode
  twice and compared: what any subject can reach at most;
* each subject cold (the first time) and cached (the same programs again: our C++
  kernels come from the disk, TorchDynamo captures and AOTAutograd traces anew).

Seconds are given as they passed and as processor time: where other work shares the
cores, the processor time is what a quiet machine would come near to.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess
from verify.strategies.programs import Program, programs

FAMILIES = ("pointwise", "views", "reductions", "sizes")
SUBJECTS = ("eager", "dynamo", "aot_eager", "tilewright", "inductor")


def main() -> int:
    """Measure, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--subjects", default=",".join(SUBJECTS[:4]))
    parser.add_argument("--deadline", type=float, default=600.0, help="[s]")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    end = time.monotonic() + options.deadline
    start, busy = time.perf_counter(), time.process_time()
    drawn = draw(options.programs)
    drawing = {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - busy,
    }
    facts: dict[str, Any] = {
        "question": "programs a second of a campaign",
        "commit": options.commit or commit(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "programs": len(drawn),
        "statements": sum(len(program.lines) for program in drawn),
        "drawing": rate(len(drawn), drawing),
        "subjects": {},
    }
    print(f"{'drawing':24}{facts['drawing']['per_second']:8.1f} a second")
    cache = tempfile.mkdtemp(prefix="tilewright-throughput-")
    places = {"TILEWRIGHT_CACHE": cache, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/i"}
    for subject in options.subjects.split(","):
        with SubjectProcess(120.0, places, per_process=10**6) as process:
            process.run(Case(drawn[0], subject))  # imports, the first compile
            for turn in ("cold", "cached"):
                if time.monotonic() > end:
                    break
                start = time.perf_counter()
                answers = [process.run(Case(one, subject)) for one in drawn]
                spent = {"seconds": time.perf_counter() - start}
                counted = Counter(str(answer["status"]) for answer in answers)
                used = sum(float(answer.get("processor", 0.0)) for answer in answers)
                one = {**rate(len(drawn), spent), "statuses": dict(counted)}
                one["subject_processor_seconds"] = round(used, 2)
                if used:
                    one["per_processor_second"] = round(len(drawn) / used, 1)
                facts["subjects"].setdefault(subject, {})[turn] = one
                print(
                    f"{subject + ' ' + turn:24}{one['per_second']:8.1f} a second, "
                    f"{one.get('per_processor_second', 0):8.1f} a processor second",
                    flush=True,
                )
                facts["load"] = round(os.getloadavg()[0], 1)
                if options.json is not None:
                    options.json.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


def draw(count: int) -> list[Program]:
    """Return programs of at least one statement from seeds 0, 1, 2, ..."""
    found: list[Program] = []
    number = 0
    while len(found) < count:

        @seed(number)
        @settings(
            max_examples=50,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(programs(4, FAMILIES, gradients=False, max_calls=1))
        def each(program: Program) -> None:
            if program.lines:
                found.append(program)

        each()
        number += 1
    return found[:count]


def rate(count: int, spent: dict[str, float]) -> dict[str, Any]:
    """Return what was spent, and programs a second of it."""
    found: dict[str, Any] = {name: round(value, 2) for name, value in spent.items()}
    found["per_second"] = round(count / spent["seconds"], 1)
    if spent.get("processor_seconds"):
        found["per_processor_second"] = round(count / spent["processor_seconds"], 1)
    return found


def commit() -> str:
    """Return the commit of this checkout."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
