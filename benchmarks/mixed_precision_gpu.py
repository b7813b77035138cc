"""How fast is a matmul with 4-bit weights, against reading them and against PyTorch?

    PYTHONPATH=. python benchmarks/mixed_precision_gpu.py --out results.json

For each format, shape and number of rows, 32 different weights are multiplied one
after another in one CUDA graph, so that none is still in the L2 cache; in turn with
that, a kernel that only reads the same bytes, dequantisation and cuBLAS, and what
Inductor makes of dequantisation and matmul. Kernels are compiled in parallel first; for
each row the tiling is chosen by timing, after its result was compared with float64 on
an output that was poisoned. The reading kernel is chosen by timing too. Both also run
as programmatic dependent launches ("dependent"), and the best of each is compared with
the best of the other. The report is written after each row; ``--resume`` keeps the rows
of the same commit that are there.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

CACHES = Path(tempfile.gettempdir()) / f"mixed-precision-{os.getppid()}-{os.getpid()}"
for variable, folder in (
    ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    ("TILEWRIGHT_CACHE", "tilewright"),
    ("TRITON_CACHE_DIR", "triton"),
):
    os.environ.setdefault(variable, str(CACHES / folder))

import torch
import triton

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from benchmarks import turns
from benchmarks.mixed_precision_baselines import (
    dequantiser,
    group_of,
    read_words,
    two_a_byte,
)
from compiler.errors import BackendError
from compiler.mixed.choose import candidates
from compiler.mixed.formats import weight_format
from compiler.mixed.fragments import ROWS
from compiler.mixed.launch import build, launch
from compiler.mixed.pack import PackedWeight
from compiler.mixed.tiling import Problem, Tiling
from verify.mixed import random_weight

RESULTS = Path(__file__).parent / "results" / "mixed_precision_gpu.json"
SHAPES = ((4096, 4096), (11008, 4096))
"""n, k: output and input features."""

ROW_COUNTS = (1, 16, 64, 256)
WEIGHTS = 32
ROUNDS = 11
READ_BAR, FASTER_BAR = 0.85, 1.5
COUNTS = ("failures", "not_used", "compiled")
"""What a run that is resumed adds to."""

READERS = ("read", "read, dependent", "read, unordered")
REGISTERS, THREADS = 65536, 2048
"""Of a multiprocessor."""
Action = Callable[[], object]


class Case(NamedTuple):
    """One row of the table."""

    format: str
    n: int
    k: int
    m: int

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.format} {self.k} x {self.n}, m = {self.m}"


def problem_of(format: str, n: int, k: int) -> Problem:
    """Return a problem with the usual groups: 128, or the format's blocks."""
    return Problem(
        format=weight_format(format),
        target="bf16",
        n=n,
        k=k,
        group=group_of(format),
    )


def compile_one(job: tuple[Problem, Tiling, bool, int]) -> str:
    """Compile a kernel into the cache on disk; return what went wrong, or nothing."""
    try:
        build(*job)
    except Exception as error:  # reported by the parent, which runs the others
        return f"{type(error).__name__}: {str(error)[:300]}"
    return ""


class WeightSet:
    """Different weights of one format and shape, and what baselines want of them."""

    def __init__(self, format: str, n: int, k: int, device: str) -> None:
        """Pack one weight; the others have random words, which are valid codes."""
        group = group_of(format)
        first = random_weight(format, n, k, group, seed=1)
        self.exact = first.dequantise(torch.float64).to(device)
        codes, scales, _ = first.unpack()
        self.packed = [
            PackedWeight(
                first.problem,
                first.weight.to(device),
                first.scales.to(device),
                None,
                1.0,
            )
        ]
        self.exact /= first.alpha
        self.natural = [(two_a_byte(codes).to(device), scales.to(device))]
        generator = torch.Generator(device).manual_seed(2)
        for _ in range(WEIGHTS - 1):
            words = torch.empty_like(self.packed[0].weight)
            words.random_(-(2**31), 2**31 - 1, generator=generator)
            shuffled = self.packed[0].scales.roll(int(words[0]) % 1000)
            self.packed.append(PackedWeight(first.problem, words, shuffled, None, 1.0))
            some = torch.empty_like(self.natural[0][0]).random_(
                0, 255, generator=generator
            )
            self.natural.append((some, self.natural[0][1].clone()))


def rounding_of(exact: torch.Tensor) -> float:
    """Return the norm of what rounding to bfloat16 changes."""
    return float((exact.bfloat16().double() - exact).norm())


def graph_of(actions: Sequence[Action]) -> Any:
    """Return a CUDA graph of some actions, run once before."""
    stream: Any = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for action in actions[:2]:
            action()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph: Any = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for action in actions:
            action()
    return graph


def microseconds(graph: Any, replays: int) -> float:
    """Return the time of one of the actions of a graph [us]."""
    event: Any = torch.cuda.Event
    first, last = event(enable_timing=True), event(enable_timing=True)
    graph.replay()
    first.record()
    for _ in range(replays):
        graph.replay()
    last.record()
    last.synchronize()
    taken: float = first.elapsed_time(last)
    return taken * 1e3 / replays / WEIGHTS


def alternate(graphs: dict[str, Any], rounds: int) -> dict[str, float]:
    """Return the median time of each graph's actions, run in turns [us]."""
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for graph in graphs.values():
        microseconds(graph, 2)
    for number in range(rounds):
        names = list(graphs)
        for name in names if number % 2 else reversed(names):
            times[name].append(microseconds(graphs[name], 4))
    return {name: statistics.median(found) for name, found in times.items()}


class Bench:
    """Options, and the report of one run."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Describe the machine."""
        self.options = options
        self.until = time.monotonic() + options.deadline
        self.report: dict[str, Any] = {
            "question": (__doc__ or "").splitlines()[0],
            "commit": options.commit,
            "gpu": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__, "triton": triton.__version__},
            "weights_in_rotation": WEIGHTS,
            "bars": {"read": READ_BAR, "faster": FASTER_BAR},
            "cases": 0,
            "failures": 0,
            "skipped": 0,
            "not_used": 0,
            "compiled": 0,
            "failed": [],
            "rows": [],
        }
        self.readers: dict[tuple[str, int, int], dict[str, Any]] = {}

    def fail(self, case: str, error: object) -> None:
        """Count and keep a failure."""
        self.report["failures"] += 1
        self.report["failed"].append({"case": case, "error": str(error)[:500]})
        print("FAILED", case, str(error)[:500], flush=True)

    def save(self) -> None:
        """Write the report as far as it is."""
        self.options.out.parent.mkdir(parents=True, exist_ok=True)
        self.options.out.write_text(json.dumps(self.report, indent=1) + "\n")

    def run(self) -> None:
        """Measure all cases, by format and shape."""
        cases = [
            Case(format, n, k, m)
            for format in self.options.formats
            for n, k in SHAPES
            for m in self.options.rows
        ]
        self.report["cases"] = len(cases)
        there = {tuple(row[f] for f in Case._fields) for row in self.earlier_rows()}
        cases = [case for case in cases if tuple(case) not in there]
        self.precompile(cases)
        held: tuple[tuple[str, int, int], WeightSet] | None = None
        for case in cases:
            if time.monotonic() > self.until:
                self.report["skipped"] += 1
                continue
            key = case.format, case.n, case.k
            try:
                if held is None or held[0] != key:
                    held = None  # frees the weights before others are made
                    torch.cuda.empty_cache()
                    with turns.beside():
                        held = key, WeightSet(*key, device="cuda")
                self.measure(case, held[1])
            except Exception as error:  # counted, and the run goes on
                self.fail(case.name, error)
            self.save()

    def earlier_rows(self) -> list[dict[str, Any]]:
        """Return, and keep, the rows of an earlier run that is resumed."""
        if self.options.resume and self.options.out.exists():
            before = json.loads(self.options.out.read_text())
            if before["commit"] != self.options.commit:
                raise SystemExit(
                    f"{self.options.out} is of commit {before['commit']}, not "
                    f"{self.options.commit}; leave out --resume"
                )
            for count in COUNTS:
                self.report[count] += before[count]
            self.report["failed"] = before["failed"]
            self.report["rows"] = before["rows"]
        rows: list[dict[str, Any]] = self.report["rows"]
        return rows

    def precompile(self, cases: Sequence[Case]) -> None:
        """Compile all candidates in parallel processes, into the cache on disk."""
        major, minor = torch.cuda.get_device_capability()
        arch = 10 * major + minor
        jobs: dict[tuple[Problem, Tiling, bool, int], None] = {}
        for case in cases:
            problem = problem_of(case.format, case.n, case.k)
            for tiling in candidates(problem, case.m):
                for dependent in (False, True):
                    one = replace(tiling, dependent=dependent)
                    jobs[problem, one, case.m % tiling.rows != 0, arch] = None
        begin = time.monotonic()
        from multiprocessing import get_context

        workers = max(1, min(self.options.workers, os.cpu_count() or 1))
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for job, wrong in zip(jobs, pool.map(compile_one, jobs), strict=True):
                if wrong:
                    self.fail(f"compiling {job[1]}", wrong)
        self.report["compiled"] += len(jobs)
        self.report["compile_seconds"] = round(time.monotonic() - begin, 1)
        print(f"{len(jobs)} kernels in {self.report['compile_seconds']} s", flush=True)

    def measure(self, case: Case, weights: WeightSet) -> None:
        """Make what ours is compared with, beside others; then time it, alone."""
        with turns.beside():
            x = torch.randn(case.m, case.k, dtype=torch.bfloat16, device="cuda")
            exact = x.double() @ weights.exact.T
            others = self.baselines(case, weights, x, exact)
        with turns.alone():
            self.compare(case, weights, x, exact, *others)

    def compare(
        self,
        case: Case,
        weights: WeightSet,
        x: torch.Tensor,
        exact: torch.Tensor,
        others: dict[str, Any],
        errors: dict[str, float],
    ) -> None:
        """Check and time our tilings, then all ways in turns."""
        problem = weights.packed[0].problem
        out = torch.empty(case.m, case.n, dtype=torch.bfloat16, device="cuda")
        rounding = rounding_of(exact)

        def ours(tiling: Tiling) -> list[Action]:
            return [
                lambda packed=packed: launch(x, packed, out, tiling)  # type: ignore[misc]
                for packed in weights.packed
            ]

        trials: dict[Tiling, float] = {}
        for tiling in candidates(problem, case.m):
            for dependent in (False, True):
                one = replace(tiling, dependent=dependent)
                if time.monotonic() > self.until and len(trials) > 1:
                    continue  # the default tiling is there
                try:
                    for _ in range(2):
                        out.fill_(torch.nan)
                        launch(x, weights.packed[0], out, one)
                        error = float((out.double() - exact).norm())
                        assert error < 1.1 * rounding, (
                            f"error {error / rounding:.3g} of the rounding"
                        )
                    trials[one] = microseconds(graph_of(ours(one)), 3)
                except Exception as wrong:  # counted, and the run goes on
                    if one.wgmma and isinstance(wrong, BackendError):
                        # it does not fit into registers: nobody gets it
                        self.report["not_used"] += 1
                        continue
                    self.fail(f"{case.name}, {one}", wrong)
        best = {
            dependent: min(
                (t for t in trials if t.dependent is dependent), key=trials.__getitem__
            )
            for dependent in (False, True)
        }
        graphs = {
            "ours": graph_of(ours(best[False])),
            "ours, dependent": graph_of(ours(best[True])),
        }
        out.fill_(torch.nan)
        graphs["ours"].replay()
        recorded = out.clone()
        out.fill_(torch.nan)
        launch(x, weights.packed[-1], out, best[False])
        assert torch.equal(recorded, out), "a graph computes something else"
        readers = self.reader(case, weights)
        graphs |= {name: graph_of(actions) for name, actions in readers.items()}
        graphs |= others
        times = alternate(graphs, ROUNDS)
        self.note(case, problem, times, best, trials, errors)

    def reader(self, case: Case, weights: WeightSet) -> dict[str, list[Action]]:
        """Return the fastest kernels that read the same bytes, by name.

        They are plain; dependent, and ended in order as ours are; and unordered, which
        nothing that a stream runs may be, and which no bar is about.
        """
        key = case.format, case.n, case.k
        sink = torch.zeros(weights.packed[0].weight.numel(), dtype=torch.int32)
        sink = sink.cuda()

        def actions(each: int, warps: int, kind: str) -> list[Action]:
            dependent = kind != "read"
            made: list[Action] = []
            for packed in weights.packed:
                first = packed.weight
                second = packed.scales.view(torch.int32)
                grid = (triton.cdiv(first.numel(), each),)
                extra = {"launch_pdl": True} if dependent else {}

                def read(
                    first: Any = first,
                    second: Any = second,
                    grid: Any = grid,
                    extra: Any = extra,
                ) -> None:
                    read_words[grid](
                        first,
                        second,
                        sink,
                        first.numel(),
                        second.numel(),
                        EACH=each,
                        DEPENDENT=dependent,
                        ORDERED=kind == "read, dependent",
                        num_warps=warps,
                        **extra,
                    )

                made.append(read)
            return made

        if key not in self.readers:
            self.readers[key] = {}
            for kind in READERS:
                tried = {}
                for each, warps in (
                    (2048, 4),
                    (4096, 4),
                    (8192, 4),
                    (4096, 8),
                    (8192, 8),
                    (16384, 8),
                    (16384, 16),
                ):
                    graph = graph_of(actions(each, warps, kind))
                    tried[each, warps] = min(microseconds(graph, 4) for _ in range(3))
                self.readers[key][kind] = min(tried, key=tried.__getitem__)
        return {
            kind: actions(each, warps, kind)
            for kind, (each, warps) in self.readers[key].items()
        }

    def baselines(
        self,
        case: Case,
        weights: WeightSet,
        x: torch.Tensor,
        exact: torch.Tensor,
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Return graphs of dequantisation and cuBLAS, and of Inductor's, checked."""
        torch._dynamo.reset()
        rounding = rounding_of(exact)
        plain = dequantiser(case.format)
        dequantise = torch.compile(plain, dynamic=False)

        def product(
            x: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor
        ) -> torch.Tensor:
            return x @ plain(codes, scales).T

        def reduction(
            x: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor
        ) -> torch.Tensor:
            return (x * plain(codes, scales)).float().sum(-1)[None].to(x.dtype)

        ways: dict[str, Callable[..., torch.Tensor]] = {
            "dequantise + cuBLAS": lambda x, c, s: x @ dequantise(c, s).T,
            "Inductor": torch.compile(product, dynamic=False),
        }
        if self.options.max_autotune:
            ways["Inductor, max-autotune"] = torch.compile(
                product, dynamic=False, mode="max-autotune-no-cudagraphs"
            )
        if case.m == 1:
            ways["Inductor, as a reduction"] = torch.compile(reduction, dynamic=False)
        graphs: dict[str, Any] = {}
        errors: dict[str, float] = {}
        with torch.no_grad():
            for name, way in ways.items():
                try:
                    got = way(x, *weights.natural[0])
                    errors[name] = float((got.double() - exact).norm()) / rounding
                    assert errors[name] < 100, f"error {errors[name]:.3g}"
                    graphs[name] = graph_of(
                        [
                            lambda way=way, pair=pair: way(x, *pair)  # type: ignore[misc]
                            for pair in weights.natural
                        ]
                    )
                except Exception as wrong:  # counted, and the run goes on
                    self.fail(f"{case.name}, {name}", wrong)
        return graphs, errors

    def note(
        self,
        case: Case,
        problem: Problem,
        times: dict[str, float],
        best: dict[bool, Tiling],
        trials: dict[Tiling, float],
        errors: dict[str, float],
    ) -> None:
        """Add a row, and print it."""
        mine = min(times["ours"], times["ours, dependent"])
        read = min(times["read"], times["read, dependent"])
        other = min(
            value
            for name, value in times.items()
            if not name.startswith(("ours", "read"))
        )
        of_read, faster = read / mine, other / mine
        bars = {}
        if case.m <= ROWS:
            bars["read"] = of_read >= READ_BAR
        if case.m <= 64:
            bars["faster"] = faster >= FASTER_BAR
        self.report["rows"].append(
            {
                **case._asdict(),
                "bytes": problem.weight_bytes,
                "us": {name: round(value, 3) for name, value in times.items()},
                "of_read": round(of_read, 4),
                "of_read_plain": round(times["read"] / times["ours"], 4),
                "of_read_unordered": round(times["read, unordered"] / mine, 4),
                "of_read_dependent": round(
                    times["read, dependent"] / times["ours, dependent"], 4
                ),
                "times_faster": round(faster, 3),
                "terabytes_per_second": round(problem.weight_bytes / mine / 1e6, 3),
                "bars": bars,
                "tiling": {str(key): shown(value) for key, value in best.items()},
                "in_flight_kib": {
                    str(key): in_flight(problem, case.m, value)
                    for key, value in best.items()
                },
                "reader": self.readers[case.format, case.n, case.k],
                "tried": {
                    json.dumps(shown(tiling)): round(value, 2)
                    for tiling, value in trials.items()
                },
                "baseline_error_in_roundings": {
                    name: round(value, 2) for name, value in errors.items()
                },
            }
        )
        print(
            f"{case.name:28} ours {mine:7.2f} us, read {read:6.2f} us "
            f"({of_read:.2f}), best other {other:7.2f} us ({faster:.2f} x) "
            f"{'' if all(bars.values()) else 'MISSED'}",
            flush=True,
        )


def shown(tiling: Tiling) -> dict[str, Any]:
    """Return a tiling as numbers."""
    return asdict(tiling)


def in_flight(problem: Problem, m: int, tiling: Tiling) -> float | None:
    """Return what a multiprocessor has asked for at once [KiB]; None: unknown."""
    major, minor = torch.cuda.get_device_capability()
    ragged = m % tiling.rows != 0
    _, compiled = build(problem, tiling, ragged, 10 * major + minor)
    if not compiled.n_regs:
        return None
    threads = 32 * tiling.warps
    registers = -(-compiled.n_regs // 8) * 8 * threads
    resident = min(REGISTERS // registers, THREADS // threads)
    weights = ROWS * tiling.row_tiles * tiling.depth * problem.format.bits // 8
    steps = min(tiling.stages, tiling.steps(problem))
    return float(resident * tiling.warps * weights * steps / 1024)


def main() -> int:
    """Measure everything; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", "--json", type=Path, default=RESULTS)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    parser.add_argument("--deadline", type=float, default=540, help="[s]")
    parser.add_argument(
        "--formats", "--only", nargs="+", default=["int4", "mxfp4"], help="int4 mxfp4"
    )
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROW_COUNTS))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--max-autotune", action="store_true")
    options = parser.parse_args()
    begin = time.monotonic()
    bench = Bench(options)
    bench.run()
    rows = bench.report["rows"]
    if rows:
        bench.report["geomean_times_faster"] = round(
            math.exp(statistics.fmean(math.log(row["times_faster"]) for row in rows)), 3
        )
        met = [met for row in rows for met in row["bars"].values()]
        bench.report["bars_met"] = f"{sum(met)} of {len(met)}"
        print(bench.report["bars_met"], "bars met")
    bench.report["seconds"] = round(time.monotonic() - begin, 1)
    bench.save()
    return 1 if bench.report["failures"] or bench.report["skipped"] else 0


if __name__ == "__main__":
    sys.exit(main())
