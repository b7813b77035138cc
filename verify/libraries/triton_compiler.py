"""Small kernels through Triton's compiler, for a GPU that need not be there.

A kernel is a row of statements, each of which leaves two tensors ``x`` and ``y`` of one
shape. What the front end refuses with a message is no find; a pass that fails, an
assertion, an abort or a crash of the assembler is.
"""

from random import Random
from typing import Any

from .operation import Arguments, Library, Operation, UndefinedError

STATEMENTS = (
    "x = x + y",
    "x = x * y",
    "x = x - tl.abs(y)",
    "x, y = y, x",
    "x = tl.maximum(x, y)",
    "x = tl.where(x > y, x, y)",
    "x = x + tl.sum(x, 1, keep_dims=True)",
    "x = x + tl.sum(x, 0, keep_dims=True)",
    "x = x * tl.max(y, 1, keep_dims=True)",
    "x = x + tl.min(y, 0, keep_dims=True)",
    "x = x + tl.argmax(y, 1, keep_dims=True)",
    "x = x + tl.argmin(x, 0, keep_dims=True)",
    "x = tl.sum(x, 0)[None, :] + tl.sum(y, 1)[:, None]",
    "x = x + tl.sum(tl.sum(x, 1), 0)",
    "x = tl.cumsum(x, 0)",
    "x = tl.cumsum(x, 1)",
    "x = tl.cumsum(x, 1, reverse=True)",
    "x = tl.cumprod(x, 0, reverse=True)",
    "x = tl.associative_scan(x, 0, combine)",
    "x = tl.associative_scan(x, 1, combine, reverse=True)",
    "x = x + tl.reduce(x, 1, combine, keep_dims=True)",
    "x, y = tl.associative_scan((x, y), 1, pair)",
    "x = tl.flip(x, 1)",
    "x = tl.flip(x, 0)",
    "x = tl.sort(x)",
    "x = tl.sort(x, descending=True)",
    "x = tl.reshape(tl.trans(x), (N, M))",
    "x = tl.trans(tl.reshape(x, (M, N)))",
    "x = tl.permute(tl.reshape(x, (M, 1, N)), (2, 1, 0)).reshape(N, M)",
    "x, y = tl.split(tl.join(y, x))",
    "x = tl.sum(tl.join(x, y), 2)",
    "x = tl.max(tl.join(x, y), 2)",
    "x = tl.reshape(tl.join(x, y), (2, N, M)).sum(0)",
    "x = tl.interleave(x, y).reshape(2, N, M).max(0)",
    "x = tl.gather(x, (y.to(tl.int32) & (M - 1)), 1)",
    "x = tl.gather(x, (y.to(tl.int32) & (N - 1)), 0)",
    "x = x + tl.histogram(x.to(tl.int32).reshape(N * M) & 7, 8).sum(0)",
    "x = tl.dot(x, tl.trans(y), out_dtype=tl.float32) if N == M else x",
    "x = tl.dot(x.to(tl.float16), tl.trans(y).to(tl.float16)).sum(1)[:, None] + x",
    "x = tl.dot(x.to(tl.int8), tl.trans(y).to(tl.int8)).max(1)[:, None] + x",
    "x = x.to(tl.float32)",
    "x = x.to(tl.float16)",
    "x = x.to(tl.bfloat16)",
    "x = x.to(tl.int8)",
    "x = x.to(tl.int64)",
    "x = x.to(tl.int1)",
    "x = x.to(tl.float8e5)",
    "x = x.to(tl.float8e5).to(tl.float32)",
    "x = x.to(tl.float8e4nv).to(tl.float16)",
    "x = (x > y).to(tl.int8)",
    "x = tl.exp(x.to(tl.float32))",
    "x = tl.softmax(x.to(tl.float32))",
    "x = tl.fma(x, y, x)",
    "x = tl.umulhi(x.to(tl.int32), y.to(tl.int32))",
    "x = x // (y | 1)",
    "x = x % (y | 1)",
    "x = x << (y & 3)",
    "x = tl.cdiv(x, 3)",
    "x = tl.clamp(x, -1.0, 1.0)",
    "x = tl.broadcast_to(x.sum(1)[:, None], (N, M))",
    "tl.store(Z + i, x.to(tl.float32)); tl.debug_barrier(); x = x + tl.load(Z + j)",
    "tl.atomic_add(Z + i, x.to(tl.float32))",
    "x = x + tl.atomic_add(Z + i, y.to(tl.float32), mask=x > 0)",
    "x = x + tl.load(Z + i, mask=y > 0, other=2.0)",
    "for k in range(3): x = x + y",
    "for k in range(T): x = tl.sum(x, 1, keep_dims=True) + x",
    "for k in tl.static_range(2): x = tl.reshape(tl.trans(x), (N, M))",
    "for k in range(T): x, y = y, x",
    "x = x + T if T > 3 else x",
    "x = x + (tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :])",
    "x = tl.zeros((N, M), x.dtype)",
    "x = tl.full((N, M), 3, x.dtype) + x",
    "x = x.to(x.dtype, bitcast=True)",
    "x = tl.xor_sum(x.to(tl.int32), 1)[:, None] + x",
    "x = tl.topk(x, 1) + x",
    "x = tl.ravel(x).reshape(N, M)",
    "x = tl.randint(T, i) + x",
    "x = tl.rand(T, i) + x",
)
"""Each keeps x and y tensors of N x M."""

TYPES = ("fp32", "i32", "fp16", "bf16", "i8", "i64", "fp64", "i16", "u8", "i1")
TARGETS = (("cuda", 90), ("cuda", 80), ("cuda", 100), ("hip", "gfx942"))

SOURCE = '''import importlib.util
import pathlib
import tempfile

import triton
from triton.backends.compiler import GPUTarget

TEXT = """import triton
import triton.language as tl


@triton.jit
def combine(a, b):
    return a * b + b


@triton.jit
def pair(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def kernel(X, Y, Z, T, N: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    j = tl.arange(0, N)[:, None] + tl.arange(0, M)[None, :] * N
    x = tl.load(X + i)
    y = tl.load(Y + i)
    BODY
    tl.store(Z + i, x.to(tl.float32))
"""


def run(lines, types, shape, warps, target):
    path = pathlib.Path(tempfile.mkdtemp()) / "case.py"
    path.write_text(TEXT.replace("BODY", "\\n    ".join(lines) or "pass"))
    spec = importlib.util.spec_from_file_location("case", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {"X": "*" + types[0], "Y": "*" + types[1], "Z": "*fp32", "T": "i32"}
    names |= {"N": "constexpr", "M": "constexpr"}
    source = triton.compiler.ASTSource(
        module.kernel, names, constexprs={"N": shape[0], "M": shape[1]}
    )
    kind, arch = target
    wide = 64 if kind == "hip" else 32
    compiled = triton.compile(
        source, target=GPUTarget(kind, arch, wide), options={"num_warps": warps}
    )
    return "ttgir" in compiled.asm
'''


def _draw(rng: Random) -> Arguments:
    types = rng.choice(TYPES), rng.choice(TYPES)
    if rng.random() < 0.6:
        types = types[0], types[0]
    shape = rng.choice((1, 2, 4, 8, 16)), rng.choice((1, 2, 4, 8, 16, 32))
    lines = tuple(rng.choice(STATEMENTS) for _ in range(rng.randint(1, 5)))
    return lines, types, shape, rng.choice((1, 2, 4, 8)), rng.choice(TARGETS)


def _compiles(lines: Any, types: Any, shape: Any, warps: int, target: Any) -> bool:
    if not all(line in STATEMENTS for line in lines) or len(types) != 2:
        raise UndefinedError("statements that keep two tensors")
    if len(shape) != 2 or not all(n > 0 and not n & (n - 1) for n in (*shape, warps)):
        raise UndefinedError("powers of two")
    if tuple(target) not in TARGETS:
        raise UndefinedError("a target")
    return True


TRITON_COMPILER = Library(
    "triton_compiler",
    "triton",
    (
        Operation(
            "kernel",
            SOURCE,
            _draw,
            _compiles,
            "what the front end takes compiles",
            ("CompilationError", "UnsupportedLanguageConstruct", "OutOfResources"),
            trait=lambda arguments: "\n".join(sorted(arguments[0])),
        ),
    ),
)
