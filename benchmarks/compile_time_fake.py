"""Cold compile time of seven models for an H200 that is not there, against Inductor.

    python benchmarks/compile_time_fake.py --json OUT.json --commit HASH

Tensors have no data, kernels are compiled to cubins for sm_90 and not launched. Each
compile is a process of its own with empty caches, after one throw-away compile of a
tiny function; ours and Inductor's take turns. Kernels are compiled in that process, one
after the other, so that what each costs is seen; from the times at which each one's
text was ready, the time on a machine with more cores is computed (``modelled``). Time
of what would run on the GPU is not counted. With a build of torch for CUDA, inference
only.
"""

import argparse
import gc
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NAMES = (
    "resnet50",
    "vit-base",
    "convnext-tiny",
    "mixer-b16",
    "bert-base",
    "gpt2",
    "llama-0.3b",
)
BACKENDS = ("tilewright", "inductor")
WORKERS = {"tilewright": 12, "inductor": 16}
"""Processes that compile on a machine with 16 cores."""


def spent() -> float:
    """Return the processor time of this process and of those it has ended [s].

    Other work on the machine changes it less than it changes the time of day.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


class Clock:
    """Time by phases: what a phase takes without those that it contains.

    Attributes:
        seconds: Phase -> seconds.
        jobs: Of each compiled kernel: when its text was ready, and how long it took;
            both in seconds, the first of them without the time of other kernels.
        stages: Step of Triton's -> seconds.
        waits: Times at which the caller waits for all kernels so far.
        again: Of each of our kernels: reads it from Triton's cache.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.jobs: list[tuple[float, float]] = []
        self.stages: dict[str, float] = defaultdict(float)
        self.waits: list[float] = []
        self.again: list[Callable[[], Any]] = []
        self._open: list[str] = ["dynamo"]
        self._since = spent()

    def _pass(self) -> None:
        now = spent()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is inside to a phase."""
        self._pass()
        self._open.append(name)
        try:
            yield
        finally:
            self._pass()
            self._open.pop()

    def now(self) -> float:
        """Return the seconds so far of the caller's own work."""
        self._pass()
        outside = ("triton", "run")
        return sum(s for name, s in self.seconds.items() if name not in outside)

    def timed(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return the function, counted to a phase."""

        def call(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return function(*args, **kwargs)

        return call

    @property
    def current(self) -> str:
        """The innermost phase."""
        return self._open[-1]

    def finish(self) -> None:
        """Count the time since the last phase."""
        self._pass()


def modelled(
    own: float, jobs: list[tuple[float, float]], waits: list[float], workers: int
) -> float:
    """Return the time with several processes that compile [s].

    Args:
        own: Work of the caller [s].
        jobs: When each is ready, on the caller's clock, and how long it takes [s].
        waits: When the caller waits for all jobs that are ready, on its clock [s].
        workers: Processes.

    Example:
        >>> modelled(3.0, [(1.0, 2.0), (1.0, 2.0)], [2.0], 2)
        4.0
        >>> modelled(3.0, [(1.0, 2.0), (1.0, 2.0)], [2.0], 1)
        6.0
    """
    free = [0.0] * workers
    late, last = 0.0, 0.0
    marks = sorted([(t, 1, 0.0) for t in waits] + [(r, 0, took) for r, took in jobs])
    for moment, waiting, took in marks:
        if waiting:
            late = max(late, last - moment)
            continue
        first = free.index(min(free))
        free[first] = max(free[first], moment + late) + took
        last = max(last, free[first])
    return own + late


def fused_attention() -> Any:
    """Let attention be the fused operator that a GPU would take; return its keeper."""
    import torch

    library = torch.library.Library("aten", "IMPL")
    flash = torch.ops.aten._scaled_dot_product_flash_attention.default

    def attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if attn_mask is not None or enable_gqa or query.dtype == torch.float32:
            efficient = torch.ops.aten._scaled_dot_product_efficient_attention.default
            bias = attn_mask
            if bias is not None:
                if bias.dtype == torch.bool:
                    bias = torch.where(bias, 0.0, -math.inf).to(query.dtype)
                bias = bias.expand(*query.shape[:-1], key.shape[-2])
            return efficient(
                query, key, value, bias, True, dropout_p, is_causal, scale=scale
            )[0]
        return flash(query, key, value, dropout_p, is_causal, scale=scale)[0]

    for key in ("CUDA", "AutogradCUDA"):
        library.impl("scaled_dot_product_attention", attention, key)
    return library


def model_without_data(name: str, training: bool) -> Any:
    """Return a model as ``fusing_gpu_models`` or ``training_gpu`` has it, no data."""
    import torch

    from benchmarks import fusing_gpu_models, training_models

    with torch.device("meta"), mock.patch.object(torch.nn.Module, "cuda", _itself):
        if training:
            return training_models.model_of(name)
        return fusing_gpu_models.model_of(name)


def _itself(module: Any) -> Any:
    return module


def batch_of(name: str, training: bool) -> tuple[Any, ...]:
    """Return the arguments of a model, without data where that is the mode."""
    import torch

    from benchmarks import fusing_gpu_models, training_models

    if name in training_models.LANGUAGE:
        shape = fusing_gpu_models._TOKENS[name]
        if training:
            shape = training_models.LANGUAGE[name].tokens
        inputs = torch.zeros(shape, dtype=torch.int64)
        return (inputs, torch.zeros_like(inputs)) if training else (inputs,)
    inputs = torch.zeros(training_models._IMAGES)
    labels = torch.zeros(len(inputs), dtype=torch.int64)
    return (inputs, labels) if training else (inputs,)


def watch_triton(clock: Clock) -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced in Triton: its stages are timed."""
    import triton

    def listen(*, times: Any, cache_hit: bool, **rest: Any) -> None:
        if cache_hit:
            clock.stages["found in the cache"] += 1
            return
        clock.stages["kernels"] += 1
        clock.stages["front end"] += times.ir_initialization * 1e-6
        for stage, took in times.lowering_stages:
            clock.stages[stage] += took * 1e-6
        clock.stages["stored"] += times.store_results * 1e-6

    yield triton.knobs.compilation, "listener", listen


def watch_ours(clock: Clock) -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced in our compiler."""
    from compiler.frontend.trace import Trace
    from compiler.runtime.triton_kernel import TritonKernel
    from compiler.runtime.triton_pool import POOL

    build: Any = import_module("compiler.codegen.triton.build")
    capture: Any = import_module("compiler.frontend.capture")
    graph: Any = import_module("compiler.frontend.graph")
    plain_step, plain_compile = Trace.step, TritonKernel.compile

    @contextmanager
    def step(self: Any, name: str) -> Iterator[None]:
        with clock.phase(name), plain_step(self, name):
            yield

    def compiled(self: Any, aligned: bool = True, *, arch: int | None = None) -> Any:
        key = (*self.key, aligned, arch)
        if key in seen:
            return plain_compile(self, aligned, arch=arch)
        seen.add(key)
        moment = ready.get(self.key, clock.now())
        start = spent()
        with clock.phase("triton"):
            found = plain_compile(self, aligned, arch=arch)
        clock.jobs.append((moment, spent() - start))
        clock.again.append(lambda: plain_compile(self, aligned, arch=arch))
        return found

    seen: set[Any] = set()
    ready: dict[Any, float] = {}
    plain_begin, plain_finish = build.Compilation._begin, build.Compilation.finish

    def begin(self: Any, kernel: Any) -> None:
        plain_begin(self, kernel)
        ready.setdefault(kernel.key, clock.now())

    def finish(self: Any) -> None:
        plain_finish(self)
        clock.waits.append(clock.now())

    POOL.size = 0
    yield build.Compilation, "_begin", begin
    yield build.Compilation, "finish", finish
    yield Trace, "step", step
    yield TritonKernel, "compile", compiled
    yield TritonKernel, "__call__", lambda self, *arguments: None
    yield graph, "compile_graph", clock.timed(graph.compile_graph, "other")
    yield capture, "compile_graph", clock.timed(capture.compile_graph, "other")
    yield capture, "differentiate", clock.timed(capture.differentiate, "autograd")
    plain_checked = graph._checked
    yield (
        graph,
        "_checked",
        lambda *args: clock.timed(plain_checked(*args), "run"),
    )


def watch_inductor(clock: Clock) -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced in Inductor."""
    from torch._inductor import codecache, compile_fx, output_code
    from torch._inductor.codegen.triton import TritonScheduling
    from torch._inductor.graph import GraphLowering
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    from torch._inductor.scheduler import Scheduler

    for holder, name, phase in (
        (compile_fx, "compile_fx", "autograd"),
        (compile_fx, "compile_fx_inner", "other"),
        (compile_fx, "view_to_reshape", "passes"),
        (compile_fx, "_recursive_post_grad_passes", "passes"),
        (compile_fx, "_recursive_joint_graph_passes", "passes"),
        (compile_fx, "_recursive_pre_grad_passes", "passes"),
        (GraphLowering, "run", "lower"),
        (Scheduler, "__init__", "schedule"),
        (GraphLowering, "codegen", "code"),
        (codecache.PyCodeCache, "load_by_key_path", "load"),
        (codecache.FxGraphCache, "prepare_key", "key"),
        (codecache.FxGraphCache, "_save_graph", "keep"),
    ):
        if hasattr(holder, name):
            yield holder, name, clock.timed(getattr(holder, name), phase)
    ready: dict[str, float] = {}
    plain_define: Any = TritonScheduling.define_kernel

    def define(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = plain_define(self, *args, **kwargs)
        ready.setdefault(name, clock.now())
        return name

    plain_worker: Any = CachingAutotuner._precompile_worker

    def precompile(self: Any, *args: Any, **kwargs: Any) -> None:
        start = spent()
        with clock.phase("triton"):
            plain_worker(self)
        clock.stages["configurations"] += len(self.compile_results)
        when = ready.get(self.fn.__name__, clock.now())
        clock.jobs.append((when, spent() - start))

    plain_get: Any = codecache.PyCodeCache.load_by_key_path

    def loaded(*args: Any, **kwargs: Any) -> Any:
        with clock.phase("load"):
            found = plain_get(*args, **kwargs)
        clock.waits.append(clock.now())
        return found

    yield TritonScheduling, "define_kernel", define
    yield CachingAutotuner, "precompile", precompile
    yield CachingAutotuner, "run", lambda self, *args, **kwargs: None
    yield codecache.PyCodeCache, "load_by_key_path", loaded
    plain_call = output_code.CompiledFxGraph.__call__
    yield output_code.CompiledFxGraph, "__call__", clock.timed(plain_call, "run")


def compiled_with(model: Any, backend: str) -> Any:
    """Return the model, to be compiled at its first call."""
    import torch

    if backend == "inductor":
        return torch.compile(model)
    from tilewright.backend import compile as ours

    return torch.compile(model, backend=ours)


def child(
    name: str, backend: str, training: bool, profile: Path | None
) -> dict[str, Any]:
    """Compile one model in this process and return what it took."""
    from benchmarks import fake_cuda

    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    of_cuda = Path(spec.origin).with_name("lib").joinpath("libtorch_cuda.so").exists()
    if not of_cuda:
        fake_cuda.load()
    import torch
    from torch._inductor import config
    from torch._subclasses import fake_tensor
    from torch._subclasses.fake_tensor import FakeTensorMode

    from benchmarks.model_zoo import declare_vision_operators
    from benchmarks.pretended_gpu import pretended

    declare_vision_operators()
    model = model_without_data(name, training)
    keeper = fused_attention()
    watch = watch_ours if backend == "tilewright" else watch_inductor
    clock = Clock()
    paused: dict[str, float] = defaultdict(float)
    began = 0.0

    def collecting(phase: str, facts: dict[str, Any]) -> None:
        nonlocal began
        if phase == "start":
            began = spent()
        else:
            paused[clock.current] += spent() - began

    with ExitStack() as stack:
        stack.enter_context(
            config.patch(
                size_asserts=False,
                alignment_asserts=False,
                shape_padding=False,  # decided by timing products
            )
        )
        stack.enter_context(pretended())
        if of_cuda:
            stack.enter_context(
                mock.patch.object(
                    fake_tensor, "init_gpu_context", lambda *args: None, create=True
                )
            )
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(torch.device("cuda"))
        for holder, key, instead in (*watch_triton(clock), *watch(clock)):
            stack.enter_context(mock.patch.object(holder, key, instead))
        with torch.no_grad():
            tiny = compiled_with(lambda x: (x + 1).sum(), backend)
            tiny(torch.randn(64, 64))
        torch._dynamo.reset()
        fake_cuda._without_data(model, "cuda")
        batch = batch_of(name, training)
        ready = compiled_with(model, backend)
        gc.collect()
        clock.__init__()  # type: ignore[misc]
        paused.clear()
        gc.callbacks.append(collecting)
        profiler: Any = None
        if profile is not None:
            import cProfile

            profiler = cProfile.Profile()
            profiler.enable()
        start = spent()
        with (
            warnings.catch_warnings(record=True) as told,
            torch.set_grad_enabled(training),
            torch.autocast("cuda", torch.bfloat16),
        ):
            warnings.simplefilter("always")
            result = ready(*batch)
        if training:
            result.backward()
        clock.finish()
        seconds = spent() - start
        if profiler is not None:
            profiler.disable()
            profiler.dump_stats(profile)
    gc.callbacks.remove(collecting)
    reread = _reread(clock) if backend == "tilewright" else 0.0
    del keeper
    slower = [str(w.message)[:300] for w in told if "slower" in str(w.message)]
    own = sum(s for key, s in clock.seconds.items() if key not in ("triton", "run"))
    run = clock.seconds.get("run", 0.0)
    return {
        "serial_s": seconds - run,
        "own_s": own,
        "modelled_16_s": reread
        + modelled(own, clock.jobs, clock.waits, WORKERS[backend]),
        "reread_s": reread,
        "kernels": len(clock.jobs),
        "longest_kernel_s": max((took for _, took in clock.jobs), default=0.0),
        "phases_s": dict(clock.seconds),
        "triton": dict(clock.stages),
        "collector_s": dict(paused),
        "fallbacks": slower,
    }


def _reread(clock: Clock) -> float:
    """Return what reading all compiled kernels from Triton's cache takes [s].

    With processes that compile, the caller reads what they compiled.
    """
    from compiler.runtime import triton_kernel

    triton_kernel._COMPILED.clear()
    triton_kernel.load_function.cache_clear()
    began = spent()
    for again in clock.again:
        again()
    return spent() - began


def one(
    name: str, backend: str, training: bool, profile: Path | None = None
) -> dict[str, Any]:
    """Compile one model in a process of its own with empty caches."""
    with tempfile.TemporaryDirectory() as room:
        out = Path(room) / "out.json"
        command = [sys.executable, __file__, "--child", name, backend, str(out)]
        command += ["--training"] * training
        command += ["--profile", str(profile)] if profile else []
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": f"{room}/inductor",
            "TILEWRIGHT_CACHE": f"{room}/tilewright",
            "TRITON_CACHE_DIR": f"{room}/triton",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        }
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if not out.exists():
            return {"failed": done.stderr[-3000:]}
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def geomean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return ratios of ours to Inductor's, over the models; failed ones are counted."""
    found: dict[str, Any] = {}
    for training in (False, True):
        chosen = [row for row in rows if row["training"] == training]
        good = [r for r in chosen if all("own_s" in r.get(b, {}) for b in BACKENDS)]
        if not chosen:
            continue
        ratios = {
            key: geomean([r["tilewright"][key] / r["inductor"][key] for r in good])
            for key in ("serial_s", "own_s", "modelled_16_s")
        }
        kind = "training" if training else "inference"
        found[kind] = {"cases": len(chosen), "measured": len(good), **ratios}
    return found


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    for backend in BACKENDS:
        entry = row.get(backend)
        if entry is None:
            continue
        if "failed" in entry:
            print(row["name"], backend, "FAILED", entry["failed"], flush=True)
            continue
        phases = " ".join(
            f"{key} {value:.2f}"
            for key, value in sorted(entry["phases_s"].items(), key=lambda x: -x[1])
            if value >= 0.02
        )
        print(
            f"{row['name']:13s} {'train' if row['training'] else 'infer'} "
            f"{backend:10s} serial {entry['serial_s']:6.2f} own {entry['own_s']:6.2f} "
            f"modelled {entry['modelled_16_s']:6.2f} s kernels {entry['kernels']:3d} "
            f"longest {entry['longest_kernel_s']:.2f} "
            f"gc {sum(entry['collector_s'].values()):.2f} "
            f"| {phases} | fallbacks {len(entry['fallbacks'])}",
            flush=True,
        )


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="other rows that it has are kept")
    parser.add_argument("--models", nargs="*", default=list(NAMES))
    parser.add_argument("--backends", nargs="*", default=list(BACKENDS))
    parser.add_argument("--modes", nargs="*", default=["inference", "training"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--profile", type=Path, default=None)
    parser.add_argument("--training", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, backend, out = options.child
        found = child(name, backend, options.training, options.profile)
        Path(out).write_text(json.dumps(found))
        return 0
    rows: list[dict[str, Any]] = []
    if options.json is not None and options.json.exists():
        rows = json.loads(options.json.read_text())["models"]
    for mode in options.modes:
        for name in options.models:
            row: dict[str, Any] = {"name": name, "training": mode == "training"}
            rows = [r for r in rows if {**r, **row} != r]
            row["commit"] = options.commit
            taken: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for _ in range(options.rounds):
                for backend in options.backends:
                    found = one(name, backend, row["training"], options.profile)
                    taken[backend].append(found)
            for backend, several in taken.items():
                row[backend] = min(several, key=lambda f: f.get("serial_s", math.inf))
            show(row)
            rows.append(row)
            if options.json is not None:
                written = {
                    "machine": {
                        "processor": platform.processor() or platform.machine(),
                        "cores": os.cpu_count(),
                        "python": platform.python_version(),
                        "torch": importlib.metadata.version("torch"),
                        "triton": importlib.metadata.version("triton"),
                        "target": "sm_90, no GPU",
                    },
                    "rounds": options.rounds,
                    "modelled_workers": WORKERS,
                    "summary": summary(rows),
                    "models": rows,
                }
                options.json.write_text(json.dumps(written, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
