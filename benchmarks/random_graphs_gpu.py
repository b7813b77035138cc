"""Random operator graphs on a GPU: assigned, proved, and equal to PyTorch?

    python benchmarks/random_graphs_gpu.py --commit HASH --out random_graphs_gpu.json

hypothesis draws graphs of tiles (``verify/strategies/tile_graphs.py``). Processes
without the GPU assign, prove and compile them; each kernel then runs once on numbers
whose sums are exact, outputs poisoned, and must leave what PyTorch computes on whole
tiles. Whatever is refused, not proved or not reached before the deadline counts.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

from algebra import Proved
from compiler.assign import assign, run_tiles
from compiler.codegen.gluon.emission import load_module
from compiler.codegen.gluon.tile_kernel import TileKernel, tile_kernel
from verify.strategies.tile_graphs import TileCase, tile_graphs

DEVICE = "cuda"
Memory = dict[str, torch.Tensor]


def drawn(count: int, first_seed: int) -> list[TileCase]:
    """Return so many graphs."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    found: list[TileCase] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(tile_graphs(most_operators=6))
    def keep(case: TileCase) -> None:
        found.append(case)

    number = first_seed
    while len(found) < count:
        seed(number)(keep)()
        number += 1
    return found[:count]


def prepared(case: TileCase) -> tuple[TileKernel | None, str]:
    """Return a graph's kernel and what is wrong; machine code is left on disk.

    Runs in a process of its own, which leaves the GPU alone.
    """
    from benchmarks import fake_triton

    fake_triton.install()
    try:
        found = assign(case.graph, most_layouts=6)
        verdict = found.prove()
        if not isinstance(verdict, Proved):
            return None, f"not proved: {str(verdict)[:200]}"
        kernel = tile_kernel(found)
        function = getattr(load_module(kernel.text), kernel.name)
        types = [case.memory()[name].dtype for name in kernel.parameters]
        made = function.warmup(*types, grid=(1,), num_warps=kernel.warps)
        fake_triton.loadable(made)
    except Exception as error:  # counted by the parent
        return None, f"{type(error).__name__}: {str(error)[:300]}"
    return kernel, ""


def launch(kernel: TileKernel, memory: Memory, case: TileCase) -> None:
    """Run a kernel's one program."""
    function = getattr(load_module(kernel.text), kernel.name)
    arguments = [memory[name] for name in kernel.parameters]
    function[(1,)](*arguments, num_warps=kernel.warps)


def expected_of(case: TileCase) -> Memory:
    """Return what PyTorch leaves in memory."""
    memory = case.memory()
    run_tiles(case.graph, memory, {})
    return memory


def wrong(kernel: TileKernel, case: TileCase) -> str:
    """Run a kernel; return what is wrong with what it leaves, or nothing."""
    memory = {name: array.to(DEVICE) for name, array in case.memory().items()}
    launch(kernel, memory, case)
    torch.cuda.synchronize()
    for name, right in expected_of(case).items():
        if not torch.equal(memory[name].cpu(), right):
            return f"{name} differs"
    return ""


def main() -> int:
    """Run all; return 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", "--json", required=True, type=Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deadline", type=float, default=240, help="[s]")
    parser.add_argument("--workers", type=int, default=14)
    options = parser.parse_args()
    begin = time.monotonic()
    import triton

    cases = drawn(options.graphs, options.seed)
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": options.commit,
        "gpu": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "seed": options.seed,
        "cases": len(cases),
        "right": 0,
        "proved": 0,
        "wrong": [],
    }
    pool = ProcessPoolExecutor(options.workers, mp_context=get_context("spawn"))
    jobs = [pool.submit(prepared, case) for case in cases]
    for number, (case, job) in enumerate(zip(cases, jobs, strict=True)):
        try:
            left = max(0.0, begin + options.deadline - time.monotonic())
            kernel, said = job.result(left)
            report["proved"] += kernel is not None
            if kernel is not None:
                said = wrong(kernel, case)
        except Exception as error:  # counted, and the run goes on
            said = f"{type(error).__name__}: {str(error)[:300]}"
        report["right"] += not said
        if said:
            report["wrong"].append({"number": number, "what": said})
            print("WRONG", number, said, flush=True)
        report["seconds"] = round(time.monotonic() - begin, 1)
        if number % 10 == 9 or number + 1 == len(cases):
            options.out.write_text(json.dumps(report, indent=1) + "\n")
    pool.shutdown(wait=False, cancel_futures=True)
    print(f"{report['right']} of {report['cases']} right, {report['seconds']} s")
    return 1 if report["right"] < report["cases"] else 0


if __name__ == "__main__":
    sys.exit(main())
