"""Generated kernels on a GPU against eager mode, on exact data: how many in a time.

    PYTHONPATH=. python benchmarks/hunt_gpu.py --commit HASH --out hunt_gpu.json \
        --deadline 560 --workers 14

Programs of operations that round nothing on small integers are drawn, many are put
into one function, which ``torch.compile(backend="tilewright")`` compiles once, and each
result must equal eager mode's bit for bit, in value, type, shape and strides. Each
worker is a process of its own; one that dies is started again with the next seeds. A
kernel counts once it has run and all results of its batch were right; those of a batch
with a wrong result do not count, nor does what is refused (nothing falls back to
PyTorch's operators). Distinct kernels are told by their printed text. The JSON is
written as batches come.

Without a GPU, ``--interpret`` runs the printed Triton kernels in Triton's interpreter,
and ``--arch 90`` compiles each of them to a cubin besides.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch

STRIDE = 1_000_000
"""Seeds between two workers."""

TYPES = {torch.float32, torch.float64, torch.int64, torch.int32, torch.bool}
"""Types in which small integers stay exact, whatever is fused."""

LARGEST = 2.0**20
"""Results beyond this may have been rounded on the way."""

EXACT = (
    *("abs", "ceil", "floor", "neg", "relu", "sign", "square", "trunc", "isnan"),
    *("isinf", "signbit", "add", "sub", "mul", "add_number", "add_scaled", "maximum"),
    *("minimum", "fmax", "eq", "ne", "lt", "le", "gt", "ge", "logical_and"),
    *("logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "bitwise_not", "where", "clamp", "clamp_min", "clamp_tensor"),
    *("float", "clone", "contiguous", "reshape", "permute", "transpose", "slice"),
    *("select", "unsqueeze", "unsqueeze_last", "squeeze", "expand", "flatten", "flip"),
    *("roll", "repeat", "diagonal", "narrow", "t", "chunk", "split", "unbind", "triu"),
    *("tril", "rot90", "sum", "sum_dim", "sum_dims", "amax", "amin", "max_all"),
    *("max_values", "argmax", "argmin_all", "any", "all", "count_nonzero", "cumsum"),
    *("cummax", "diff", "index", "index_select", "gather", "take_along_dim"),
    *("index_add", "scatter_add", "masked_fill", "select_scatter", "one_hot", "cat"),
    *("stack", "pad", "zeros_like", "full_like", "arange_times", "arange_int", "eye"),
    "outer",
)
"""Operations that round nothing on small integers."""


def drawn(seed: int, count: int, operations: int) -> list[Any]:
    """Return programs of exact operations; they depend on the seed alone."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import HypothesisWarning

    from verify.strategies.programs import EXPRESSIONS, FAMILIES, programs

    warnings.simplefilter("ignore", HypothesisWarning)
    FAMILIES["exact"] = tuple(name for name in EXACT if name in EXPRESSIONS)
    strategy = programs(
        operations, ("exact",), ("integers", "ties"), gradients=False, max_calls=1
    )
    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=4 * count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(program: Any) -> None:
        kept = all(spec.dtype in TYPES for spec in program.inputs.values())
        if kept and program.lines and len(found) < count:
            found.append(program)

    each()
    return found


def joined(programs: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return one function of all inputs that runs every program."""
    lines = ["import torch", "import torch.nn.functional as F", ""]
    calls, names = [], []
    for number, program in enumerate(programs):
        head, made = f"def program{number}(", [f"p{number}_{k}" for k in program.inputs]
        lines.append(program.source.replace("def program(", head, 1))
        calls.append(f"    results.extend(program{number}({', '.join(made)}))")
        names.extend(made)
    lines += [f"def batch({', '.join(names)}):", "    results = []", *calls]
    lines.append("    return results")
    room: dict[str, Any] = {"__name__": "__main__"}
    exec("\n".join(lines), room)
    batch: Callable[..., list[Any]] = room["batch"]
    return batch


def exact(values: Iterable[Any]) -> bool:
    """Return whether all results are small enough to be exact."""
    return all(
        not value.dtype.is_floating_point
        or not value.numel()
        or bool((value.abs() <= LARGEST).all())
        for value in values
    )


def wrong(value: Any, other: Any) -> str:
    """Return how two results differ, "" if they are equal."""
    if value.shape != other.shape or value.dtype != other.dtype:
        return "shape or type"
    moving = [n > 1 for n in value.shape]
    if value.numel() and any(
        m and a != b
        for m, a, b in zip(moving, value.stride(), other.stride(), strict=True)
    ):
        return "strides"
    return "" if torch.equal(value, other) else "value"


class Counted:
    """Tells the kernels that the compiler builds; may run them in the interpreter."""

    def __init__(self, interpret: bool, arch: int) -> None:
        from compiler.frontend import kernels

        self.interpret, self.arch = interpret, arch
        self.texts: list[str] = []
        self.build = kernels._builder
        kernels._builder = self.builder

    def builder(self, device: str) -> Callable[..., Any]:
        """Return what builds the kernels of a device, and remembers their text."""
        from compiler.codegen.triton import build
        from compiler.runtime.triton_kernel import TritonKernel

        plain = self.build(device)

        def made(found: Iterable[Any], options: Any) -> Any:
            listed = list(found)
            built: Any
            if self.interpret:
                built = build(listed, options, interpret=True)
            else:
                built = plain(listed, options)
            for one in built.values():
                self.texts.append(getattr(one, "source", repr(one)))
                if self.arch and isinstance(one, TritonKernel):
                    one.compile(arch=self.arch)
            return built

        return made


def work(seed: int, given: argparse.Namespace) -> None:
    """Run batches, one JSON line each, until the time is over."""
    counted = Counted(given.interpret, given.arch)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    end = time.monotonic() + given.deadline
    while time.monotonic() < end:
        programs = drawn(seed, given.batch, given.operations)
        for answer in batches(programs, counted, device):
            print(json.dumps({"seed": seed, **answer}), flush=True)
        seed += 1


def batches(
    programs: Sequence[Any], counted: Counted, device: str
) -> Iterator[dict[str, Any]]:
    """Run programs as one function, by halves where that fails."""
    from tilewright.backend import compile as backend  # known without an installation

    plain = [program.function()(*program.build(device)) for program in programs]
    kept = [k for k, values in enumerate(plain) if exact(values)]
    programs = [programs[k] for k in kept]
    wanted = [value for k in kept for value in plain[k]]
    owners = [n for n, k in enumerate(kept) for _ in plain[k]]
    if not programs:
        return
    counted.texts = []
    torch.compiler.reset()
    inputs = [tensor for program in programs for tensor in program.build(device)]
    try:
        compiled = torch.compile(
            joined(programs),
            backend=backend,
            dynamic=False,
            options={"cache": False, "fallback": False},
        )
        with torch.no_grad():
            got = compiled(*inputs)
        if device == "cuda":
            torch.cuda.synchronize()
    except Exception as error:
        if len(programs) == 1:
            yield {
                "status": "refused",
                "programs": 1,
                "why": f"{type(error).__name__}: {error}"[:200],
                "source": programs[0].source,
            }
            return
        half = len(programs) // 2
        yield from batches(programs[:half], counted, device)
        yield from batches(programs[half:], counted, device)
        return
    texts = [sha256(text.encode()).hexdigest()[:16] for text in counted.texts]
    faults = {}
    for owner, value, other in zip(owners, wanted, got, strict=True):
        kind = wrong(value, other)
        if kind:
            faults[owner] = kind
    yield {
        "status": "wrong" if faults else "ok",
        "programs": len(programs),
        "kernels": texts,
        "faults": [
            {"kind": kind, "source": programs[owner].source}
            for owner, kind in list(faults.items())[:5]
        ],
    }


def hunt(given: argparse.Namespace) -> dict[str, Any]:
    """Start the workers, and gather what they say until the time is over."""
    start = time.monotonic()
    tally: Counter[str] = Counter()
    distinct: set[str] = set()
    faults: list[dict[str, Any]] = []

    def facts() -> dict[str, Any]:
        seconds = time.monotonic() - start
        return {
            "commit": given.commit,
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
            "interpreted": given.interpret,
            "workers": given.workers,
            "seconds": round(seconds, 1),
            **dict(tally),
            "distinct_kernels": len(distinct),
            "kernels_per_second": round(tally["kernels"] / seconds, 2),
            "faults": faults[:50],
        }

    def follow(number: int) -> None:
        seed = given.seed + number * STRIDE
        while (left := given.deadline - (time.monotonic() - start)) > 1:
            command = [sys.executable, __file__, "--worker", str(seed)]
            command += ["--deadline", f"{left:.1f}", "--batch", str(given.batch)]
            command += ["--operations", str(given.operations)]
            command += ["--arch", str(given.arch)]
            command += ["--interpret"] if given.interpret else []
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            children[number] = child
            assert child.stdout is not None
            for line in child.stdout:
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    seed = answer["seed"]
                    tally["batches"] += 1
                    tally["programs"] += answer["programs"]
                    tally[f"programs_{answer['status']}"] += answer["programs"]
                    texts = answer.get("kernels", [])
                    if answer["status"] == "ok":
                        tally["kernels"] += len(texts)
                        distinct.update(texts)
                    found = answer.get("faults", [])
                    if answer["status"] == "refused":
                        found = [{"kind": answer["why"], "source": answer["source"]}]
                    faults.extend({"seed": seed, **one} for one in found)
            if child.wait() != 0:
                tally["workers_died"] += 1
            seed += 1

    children: dict[int, subprocess.Popen[str]] = {}
    threads = [
        Thread(target=follow, args=(n,), daemon=True) for n in range(given.workers)
    ]
    for thread in threads:
        thread.start()
    while time.monotonic() - start < given.deadline:
        time.sleep(1)
        given.out.write_text(json.dumps(facts(), indent=1) + "\n")
    for child in children.values():
        child.terminate()
    result = facts()
    given.out.write_text(json.dumps(result, indent=1) + "\n")
    return result


def main() -> None:
    """Parse the arguments; run one worker, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("hunt_gpu.json"))
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--deadline", type=float, default=560.0, help="seconds")
    parser.add_argument(
        "--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2)
    )
    parser.add_argument("--batch", type=int, default=40, help="programs of a compile")
    parser.add_argument("--operations", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--arch", type=int, default=0)
    parser.add_argument("--worker", type=int, default=-1)
    given = parser.parse_args()
    if given.worker >= 0:
        work(given.worker, given)
        return
    result = hunt(given)
    for name in ("seconds", "programs", "kernels", "distinct_kernels"):
        print(f"{name:20} {result.get(name, 0)}")
    for name in sorted(result):
        if name.startswith(("programs_", "workers_died")):
            print(f"{name:20} {result[name]}")
    sys.exit(1 if result.get("programs_wrong") else 0)


if __name__ == "__main__":
    main()
