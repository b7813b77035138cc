"""Run a script for a GPU on a machine without one, as far as that goes.

    python benchmarks/rehearse_gpu.py assign_gpu --commit none --out /tmp/assign.json

Tensors are on the CPU, Triton's kernels are compiled for an H200 and not launched
(``fake_triton.py``), times are made up, and what the script's own functions for
launching leave in their outputs is the right answer. That finds errors of names,
arguments and interfaces in code that runs on a GPU only; it says nothing about kernels.
Sizes are small. Use the versions of the GPU's machine.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch
import triton
from torch.overrides import TorchFunctionMode

from benchmarks import fake_triton

H200 = "NVIDIA H200 (rehearsed)"


class OnCpu(TorchFunctionMode):
    """Makes on the CPU what is asked for on a GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Replace the device."""
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        args = tuple(
            "cpu"
            if isinstance(arg, str | torch.device) and str(arg).startswith("cuda")
            else arg
            for arg in args
        )
        if func is torch.Tensor.cuda:
            return args[0]
        return func(*args, **kwargs)


class Event:
    """An event; there is a millisecond between any two."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.timed = enable_timing

    def record(self, stream: object = None) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""

    def wait(self, stream: object = None) -> None:
        """Do nothing."""

    def elapsed_time(self, other: "Event") -> float:
        """Return a time [ms].

        Raises:
            RuntimeError: one of them does not keep time.
        """
        if not (self.timed and other.timed):
            raise RuntimeError("needed events with enable_timing=True")
        return 1.0


class Stream:
    """A stream."""

    cuda_stream = 0

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def wait_stream(self, other: object) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing."""


class Generator(torch.Generator):
    """A generator on the CPU, whatever is asked for."""

    def __new__(cls, device: object = None) -> "Generator":
        """Make one."""
        return super().__new__(cls)


class CUDAGraph:
    """A graph that is told what it does."""

    again: Callable[[], None] | None = None

    def replay(self) -> None:
        """Do again what leaves a result."""
        if self.again:
            self.again()


@contextlib.contextmanager
def nothing(*_: object, **__: object) -> Iterator[None]:
    """Stand for a context that chooses a device, a stream or a graph."""
    yield


def fake_cuda() -> contextlib.ExitStack:
    """Return a context in which ``torch.cuda`` has an H200."""
    stack = contextlib.ExitStack()
    stream = Stream()
    replaced: dict[str, Any] = {
        "Event": Event,
        "Stream": Stream,
        "CUDAGraph": CUDAGraph,
        "graph": nothing,
        "stream": nothing,
        "device": nothing,
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "current_stream": lambda *_: stream,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: H200,
        "get_device_capability": lambda *_: (9, 0),
        "is_current_stream_capturing": lambda: False,
    }
    for name, value in replaced.items():
        stack.enter_context(mock.patch.object(torch.cuda, name, value))
    stack.enter_context(mock.patch.object(torch, "Generator", Generator))
    stack.enter_context(OnCpu())
    return stack


def _assign(script: Any) -> None:
    """Make problems small, and candidates right."""
    small = {
        "attention": (256, 2),
        "attention_fp8": (256, 2),
        "int8_matmul": (256, 256),
        "mxfp4_matmul": (256, 256),
        "rope": (64, 8),
        "transposed_add": (128, 192),
    }
    for name, (make, sizes, tiles) in script.CASES.items():

        def some(m: int, n: int, tiles: Any = tiles) -> Any:
            return tiles(m, n)[-1:]

        less = [small.get(name, (64, n)) for _, n in sizes]
        script.CASES[name] = make, less, some
    given = script.our_call, script.triton_call

    def answering(make: Callable[..., Any], at: int) -> Callable[..., Any]:
        def made(*arguments: Any) -> Callable[[], None]:
            call, problem = make(*arguments), arguments[at]

            def launch() -> None:
                call()
                for name in problem.outputs:
                    right = problem.expected[name]
                    array = problem.arrays[name]
                    if array.shape == right.shape:
                        array.copy_(right)
                    else:  # a part for each program
                        array[0] = right.to(array.dtype)

            return launch

        return made

    script.our_call = answering(given[0], 1)
    script.triton_call = answering(given[1], 1)


def _mixed_precision(script: Any) -> None:
    """Make shapes small, and products right."""
    script.SHAPES = ((256, 512),)
    script.WEIGHTS = 3
    launch = script.launch

    def answering(x: Any, packed: Any, out: Any, tiling: Any) -> None:
        launch(x, packed, out, tiling)
        out.copy_(x.double() @ packed.dequantise(torch.float64).T)

    script.launch = answering
    graph_of = script.graph_of

    def replaying(actions: Any) -> Any:
        graph = graph_of(actions)
        graph.again = actions[-1]
        return graph

    script.graph_of = replaying


def _mixed_pairs(script: Any) -> None:
    """Make shapes small, and products right."""
    script.SHAPES = ((16, 32, 64), (64, 32, 128))
    launch = script.launch_compiled
    judge = script.judge

    def answering(job: Any, compiled: Any, shape: Any, data: Any) -> str:
        def run(compiled: Any, grid: Any, arguments: Any) -> None:
            launch(compiled, grid, arguments)
            kinds = script.operand_type(job.a), script.operand_type(job.b)
            out, right = arguments[4], data[2]
            whole = script.unit_type(*kinds).whole
            kind = torch.int32 if whole else torch.float32
            out.copy_(right.to(kind).view(torch.int32))

        script.launch_compiled = run
        found: str = judge(job, compiled, shape, data)
        return found

    script.judge = answering


def _random_graphs(script: Any) -> None:
    """Make results right."""
    launch = script.launch

    def answering(kernel: Any, memory: Any, case: Any) -> None:
        launch(kernel, memory, case)
        for name, right in script.expected_of(case).items():
            memory[name].copy_(right)

    script.launch = answering


def _product_alignment(script: Any) -> None:
    """Make products small."""
    script.SIZES = {
        name: tuple(128 + extent % 8 for extent in sizes)
        for name, sizes in script.SIZES.items()
    }


def _product_epilogue(script: Any) -> None:
    """Make products small, kernels compiled and evaluated; their memory is poisoned."""
    from dataclasses import replace

    from compiler.frontend.kernels import give_alternative
    from compiler.runtime.triton_kernel import TritonKernel

    def small(case: Any) -> Any:
        rows, columns, _ = (max(extent // 32, 32) for extent in case.shape)
        if case.batch > 1:
            rows = 8 * case.batch
        return replace(case, shape=(rows, columns, 64))

    def evaluated(kernel: Any, *arguments: Any) -> None:
        kernel.compile(arch=90)
        kernel.instead(*arguments)

    way = script._way

    def answering(chosen: Any) -> Any:
        steps, kernels = way(chosen)
        for step in steps.steps:
            if getattr(step, "name", None) in kernels:
                give_alternative(kernels[step.name], step)
        return steps, kernels

    script.CASES = [small(case) for case in script.CASES if case.epilogue != "plain"]
    script.TILINGS = script.TILINGS[:3]
    script.poison = lambda: None
    script._way = answering
    TritonKernel.__call__ = evaluated  # type: ignore[assignment,method-assign]
    recorded = script.recorded

    def replaying(call: Any) -> Any:
        replay = recorded(call)
        replay.__self__.again = call
        return replay

    script.recorded = replaying


def _fused_layouts(script: Any) -> None:
    """Make arrays small; kernels for a GPU are compiled, and evaluated on the CPU."""
    from benchmarks.fused_layouts_cases import small
    from compiler.codegen.triton import build
    from compiler.frontend import kernels
    from compiler.runtime.triton_kernel import TritonKernel

    def evaluated(kernel: Any, *arguments: Any) -> None:
        kernel.compile(arch=90)
        if kernel.unaligned is not None:
            kernel.unaligned.compile(False, arch=90)
        kernel.instead(*arguments)

    compiled = script.compiled

    def quick(case: Any, way: str, arguments: Any) -> Any:
        if way == "inductor":
            return lambda: case.call(*arguments)
        return compiled(case, way, arguments)

    script.CASES = [small(case) for case in script.CASES]
    script.OPTIONS["fallback"] = True
    script.poison = lambda: None
    script.compiled = quick
    kernels._builder = lambda device: build
    TritonKernel.__call__ = evaluated  # type: ignore[assignment,method-assign]


SCRIPTS = {
    "fused_layouts_gpu": _fused_layouts,
    "product_epilogue_gpu": _product_epilogue,
    "product_alignment_gpu": _product_alignment,
    "random_graphs_gpu": _random_graphs,
    "assign_gpu": _assign,
    "mixed_precision_gpu": _mixed_precision,
    "mixed_pairs_gpu": _mixed_pairs,
}


def main() -> Any:
    """Run the script that the command line names."""
    if len(sys.argv) < 2 or sys.argv[1] not in SCRIPTS:
        print(f"needed one of {', '.join(SCRIPTS)}, and its arguments")
        return 2
    name = sys.argv.pop(1)
    fake_triton.install()
    compiled: list[bool] = []

    def listen(*, cache_hit: bool, **_: object) -> None:
        compiled.append(not cache_hit)

    triton.knobs.compilation.listener = listen
    with fake_cuda():
        script = importlib.import_module(f"benchmarks.{name}")
        SCRIPTS[name](script)
        code = script.main()
    print(
        f"{len(fake_triton.launched)} launches; {sum(compiled)} of {len(compiled)} "
        "kernels were compiled in the process that has the GPU"
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
