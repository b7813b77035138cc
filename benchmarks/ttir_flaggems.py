"""How much of FlagGems is proved, from recorded launches of each wrapper?

    pip install --no-deps --target FOLDER flag-gems
    pip install --target FOLDER sqlalchemy pyyaml packaging
    python benchmarks/ttir_flaggems.py --library FOLDER \
        --json benchmarks/results/ttir_flaggems.json

No GPU is needed: the library is told of one that is not there, its wrappers are called
on CPU tensors, and their launches are recorded. A kernel counts as settled as in
``ttir_liger.py``: proved for all sizes, or under the condition that is given.
"""

import argparse
import contextlib
import importlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["GEMS_VENDOR"] = "nvidia"

from benchmarks import fake_cuda

if __name__ == "__main__":
    fake_cuda.load()

import torch
import triton

from algebra.errors import ArgumentError
from benchmarks.pretended_gpu import pretended
from benchmarks.ttir_liger import commit, examine, line_of, summary
from verify.launches import Recording, recorded
from verify.launches.generalise import by_kernel

SIZES = ((6, 500), (7, 503), (10, 509), (6, 509), (10, 500), (9, 1500))
"""Rows and columns of the recordings; a kernel needs two with the same constants."""

Case = Callable[[Any, int, int], object]

UNARY = """
    abs acos arcsinh atan ceil cos cosh exp exp2 expm1 erf gelu hardsigmoid isfinite
    isinf isnan isneginf log log10 log_sigmoid logical_not nan_to_num neg reciprocal
    relu relu6 round rsqrt selu sigmoid signbit silu sin softplus sqrt square tan tanh
    angle celu elu logit
"""
BINARY = """
    add sub mul true_divide maximum minimum pow_tensor_tensor eq ne gt ge lt le atan2
    fmin hypot logaddexp logical_and logical_or logical_xor copysign div_mode isclose
    floor_divide remainder polar
"""
INTEGERS = "bitwise_and bitwise_or bitwise_left_shift bitwise_right_shift"
BY_ROW = """
    softmax log_softmax cumsum sum_dim mean_dim max_dim min_dim prod_dim argmax argmin
    amax all_dim any_dim cummax cummin count_nonzero std var
"""
WHOLE = "sum mean max min prod all any argmax argmin trace count_nonzero"


def called(name: str, *make: Callable[[int, int], Any]) -> Case:
    """Return the call of a wrapper on what is made for a size."""
    return lambda ops, r, c: getattr(ops, name)(*(one(r, c) for one in make))


def floats(*shape: int) -> torch.Tensor:
    """Return a tensor of floats."""
    return torch.randn(*shape)


def places(high: int, *shape: int) -> torch.Tensor:
    """Return a tensor of indices."""
    return torch.randint(0, high, shape)


def cases() -> dict[str, Case]:
    """Return name -> call of a wrapper at a size."""
    found: dict[str, Case] = {}
    for name in UNARY.split():
        found[name] = called(name, floats)
    for name in BINARY.split():
        found[name] = called(name, floats, floats)
    for name in INTEGERS.split():
        small = partial(places, 4)
        found[name] = called(name, small, small)
    for name in BY_ROW.split():
        found[f"{name}_rows"] = called(name, floats, lambda r, c: 1)
        found[f"{name}_columns"] = called(
            name, lambda r, c: floats(c, r), lambda r, c: 0
        )
    for name in WHOLE.split():
        found[f"{name}_whole"] = called(name, floats)
    found |= {
        "layer_norm": lambda ops, r, c: ops.layer_norm(
            floats(r, c), (c,), floats(c), floats(c)
        ),
        "rms_norm": lambda ops, r, c: ops.rms_norm(floats(r, c), (c,), floats(c)),
        "group_norm": lambda ops, r, c: ops.group_norm(
            floats(r, 8, c), floats(8), floats(8), r, 8, c, 4
        ),
        "batch_norm": lambda ops, r, c: ops.batch_norm(
            floats(r, 8, c), floats(8), floats(8), floats(8), floats(8), True
        ),
        "vector_norm": lambda ops, r, c: ops.vector_norm(floats(r, c), 2, [1]),
        "var_mean": lambda ops, r, c: ops.var_mean(floats(r, c), [1]),
        "mm": lambda ops, r, c: ops.mm(floats(r, c), floats(c, r)),
        "addmm": lambda ops, r, c: ops.addmm(floats(r), floats(r, c), floats(c, r)),
        "bmm": lambda ops, r, c: ops.bmm(floats(3, r, c), floats(3, c, r)),
        "baddbmm": lambda ops, r, c: ops.baddbmm(
            floats(3, r, r), floats(3, r, c), floats(3, c, r)
        ),
        "mv": lambda ops, r, c: ops.mv(floats(r, c), floats(c)),
        "addmv": lambda ops, r, c: ops.addmv(floats(r), floats(r, c), floats(c)),
        "addr": lambda ops, r, c: ops.addr(floats(r, c), floats(r), floats(c)),
        "dot": lambda ops, r, c: ops.dot(floats(r * c), floats(r * c)),
        "vdot": lambda ops, r, c: ops.vdot(floats(r * c), floats(r * c)),
        "kron": lambda ops, r, c: ops.kron(floats(r, 3), floats(2, c)),
        "embedding": lambda ops, r, c: ops.embedding(floats(r, c), places(r, c)),
        "embedding_backward": lambda ops, r, c: ops.embedding_backward(
            floats(c, c), places(r, c), r
        ),
        "gather": lambda ops, r, c: ops.gather(floats(r, c), 1, places(c, r, c)),
        "index_select": lambda ops, r, c: ops.index_select(
            floats(r, c), 0, places(r, c)
        ),
        "index_add": lambda ops, r, c: ops.index_add(
            floats(r, c), 0, places(r, r), floats(r, c)
        ),
        "scatter": lambda ops, r, c: ops.scatter(
            floats(r, c), 1, places(c, r, c), floats(r, c)
        ),
        "masked_fill": lambda ops, r, c: ops.masked_fill(
            floats(r, c), floats(r, c) > 0, 1.0
        ),
        "where": lambda ops, r, c: ops.where_self(
            floats(r, c) > 0, floats(r, c), floats(r, c)
        ),
        "isin": lambda ops, r, c: ops.isin(places(9, r, c), places(9, 5)),
        "one_hot": lambda ops, r, c: ops.one_hot(places(9, r, c), 9),
        "addcmul": lambda ops, r, c: ops.addcmul(
            floats(r, c), floats(r, c), floats(r, c)
        ),
        "addcdiv": lambda ops, r, c: ops.addcdiv(
            floats(r, c), floats(r, c), floats(r, c)
        ),
        "lerp": lambda ops, r, c: ops.lerp_scalar(floats(r, c), floats(r, c), 0.3),
        "clamp": lambda ops, r, c: ops.clamp(floats(r, c), -1.0, 1.0),
        "threshold": lambda ops, r, c: ops.threshold(floats(r, c), 0.1, 20.0),
        "glu": lambda ops, r, c: ops.glu(floats(r, 2 * c)),
        "mse_loss": lambda ops, r, c: ops.mse_loss(floats(r, c), floats(r, c)),
        "nll_loss": lambda ops, r, c: ops.nll_loss_forward(floats(r, c), places(c, r)),
        "cat": lambda ops, r, c: ops.cat([floats(r, c), floats(3, c)], 0),
        "stack": lambda ops, r, c: ops.stack([floats(r, c), floats(r, c)]),
        "hstack": lambda ops, r, c: ops.hstack([floats(r, c), floats(r, c)]),
        "vstack": lambda ops, r, c: ops.vstack([floats(r, c), floats(r, c)]),
        "flip": lambda ops, r, c: ops.flip(floats(r, c), [0, 1]),
        "roll": lambda ops, r, c: ops.roll(floats(r, c), [1], [0]),
        "repeat": lambda ops, r, c: ops.repeat(floats(r, c), (2, 3)),
        "tile": lambda ops, r, c: ops.tile(floats(r, c), (2, 3)),
        "repeat_interleave": lambda ops, r, c: ops.repeat_interleave_self_int(
            floats(r, c), 3, 1
        ),
        "tril": lambda ops, r, c: ops.tril(floats(r, c)),
        "triu": lambda ops, r, c: ops.triu(floats(r, c)),
        "diag": lambda ops, r, c: ops.diag(floats(c)),
        "diag_embed": lambda ops, r, c: ops.diag_embed(floats(r, c)),
        "pad": lambda ops, r, c: ops.pad(floats(r, c), (1, 2), "constant", 0.0),
        "reflection_pad1d": lambda ops, r, c: ops.reflection_pad1d(
            floats(r, c), (1, 2)
        ),
        "arange": lambda ops, r, c: ops.arange(c),
        "linspace": lambda ops, r, c: ops.linspace(0, 1, c),
        "eye": lambda ops, r, c: ops.eye(c),
        "full": lambda ops, r, c: ops.full((r, c), 2.0),
        "ones": lambda ops, r, c: ops.ones((r, c)),
        "zeros": lambda ops, r, c: ops.zeros((r, c)),
        "zeros_like": lambda ops, r, c: ops.zeros_like(floats(r, c)),
        "full_like": lambda ops, r, c: ops.full_like(floats(r, c), 2.0),
        "rand": lambda ops, r, c: ops.rand((r, c)),
        "randn": lambda ops, r, c: ops.randn((r, c)),
        "dropout": lambda ops, r, c: ops.dropout(floats(r, c), 0.5, True),
        "topk": lambda ops, r, c: ops.topk(floats(r, c), 5),
        "sort": lambda ops, r, c: ops.sort(floats(r, c)),
        "upsample_nearest2d": lambda ops, r, c: ops.upsample_nearest2d(
            floats(2, 3, r, c), (2 * r, 2 * c)
        ),
        "upsample_nearest1d": lambda ops, r, c: ops.upsample_nearest1d(
            floats(2, r, c), (2 * c,)
        ),
        "max_pool2d": lambda ops, r, c: ops.max_pool2d_with_indices(
            floats(2, 3, r, c), 2
        ),
        "avg_pool2d": lambda ops, r, c: ops.avg_pool2d(floats(2, 3, r, c), 2),
        "conv2d": lambda ops, r, c: ops.conv2d(floats(2, 4, r, c), floats(4, 4, 3, 3)),
        "weight_norm": lambda ops, r, c: ops.weight_norm_interface(
            floats(r, c), floats(r, 1), 0
        ),
        "outer": lambda ops, r, c: ops.outer(floats(r), floats(c)),
    }
    return found


class _First:
    """The configuration that a tuner would have found; assigning to it overrides it."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return instance.configs[0]


@contextlib.contextmanager
def untuned() -> Iterator[None]:
    """Let tuners take their first configuration, in the block."""
    from triton.runtime.autotuner import Autotuner

    tuner = importlib.import_module("flag_gems.utils.libentry").LibTuner
    plain = tuner.__dict__.get("run")

    def run(self: Any, *args: Any, **options: Any) -> Any:
        return self.fn.run(*args, **{**options, **self.configs[0].all_kwargs()})

    tuner.run, Autotuner.best_config = run, _First()
    try:
        yield
    finally:
        del Autotuner.best_config
        if plain is None:
            del tuner.run
        else:
            tuner.run = plain


def launches(library: Any, case: Case, rows: int, columns: int) -> list[Recording]:
    """Return what a case launches before it ends, or before an error ends it."""
    torch.manual_seed(0)
    with recorded() as found, contextlib.suppress(Exception):
        case(library.ops, rows, columns)
    return found


def main() -> int:
    """Check, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--budget", type=float, default=30.0, help="of a kernel [s]")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="in all")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--texts", type=Path, help="write the TTIR texts here")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    options = parser.parse_args()
    measured = options.commit or commit()
    deadline = time.monotonic() + options.seconds
    sys.path.append(str(options.library))
    records: list[dict[str, Any]] = []
    silent: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    with warnings.catch_warnings(), pretended():
        warnings.simplefilter("ignore")
        torch.cuda.device = lambda device=None: contextlib.nullcontext()  # type: ignore[assignment,misc]
        flag_gems = importlib.import_module("flag_gems")

        with untuned():
            for name, case in cases().items():
                if options.only not in name or time.monotonic() > deadline:
                    continue
                first, *more = (launches(flag_gems, case, *size) for size in SIZES)
                if not first:
                    silent.append(name)
                others = [launch for found in more for launch in found]
                for key, launch in by_kernel(first).items():
                    identity = (key[0], key[2], key[3])
                    if identity in seen:
                        continue
                    seen.add(identity)
                    partners = [b for b in others if b.kernel is launch.kernel]
                    partners.sort(key=lambda b: b.constants != launch.constants)
                    try:
                        record = examine(name, launch, partners, options)
                    except (ArgumentError, ValueError) as error:
                        record = {
                            "case": name,
                            "kernel": launch.name,
                            "verdict": "unknown",
                            "settled": False,
                            "reason": str(error)[:300],
                        }
                    records.append(record)
                    print(line_of(record), flush=True)
                if options.json and records:
                    result = summary(records) | {
                        "question": "How much of FlagGems is proved from recordings?",
                        "command": "python benchmarks/ttir_flaggems.py",
                        "commit": measured,
                        "versions": {
                            "python": platform.python_version(),
                            "triton": triton.__version__,
                            "flag_gems": flag_gems.__version__,
                        },
                        "wrappers_without_a_launch": silent,
                        "kernels": records,
                    }
                    options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(summary(records), indent=1))
    print("without a launch:", *silent)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
