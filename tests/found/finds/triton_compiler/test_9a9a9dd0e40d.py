"""triton_compiler: kernel: error RuntimeError

Documented: what the front end takes compiles.
Seen: error RuntimeError: 'math.fma' op operand #0 must be floating-point-like, but got 'tensor<1x1xi16>'; error encountered during parsing
Versions: python 3.11.7, triton 3.9.0.
Found by `tilewright hunt --subject triton_compiler`, seed 11, case 46.
"""

import importlib.util
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
    path.write_text(TEXT.replace("BODY", "\n    ".join(lines) or "pass"))
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


ARGUMENTS = (('x = tl.fma(x, y, x)',), ('i16', 'i16'), (1, 1), 1, ('cuda', 100))
EXPECTED = True


def test_9a9a9dd0e40d():
    got = run(*ARGUMENTS)
    assert repr(got) == repr(EXPECTED)
