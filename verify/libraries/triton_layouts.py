"""Triton's own layouts: the ``LinearLayout`` that its wheel binds, and conversions.

What an operation must return is the algebra's answer; a conversion between two layouts
of one block must compile. Everything runs without a GPU.
"""

from functools import partial
from random import Random
from typing import Any

from algebra.errors import LayoutError
from verify.oracle.random_operations import OPERATIONS, random_operation
from verify.oracle.random_operations import Operation as Drawn

from .operation import Arguments, Library, Operation, UndefinedError

HEAD = """from triton._C.libtriton.linear_layout import LinearLayout


def layout(given):
    bases, dims = given["bases"], given["out_dims"]
    names, sizes = [name for name, _ in dims], [size for _, size in dims]
    return LinearLayout.from_bases(bases, names, sizes, given["surjective"])


def plain(value):
    if isinstance(value, LinearLayout):
        bases = [[name, [list(v) for v in vectors]] for name, vectors in value.bases]
        return {"bases": bases, "out_dims": [list(pair) for pair in value.out_dims]}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def run(*arguments):
    first, *rest = [layout(a) if "bases" in str(a) else a for a in arguments]
    return plain(BODY)
"""
BODIES = {
    "make": "first",
    "bases": "first.bases",
    "out_dims": "first.out_dims",
    "is_surjective": "first.is_surjective()",
    "is_injective": "first.is_injective()",
    "is_invertible": "first.is_invertible()",
    "get_matrix_view": "first.get_matrix_view()",
    "compose": "first.compose(*rest)",
    "invert": "first.invert()",
    "pseudoinvert": "first.pseudoinvert()",
    "product": "first * rest[0]",
    "equal": "first == rest[0]",
    "identity_1d": "LinearLayout.identity_1d(first, *rest)",
    "strided_1d": "LinearLayout.strided_1d(first, *rest)",
    "zeros_1d": "LinearLayout.zeros_1d(first, *rest)",
}
"""Operation -> call. The choice among several preimages of ``invert_and_compose`` is
each release's own, see ``verify.oracle.comparison``."""

assert set(BODIES) <= set(OPERATIONS)


def _expected(name: str, *arguments: Any) -> Any:
    try:
        return Drawn(name, arguments).run()
    except (LayoutError, KeyError, AttributeError) as error:
        raise UndefinedError(str(error)) from error


def _drawn(name: str, rng: Random) -> Arguments:
    return random_operation(rng, name).arguments


def _operation(name: str, body: str) -> Operation:
    return Operation(
        name,
        HEAD.replace("BODY", body),
        partial(_drawn, name),
        partial(_expected, name),
        f"linear maps over F2: {name}",
        ("ValueError",),
    )


CONVERSION = """import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource


@gluon.jit
def kernel(X, Z, SRC: gl.constexpr, DST: gl.constexpr, N: gl.constexpr):
    x = gl.load(X + gl.arange(0, N, SRC))
    gl.store(Z + gl.arange(0, N, DST), gl.convert_layout(x, DST))


def layout(bases, bits):
    parts = [[[1 << b] if b >= 0 else [0] for b in part] for part in bases]
    return gl.DistributedLinearLayout(*parts, [], [1 << bits])


def run(src, dst, bits, kind):
    names = {"X": "*" + kind, "Z": "*" + kind, "SRC": "constexpr", "DST": "constexpr"}
    given = {"SRC": layout(src, bits), "DST": layout(dst, bits), "N": 1 << bits}
    source = GluonASTSource(kernel, {**names, "N": "constexpr"}, constexprs=given)
    options = {"num_warps": 1 << len(src[2])}
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    return "ptx" in compiled.asm
"""


def _bases(rng: Random, bits: int, warps: int) -> Arguments:
    """Return register, lane and warp bases: positions of bits, -1 for a copy."""
    places = rng.sample(range(bits), bits)
    copies = max(0, 5 + warps - bits) + rng.choice((0, 0, 0, 1))
    for _ in range(copies):
        places.insert(rng.randint(0, len(places)), -1)
    registers = len(places) - 5 - warps
    return (
        tuple(places[:registers]),
        tuple(places[registers : registers + 5]),
        tuple(places[registers + 5 :]),
    )


def _conversion(rng: Random) -> Arguments:
    warps = rng.randint(0, 3)
    bits = rng.randint(0, 10)
    kind = rng.choice(("i32", "i8", "fp16", "i64", "i1"))
    return _bases(rng, bits, warps), _bases(rng, bits, warps), bits, kind


def _converts(src: Any, dst: Any, bits: int, kind: str) -> bool:
    for bases in (src, dst):
        flat = [b for part in bases for b in part if b >= 0]
        if len(bases) != 3 or len(bases[1]) != 5 or sorted(flat) != list(range(bits)):
            raise UndefinedError("registers, five lane bits, warps; each bit once")
        if any(b < -1 for part in bases for b in part):
            raise UndefinedError("positions of bits")
    if len(src[2]) != len(dst[2]) or kind not in ("i32", "i8", "fp16", "i64", "i1"):
        raise UndefinedError("the same warps")
    return True


TRITON_LAYOUTS = Library(
    "triton_layouts",
    "triton",
    (
        *(_operation(name, body) for name, body in BODIES.items()),
        Operation(
            "convert_layout",
            CONVERSION,
            _conversion,
            _converts,
            "any two distributed layouts of one block can be converted",
            ("CompilationError",),
        ),
    ),
)
