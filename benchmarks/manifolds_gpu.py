"""Are the kernels of expRNN and of the exponential right, and how fast are they?

    PYTHONPATH=. python benchmarks/manifolds_gpu.py --out manifolds_gpu.json

Scans and exponentials of random data are compared with float64, into memory that held
NaN before. Then, alternating with the baselines: the recurrence against cuDNN's tanh
RNN of the same size, the whole training step of the copying task against hoisted eager
code, the same with the recurrence in a CUDA graph, and torch.compile (in a process of
its own, given up after a time), and the exponential with its gradient against
torch.matrix_exp. Times are medians of device events; what was compiled is timed after a
first call.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import torch
import triton
from torch import Tensor, nn

from benchmarks.manifolds_baselines import Graphed, Hoisted, training_data
from manifolds.charts import SO
from manifolds.charts.tori import torus
from manifolds.expm import expm, frechet
from manifolds.expm import launch as exponentials
from manifolds.recurrent import launch as scans
from manifolds.recurrent.loop import backward_loop, forward_loop
from manifolds.recurrent.scan import scan
from manifolds.tasks import Batch, Copying
from manifolds.training import Settings
from manifolds.training.checkpoint import Progress
from manifolds.training.network import Network, make_optimizers
from manifolds.training.recorded import RecordedPass
from manifolds.training.run import take_step

Action = Callable[[], object]
SCANS = (
    *((190, 128, 200), (190, 200, 9), (190, 1024, 6), (170, 16, 40), (192, 5, 7)),
    *((100, 40, 20), (60, 9, 30), (40, 3, 9), (17, 5, 5), (3, 2, 4)),
)
"""n, batch, steps."""
SHARED_SCANS = (
    *((360, 128, 60), (360, 16, 60), (512, 128, 60), (512, 7, 20), (256, 128, 20)),
    *((230, 300, 9), (384, 3, 20)),
)
"""Those where programs share the columns; if they wait for ever, the rest is safe."""
BATCHES = ((4, 100_000), (16, 10_000), (32, 10_000), (64, 1_000))
VARIANTS: dict[int, tuple[dict[str, Any], ...]] = {
    16: ({"num_warps": 1}, {"num_warps": 1, "precision": "ieee"}),
    32: (
        *({"num_warps": 4}, {"num_warps": 4, "maxnreg": 128}),
        *({"num_warps": 4, "maxnreg": 168}, {"num_warps": 8, "maxnreg": 128}),
        *({"num_warps": 2},),
    ),
    64: ({"num_warps": 4}, {"num_warps": 8, "maxnreg": 128}),
}
"""Launches of the derivative that are compared."""
SINGLES = (190, 360, 512)
CALLS = 10
"""Calls in a row of which an exponential's time is the mean: a step has many."""
SCAN_BOUND = 2e-5
EXPM_BOUND = 2e-6
CUDNN_BAR, STEP_BAR = 2.5, 12.0
EXPM_BARS = {"small": 10.0, "64": 3.0, "190": 2.0, "360": 2.0, "512": 2.0}


def main() -> int:
    """Measure everything; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    parser.add_argument("--length", type=int, default=1000)
    parser.add_argument("--compile-seconds", type=float, default=150)
    parser.add_argument("--deadline", type=float, default=280, help="seconds in all")
    parser.add_argument("--variants", action="store_true", help="other launches too")
    bench = Bench(parser.parse_args())
    variants = (bench.time_variants,) if bench.options.variants else ()
    for part in (
        bench.check_scans,
        bench.check_exponentials,
        bench.time_exponentials,
        bench.time_recurrence,
        bench.time_step,
        bench.measure_drift,
        bench.time_compiled_step,
        bench.check_shared_scans,
        bench.time_shared_recurrence,
        bench.time_sizes,
        *variants,
    ):
        try:
            bench.run(part)
        except Exception as error:  # a part must not take the others down
            bench.fail(part.__name__, repr(error)[:600])
        bench.write()
    bench.summarise()
    bench.write()
    return 1 if bench.report["failures"] else 0


def relative(found: Tensor, exact: Tensor) -> float:
    """Return the relative error; NaN and what was not written count as infinite."""
    error = float((found.double() - exact).norm() / exact.norm())
    return error if math.isfinite(error) else math.inf


def poison(*shapes: torch.Size) -> None:
    """Fill with NaN the memory that the next tensors of these shapes get."""
    dirt = [torch.full(shape, torch.nan, device="cuda") for shape in shapes * 2]
    del dirt


def milliseconds(action: Action) -> float:
    """Return the time between two events around the action."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    action()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def in_a_row(action: Action) -> Action:
    """Return an action that runs another some times."""

    def repeated() -> None:
        for _ in range(CALLS):
            action()

    return repeated


def alternate(actions: dict[str, Action], rounds: int) -> dict[str, float]:
    """Return the median time of each [ms], all in turn."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(milliseconds(action))
    return {name: statistics.median(values) for name, values in times.items()}


class Bench:
    """Options, data and the report of one run."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Describe the machine; start what compiles for long."""
        self.options = options
        self.begin = time.perf_counter()
        self.report: dict[str, Any] = {
            "question": (__doc__ or "").splitlines()[0],
            "commit": options.commit,
            "gpu": torch.cuda.get_device_name(),
            "versions": {
                "python": sys.version.split()[0],
                "torch": torch.__version__,
                "triton": triton.__version__,
                "cudnn": torch.backends.cudnn.version(),
                "cuda": torch.version.cuda,
            },
            "tf32": torch.backends.cuda.matmul.allow_tf32,
            "length": options.length,
            "cases": 0,
            "failures": [],
            "seconds": {},
        }
        torch.manual_seed(7)
        if options.compile_seconds:
            self.compiled = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("manifolds_baselines.py")),
                    str(options.length),
                    str(options.out.with_suffix(".compiled")),
                    str(options.out.with_suffix(".go")),
                ]
            )

    def run(self, part: Callable[[], None]) -> None:
        """Run a part if there is time, and note how long it took."""
        begin = time.perf_counter()
        if begin - self.begin > self.options.deadline:
            self.fail(part.__name__, "no time was left")
            return
        part()
        took = time.perf_counter() - begin
        self.report["seconds"][part.__name__] = round(took, 1)
        print(f"{part.__name__}: {took:.1f} s", flush=True)

    def fail(self, name: str, why: str) -> None:
        """Note what went wrong."""
        self.report["failures"].append({"part": name, "why": why})
        print(f"FAILED {name}: {why}", flush=True)

    def check(self, name: str, error: float, bound: float) -> None:
        """Count a case; note it if the error is too large."""
        self.report["cases"] += 1
        if not error <= bound:
            self.fail(name, f"relative error {error:.2e} > {bound:.0e}")

    def write(self) -> None:
        """Write what is known."""
        self.options.out.parent.mkdir(parents=True, exist_ok=True)
        self.options.out.write_text(json.dumps(self.report, indent=1) + "\n")

    def check_scans(self) -> None:
        """Compare scans of all kinds of sizes with the loop in float64."""
        self.check_sizes(SCANS)
        self.check_packed()

    def check_shared_scans(self) -> None:
        """Do the same where programs share the columns."""
        self.check_sizes(SHARED_SCANS)

    def check_sizes(self, cases: tuple[tuple[int, int, int], ...]) -> None:
        """Compare some scans with the loop in float64."""
        rows = self.report.setdefault("scan_errors", [])
        for n, batch, steps in cases:
            x, start, weight, bias, gradient = scan_data(n, batch, steps)
            sizes = (batch,) * steps
            exact = tuple(t.double() for t in (x, start, weight, bias))
            h = forward_loop(exact[0], exact[1], exact[2], exact[3], sizes)
            poison(x.shape)
            found = scans.forward_launch(x, start, weight, bias, sizes)
            states = h.float()
            wanted = backward_loop(
                gradient.double(), states.double(), exact[2], exact[3], sizes
            )
            poison(x.shape)
            got = scans.backward_launch(gradient, states, weight, bias, sizes)
            errors = [
                relative(one, other)
                for one, other in zip((found, *got), (h, *wanted), strict=True)
            ]
            rows.append({"n": n, "batch": batch, "steps": steps, "errors": errors})
            self.check(f"scan {n} {batch} {steps}", max(errors), SCAN_BOUND)

    def check_packed(self) -> None:
        """Compare scans of sequences of different lengths."""
        rows = self.report.setdefault("scan_errors", [])
        ragged = (5, 5, 3, 2, 2, 1)
        x, start, weight, bias, gradient = scan_data(190, 5, 6)
        x, gradient = x[: sum(ragged)], gradient[: sum(ragged)]
        exact = tuple(t.double() for t in (x, start, weight, bias))
        h = forward_loop(exact[0], exact[1], exact[2], exact[3], ragged)
        found = scans.forward_launch(x, start, weight, bias, ragged)
        wanted = backward_loop(gradient.double(), h, exact[2], exact[3], ragged)
        got = scans.backward_launch(gradient, h.float(), weight, bias, ragged)
        pairs = zip((found, *got), (h, *wanted), strict=True)
        errors = [relative(one, other) for one, other in pairs]
        rows.append({"n": 190, "sizes": ragged, "errors": errors})
        self.check("packed scan", max(errors), SCAN_BOUND)

    def check_exponentials(self) -> None:
        """Compare exponentials and adjoints with float64, torch's errors beside."""
        rows = self.report["expm_errors"] = []
        cases = [
            *((f"{c} x {n}", skews(n, c), EXPM_BOUND) for n, c in BATCHES),
            *((f"{n}", skews(n, 9), EXPM_BOUND) for n in (2, 5)),
            *((f"Henaff {n}", one_henaff(n), EXPM_BOUND) for n in SINGLES),
        ]
        for name, exact, bound in cases:
            matrix = exact.float().requires_grad_()
            exact = matrix.detach().double()
            gradient = torch.randn_like(matrix)
            adjoint = torch.cat(
                [
                    frechet(a.mH, g.double())
                    for a, g in zip(exact.split(500), gradient.split(500), strict=True)
                ]
            )
            value = torch.cat([expm(a) for a in exact.split(500)])
            errors = {}
            for subject, f in (("ours", expm), ("torch", torch.matrix_exp)):
                poison(matrix.shape)
                found = f(matrix)
                (got,) = torch.autograd.grad(found, matrix, gradient)
                errors[subject] = [relative(found, value), relative(got, adjoint)]
            rows.append({"case": name, "errors": errors})
            self.check(f"expm {name}", max(errors["ours"]), bound)
        bad = skews(16, 4).float()
        bad[1, 2, 3] = torch.nan
        found = expm(bad)
        spoilt = found[1].isnan().all() and not found[[0, 2, 3]].isnan().any()
        self.check("expm NaN", 0.0 if spoilt else math.inf, 0.0)

    def time_exponentials(self) -> None:
        """Time forward and backward next to torch.matrix_exp, per call of many."""
        rows = self.report["expm"] = []
        cases = [
            *((n, count, skews(n, count)) for n, count in BATCHES),
            *((n, 1, one_henaff(n)[0]) for n in SINGLES),
        ]
        for n, count, exact in cases:
            matrix = exact.float().requires_grad_()
            gradient = torch.randn_like(matrix)
            times = alternate(
                {
                    f"{name}_{part}": in_a_row(partial(f, function, matrix, gradient))
                    for name, function in (("ours", expm), ("torch", torch.matrix_exp))
                    for part, f in (("forward", forward), ("both", both))
                },
                21,
            )
            times = {name: value / CALLS for name, value in times.items()}
            ratio = times["torch_both"] / times["ours_both"]
            rows.append({"n": n, "count": count, "ratio": ratio, **times})
            print(
                f"expm {count} x {n}: ours {times['ours_forward']:.3f} "
                f"{times['ours_both']:.3f} torch {times['torch_forward']:.3f} "
                f"{times['torch_both']:.3f} ms, {ratio:.1f} x",
                flush=True,
            )

    def time_recurrence(self) -> None:
        """Time the scans next to cuDNN's RNN and LSTM."""
        self.compare_recurrence((190,))

    def time_shared_recurrence(self) -> None:
        """Do the same where programs share the columns."""
        self.compare_recurrence((360, 512))

    def compare_recurrence(self, sizes: tuple[int, ...]) -> None:
        """Time the scans of batch 128 next to cuDNN's layers."""
        steps, batch = self.options.length + 20, 128
        rows = self.report.setdefault("recurrence", [])
        for n in sizes:
            ours = Recurrence(n, batch, steps)
            rnn, lstm = nn.RNN(10, n).cuda(), nn.LSTM(10, n).cuda()
            inputs = torch.randn(steps, batch, 10, device="cuda")
            times = alternate(
                {
                    "ours": ours.both,
                    "ours_forward": ours.forward,
                    "cudnn_tanh": partial(layer_step, rnn, inputs, ours.gradient),
                    "cudnn_lstm": partial(layer_step, lstm, inputs, ours.gradient),
                },
                9,
            )
            rows.append({"n": n, "batch": batch, "steps": steps, **times})
            print(f"recurrence n={n} batch={batch}: {rounded(times)}", flush=True)

    def time_variants(self) -> None:
        """Time the launches with other numbers of warps and other precisions."""
        rows = self.report["variants"] = []
        for n, batch in ((190, 128), (360, 128), (512, 128)):
            ours = Recurrence(n, batch, 200)
            usual = scans.cut(n, batch, scans.processors(ours.x.device))
            actions: dict[str, Action] = {}
            for warps in (4, 8):
                fields = {f: getattr(usual, f) for f in usual.__slots__}
                chosen = scans.Cut(**{**fields, "warps": warps})
                actions[f"{warps} warps"] = partial(ours.scan_with, chosen)
            times = alternate(actions, 5)
            rows.append({"scan": n, "batch": batch, "steps": 200, **times})
            print(f"scan n={n}, 200 steps, forward: {rounded(times)}", flush=True)
        for n, count in BATCHES[1:]:
            matrix, gradient = skews(n, count).float(), skews(n, count).float()
            actions = {
                str(options): in_a_row(
                    partial(exponentials.launch, matrix, gradient, **options)
                )
                for options in VARIANTS[n]
            }
            times = alternate(actions, 5)
            times = {name: value / CALLS for name, value in times.items()}
            rows.append({"frechet": n, "count": count, **times})
            print(f"frechet {count} x {n}: {rounded(times)}", flush=True)

    def time_sizes(self) -> None:
        """Time the recurrence by batch."""
        steps = self.options.length + 20
        rows = self.report["sizes"] = []
        for n in (190, 360, 512):
            for batch in (16, 64, 256, 1024):
                ours = Recurrence(n, batch, steps)
                rnn = nn.RNN(10, n).cuda()
                inputs = torch.randn(steps, batch, 10, device="cuda")
                step = partial(layer_step, rnn, inputs, ours.gradient)
                times = alternate({"ours": ours.both, "cudnn_tanh": step}, 2)
                rows.append({"n": n, "batch": batch, "steps": steps, **times})
                print(f"recurrence n={n} batch={batch}: {rounded(times)}", flush=True)

    def time_step(self) -> None:
        """Time the whole training step of the copying task."""
        length = self.options.length
        data = training_data(length)
        ours = OurStep(length, data)
        hoisted = Hoisted(data)
        begin = time.perf_counter()
        graphed = Graphed(data)
        graphed.step()
        torch.cuda.synchronize()
        self.report["graph_capture_seconds"] = time.perf_counter() - begin
        ours.step()
        times = alternate(
            {
                "ours": ours.step,
                "hoisted_eager": hoisted.step,
                "cuda_graph": graphed.step,
            },
            7,
        )
        times["ours_alone"] = alternate({"ours": ours.step}, 21)["ours"]
        self.report["step"] = {"n": 190, "batch": 128, **times}
        print(f"training step: {rounded(times)}", flush=True)
        self.report["kernels"] = launches(ours.step)
        eager = OurStep(length, data)
        alone = alternate({"ours": eager.eager_step}, 9)["ours"]
        self.report["step"]["ours_without_graph"] = alone

    def time_compiled_step(self) -> None:
        """Ask the other process for the time of the compiled step."""
        if not self.options.compile_seconds:
            return
        left = self.options.compile_seconds - (time.perf_counter() - self.begin)
        self.options.out.with_suffix(".go").touch()
        try:
            self.compiled.wait(max(left, 1))
            result = self.options.out.with_suffix(".compiled")
            self.report["compiled_step"] = json.loads(result.read_text())
        except subprocess.TimeoutExpired:
            self.compiled.kill()
            waited = round(time.perf_counter() - self.begin)
            self.report["compiled_step"] = {"gave_up_after_seconds": waited}
        print(f"torch.compile: {self.report['compiled_step']}", flush=True)

    def measure_drift(self) -> None:
        """Follow the norm of h without input and bias, against float64."""
        weight = expm(one_henaff(190)[0]).float()
        start = torch.randn(128, 190, device="cuda")
        zero = torch.zeros(1020 * 128, 190, device="cuda")
        bias, sizes = torch.zeros(190, device="cuda"), (128,) * 1020
        h = scans.forward_launch(zero, start, weight, bias, sizes)[-128:]
        ratio = (h.norm(dim=1) / start.norm(dim=1) - 1).abs().max()
        self.report["norm_drift_after_1020_steps"] = float(ratio)
        self.check("drift", float(ratio), 1e-3)

    def summarise(self) -> None:
        """Compare with the bars."""
        bars = self.report["bars"] = []

        def judge(name: str, value: float, bar: float, passed: bool) -> None:
            bars.append({"bar": name, "value": value, "wanted": bar, "passed": passed})
            print(f"{'pass' if passed else 'MISS'}  {name}: {value:.2f} ({bar})")

        if rows := self.report.get("recurrence"):
            value = rows[0]["ours"] / rows[0]["cudnn_tanh"]
            judge("recurrence / cuDNN tanh RNN", value, CUDNN_BAR, value <= CUDNN_BAR)
        if step := self.report.get("step"):
            best = min(step["hoisted_eager"], step["cuda_graph"])
            best = min(best, self.report.get("compiled_step", {}).get("ms", best))
            value = best / step["ours"]
            judge("best baseline / our step", value, STEP_BAR, value >= STEP_BAR)
        ratios = {row["n"]: row["ratio"] for row in self.report.get("expm", [])}
        if len(ratios) == len(BATCHES) + len(SINGLES):
            small = math.prod(ratios[n] for n in (4, 16, 32)) ** (1 / 3)
            values = {"small": small, **{str(n): r for n, r in ratios.items()}}
            for name, bar in EXPM_BARS.items():
                judge(f"expm {name}", values[name], bar, values[name] >= bar)
        print(f"{self.report['cases']} cases, {len(self.report['failures'])} failures")


def scan_data(n: int, batch: int, steps: int) -> tuple[Tensor, ...]:
    """Return x, start, weight, bias and a gradient."""
    rows = steps * batch
    weight = SO().sample((n, n), dtype=torch.float32).cuda()
    return (
        torch.randn(rows, n, device="cuda"),
        torch.randn(batch, n, device="cuda"),
        weight,
        torch.randn(n, device="cuda") * 0.3,
        torch.randn(rows, n, device="cuda"),
    )


def skews(n: int, count: int) -> Tensor:
    """Return random skew matrices of norms from small to a few units, float64."""
    raw = torch.randn(count, n, n, dtype=torch.float64, device="cuda")
    sizes = torch.rand(count, 1, 1, dtype=torch.float64, device="cuda") * 4
    skew = raw - raw.mT
    norms = skew.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    return skew / norms * sizes


def one_henaff(n: int) -> Tensor:
    """Return a skew matrix with Henaff's angles [1, n, n], float64."""
    upper = torus("henaff", (1, n, n), dtype=torch.float64).cuda()
    return upper - upper.mT


def forward(f: Callable[[Tensor], Tensor], matrix: Tensor, _: Tensor) -> object:
    """Exponentiate, ready for a gradient."""
    return f(matrix)


def both(f: Callable[[Tensor], Tensor], matrix: Tensor, gradient: Tensor) -> object:
    """Exponentiate and differentiate."""
    return torch.autograd.grad(f(matrix), matrix, gradient)


class Recurrence:
    """Both scans of one size, with the gradients of all but the start."""

    def __init__(self, n: int, batch: int, steps: int) -> None:
        """Draw the data."""
        x, self.start, weight, bias, self.gradient = scan_data(n, batch, steps)
        self.x, self.weight, self.bias = (t.requires_grad_() for t in (x, weight, bias))
        self.sizes = (batch,) * steps
        self.shape = (steps, batch, n)

    def forward(self) -> Tensor:
        """Run the forward scan."""
        return scan(self.x, self.start, self.weight, self.bias, self.sizes)

    def both(self) -> object:
        """Run both scans and the products after them."""
        leaves = (self.x, self.weight, self.bias)
        return torch.autograd.grad(self.forward(), leaves, self.gradient)

    def scan_with(self, chosen: scans.Cut) -> object:
        """Run the forward scan with another cut."""
        x = self.x.detach().view(self.shape)
        weight, bias = self.weight.detach(), self.bias.detach()
        return scans.launch(x, self.start, weight, bias, None, chosen=chosen)


def layer_step(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> object:
    """Run one of torch's layers forward and backward."""
    output = layer(inputs)[0]
    return torch.autograd.grad(
        output, list(layer.parameters()), gradient.view_as(output)
    )


class OurStep:
    """The training step as ``manifolds.train`` takes it."""

    def __init__(self, length: int, data: tuple[Tensor, Tensor]) -> None:
        """Make the network and its optimizer."""
        settings = Settings("copying", "dtriv", length=length, device="cuda")
        self.task = Copying(length)
        self.network = Network(settings, self.task).cuda()
        optimizers = make_optimizers(settings, self.network)
        self.progress = Progress(self.network, optimizers, torch.Generator())
        self.batch = Batch(*data)
        self.recorded = RecordedPass(self.network, self.task, self.batch)

    def eager_step(self) -> None:
        """Take a step without a graph."""
        take_step(self.task, self.progress, self.batch)

    def step(self) -> None:
        """Take a step as it is taken on a GPU."""
        self.recorded(self.batch)
        self.progress.optimizers[0].step()


def launches(step: Action) -> list[dict[str, Any]]:
    """Return the kernels of a step that take longest, and how often they run."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as seen:
        step()
        torch.cuda.synchronize()
    rows = sorted(seen.key_averages(), key=lambda row: -row.self_device_time_total)
    return [
        {"kernel": row.key[:80], "count": row.count, "us": row.self_device_time_total}
        for row in rows[:14]
        if row.self_device_time_total > 0
    ]


def rounded(times: dict[str, float]) -> dict[str, float]:
    """Return times for a line of text [ms]."""
    return {name: round(value, 3) for name, value in times.items()}


if __name__ == "__main__":
    sys.exit(main())
