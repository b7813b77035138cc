"""Small kernels in Triton's interpreter (``TRITON_INTERPRET=1``).

Each operation is a kernel of two vectors; what it must return is said with PyTorch or
Python's integers, following Triton's documentation of ``triton.language``: integer
division and remainder as in C, ``maximum`` without NaN propagation unless asked for,
conversions rounded to nearest even. The documentation excludes arithmetic on bfloat16,
so that type is only converted to.
"""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import torch

from .operation import Arguments, Library, Operation, UndefinedError

Tensor = torch.Tensor
INTEGERS = ("int32", "int64", "int16", "int8", "uint8")
FLOATS = ("float32", "float16", "float64")

HEAD = """import os

os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, Z, N: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    tl.store(Z + tl.arange(0, M), {expression})


def tensor(values, dtype):
    return torch.tensor([float(v) if isinstance(v, str) else v for v in values]).to(
        getattr(torch, dtype)
    )


def run(dtype, data):
    x, y = (tensor(values, dtype) for values in data)
    z = torch.zeros({size}, dtype={out})
    kernel[(1,)](x, y, z, len(x), {size})
    return z{back}.tolist()
"""


def vectors(dtype: str, data: Any) -> tuple[Tensor, Tensor]:
    """Return the two inputs.

    Raises:
        UndefinedError: they are not two vectors of one power-of-two length.
    """
    if not (isinstance(data, tuple) and len(data) == 2):
        raise UndefinedError("two vectors")
    if not all(isinstance(values, tuple) for values in data):
        raise UndefinedError("two vectors")
    count = len(data[0])
    if count < 1 or count & (count - 1) or len(data[1]) != count:
        raise UndefinedError("vectors of a power of two")
    kind = getattr(torch, dtype)
    made = []
    for values in data:
        plain = torch.tensor([float(v) if isinstance(v, str) else v for v in values])
        if not kind.is_floating_point:
            limits = torch.iinfo(kind)
            if plain.is_floating_point() or not bool(
                ((plain >= limits.min) & (plain <= limits.max)).all()
            ):
                raise UndefinedError("values of the type")
        made.append(plain.to(kind))
    return made[0], made[1]


def _values(rng: Random, dtype: str, count: int) -> tuple[Any, ...]:
    if dtype in INTEGERS:
        limits = torch.iinfo(getattr(torch, dtype))
        small = range(max(limits.min, -9), 10)
        extremes = (limits.min, limits.max, limits.max - 1)
        return tuple(
            rng.choice(extremes) if rng.random() < 0.15 else rng.choice(small)
            for _ in range(count)
        )
    special = ("nan", "inf", "-inf", 0.0, -0.0, 1e-40, 65504.0)
    found: list[Any] = []
    for _ in range(count):
        chance = rng.random()
        if chance < 0.2:
            found.append(rng.choice(special))
        elif chance < 0.6:
            found.append(rng.randint(-512, 512) / 16)
        else:
            found.append(rng.uniform(-4, 4))
    return tuple(found)


def _draw(dtypes: tuple[str, ...]) -> Callable[[Random], Arguments]:
    def draw(rng: Random) -> Arguments:
        dtype = rng.choice(dtypes)
        count = rng.choice((1, 2, 4, 8))
        return dtype, (_values(rng, dtype, count), _values(rng, dtype, count))

    return draw


def kernel(
    name: str,
    expression: str,
    dtypes: tuple[str, ...],
    right: Callable[[Tensor, Tensor], Tensor],
    promise: str,
    out: str = "x.dtype",
    size: str = "len(x)",
) -> Operation:
    """Return an operation.

    Args:
        name: Of the operation.
        expression: Of the vectors ``x`` and ``y``, what is stored.
        dtypes: Types of the vectors.
        right: The right answer, with PyTorch.
        promise: What the documentation says.
        out: Type of the result, in Python.
        size: Elements of the result, in Python.
    """

    def expected(dtype: str, data: Any) -> Any:
        x, y = vectors(dtype, data)
        found = right(x, y)
        if found.dtype.is_floating_point:
            found = found.to(torch.float64)
        return found.tolist()

    back = ".double()" if "float" in out or dtypes[0] in FLOATS else ""
    if out.startswith("torch.int") or out == "torch.uint8":
        back = ""
    source = HEAD.format(expression=expression, size=size, out=out, back=back)
    return Operation(name, source, _draw(dtypes), expected, promise)


def _divisible(x: Tensor, y: Tensor) -> None:
    least = torch.iinfo(x.dtype).min
    if bool((y == 0).any()) or bool(((x == least) & (y == -1)).any()):
        raise UndefinedError("division by zero, or overflow")


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    _divisible(x, y)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    found = [(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    return torch.tensor(found).to(x.dtype)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    _divisible(x, y)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    found = [abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in pairs]
    return torch.tensor(found).to(x.dtype)


def _high(x: Tensor, y: Tensor) -> Tensor:
    bits = x.element_size() * 8
    mask = (1 << bits) - 1
    found = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        word = ((a & mask) * (b & mask)) >> bits
        found.append(word - (1 << bits) if word >> (bits - 1) else word)
    return torch.tensor(found).to(x.dtype)


def _fused(x: Tensor, y: Tensor) -> Tensor:
    found = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if a != a or b != b or abs(a) == float("inf") or abs(b) == float("inf"):
            raise UndefinedError("finite values")
        exact = Fraction(a) * Fraction(b) + Fraction(a)
        wide = float(exact)
        if Fraction(wide) != exact or not exact:
            raise UndefinedError("a sum that float64 holds")
        found.append(wide)
    return torch.tensor(found, dtype=torch.float64).to(x.dtype)


def _finite(x: Tensor) -> Tensor:
    if x.dtype.is_floating_point and not bool(torch.isfinite(x).all()):
        raise UndefinedError("finite values")
    return x


def _exact_sum(values: list[Any], dtype: torch.dtype) -> Any:
    """Return a sum that no order of additions rounds, else refuse."""
    if not dtype.is_floating_point:
        return sum(values)
    scaled = [value * 16 for value in values]
    if any(s != s or abs(s) > 2048 or s != int(s) for s in scaled):
        raise UndefinedError("a sum without rounding")
    if dtype in (torch.float16, torch.bfloat16) and any(abs(s) > 16 for s in scaled):
        raise UndefinedError("a sum without rounding")
    return sum(int(s) for s in scaled) / 16


def _sum(x: Tensor, y: Tensor) -> Tensor:
    return torch.tensor([_exact_sum(x.tolist(), x.dtype)]).to(_wide(x.dtype))


def _prefix(x: Tensor, *, reverse: bool = False) -> Tensor:
    values = x.tolist()[::-1] if reverse else x.tolist()
    found = [_exact_sum(values[: k + 1], x.dtype) for k in range(len(values))]
    return torch.tensor(found[::-1] if reverse else found).to(_wide(x.dtype))


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type of a sum: small integers count in 32 bits."""
    if dtype in (torch.int8, torch.int16, torch.uint8):
        return torch.int32
    return dtype


def _without_nan(x: Tensor) -> Tensor:
    if bool(torch.isnan(x).any()):
        raise UndefinedError("no NaN")
    if bool(((x == 0) & torch.signbit(x)).any()):
        raise UndefinedError("no negative zero")
    return x


def _narrowed(kind: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
    def right(x: Tensor, y: Tensor) -> Tensor:
        if bool((_finite(x).abs() > torch.finfo(kind).max).any()):
            raise UndefinedError("values in range")
        return x.to(kind)

    return right


def _integral(x: Tensor, y: Tensor) -> Tensor:
    if bool((_finite(x).abs() > 30000).any()):
        raise UndefinedError("values in range")
    return x.to(torch.int32)


def _binned(x: Tensor, y: Tensor) -> Tensor:
    return torch.bincount((x & 3).to(torch.int64), minlength=4).to(torch.int32)


def _split_sum(x: Tensor, y: Tensor) -> Tensor:
    joined = torch.stack([x, y], dim=-1)
    return joined.flatten()


SIGNED = INTEGERS[:-1]
WIDE = ("int32", "int64")
ALL = (*INTEGERS[:2], *FLOATS)
OUT_SUM = "{torch.int8: torch.int32, torch.int16: torch.int32}.get(x.dtype, x.dtype)"

TRITON_INTERPRETER = Library(
    "triton_interpreter",
    "triton",
    (
        kernel("add", "x + y", ALL, torch.add, "sum"),
        kernel("subtract", "x - y", ALL, torch.sub, "difference"),
        kernel("multiply", "x * y", ALL, torch.mul, "product"),
        kernel("floor_divide", "x // y", SIGNED, _quotient, "integer division as in C"),
        kernel("remainder", "x % y", SIGNED, _remainder, "remainder as in C"),
        kernel("umulhi", "tl.umulhi(x, y)", WIDE, _high, "the most significant bits"),
        kernel(
            "shift_left",
            "x << (y & 3)",
            SIGNED,
            lambda x, y: x << (y & 3),
            "shift to the left",
        ),
        kernel(
            "shift_right",
            "x >> (y & 3)",
            INTEGERS,
            lambda x, y: x >> (y & 3),
            "arithmetic shift of signed values",
        ),
        kernel("invert", "~x", INTEGERS, lambda x, y: ~x, "complement"),
        kernel("negate", "-x", (*SIGNED, *FLOATS), lambda x, y: -x, "negation"),
        kernel(
            "absolute", "tl.abs(x)", (*SIGNED, *FLOATS), lambda x, y: x.abs(), "|x|"
        ),
        kernel(
            "less",
            "x < y",
            ALL,
            lambda x, y: (x < y).to(torch.int8),
            "x < y",
            "torch.int8",
        ),
        kernel(
            "unequal",
            "x != y",
            ALL,
            lambda x, y: (x != y).to(torch.int8),
            "x != y",
            "torch.int8",
        ),
        kernel(
            "maximum",
            "tl.maximum(x, y)",
            FLOATS,
            lambda x, y: torch.fmax(_nonzero(x, y)[0], y),
            "propagate_nan NONE: of a number and a NaN, the number",
        ),
        kernel(
            "minimum",
            "tl.minimum(x, y)",
            (*WIDE, *FLOATS),
            lambda x, y: torch.fmin(_nonzero(x, y)[0], y),
            "propagate_nan NONE: of a number and a NaN, the number",
        ),
        kernel(
            "maximum_nan",
            "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
            FLOATS,
            lambda x, y: torch.maximum(_nonzero(x, y)[0], y),
            "propagate_nan ALL: NaN if either is",
        ),
        kernel(
            "where",
            "tl.where(x > y, x, y)",
            ALL,
            lambda x, y: torch.where(x > y, x, y),
            "x where the condition holds, else y",
        ),
        kernel("fma", "tl.fma(x, y, x)", FLOATS[:2], _fused, "rounded once"),
        kernel("floor", "tl.floor(x)", ("float32",), lambda x, y: x.floor(), "floor"),
        kernel("ceil", "tl.ceil(x)", ("float32",), lambda x, y: x.ceil(), "ceil"),
        kernel(
            "to_float16",
            "x.to(tl.float16)",
            ("float32",),
            _narrowed(torch.float16),
            "rounded to nearest even",
            "torch.float16",
        ),
        kernel(
            "to_bfloat16",
            "x.to(tl.bfloat16)",
            ("float32",),
            _narrowed(torch.bfloat16),
            "rounded to nearest even",
            "torch.bfloat16",
        ),
        kernel(
            "to_float8e5",
            "x.to(tl.float8e5)",
            ("float32", "float16"),
            _narrowed(torch.float8_e5m2),
            "rounded to nearest even",
            "torch.float8_e5m2",
        ),
        kernel(
            "to_float8e4nv",
            "x.to(tl.float8e4nv)",
            ("float32", "float16"),
            _narrowed(torch.float8_e4m3fn),
            "rounded to nearest even",
            "torch.float8_e4m3fn",
        ),
        kernel(
            "to_int32",
            "x.to(tl.int32)",
            ("float32", "float64"),
            _integral,
            "truncated",
            "torch.int32",
        ),
        kernel(
            "to_float32",
            "x.to(tl.float32)",
            SIGNED,
            lambda x, y: x.to(torch.float32),
            "nearest",
            "torch.float32",
        ),
        kernel(
            "sum", "tl.sum(x, 0)", SIGNED, _sum, "sum of all elements", OUT_SUM, "1"
        ),
        kernel(
            "sum_float",
            "tl.sum(x, 0)",
            FLOATS,
            _sum,
            "sum of all elements",
            "x.dtype",
            "1",
        ),
        kernel(
            "max",
            "tl.max(x, 0)",
            (*SIGNED[:2], *FLOATS),
            lambda x, y: _without_nan(x).max()[None],
            "largest element",
            "x.dtype",
            "1",
        ),
        kernel(
            "argmax",
            "tl.argmax(x, 0)",
            ALL,
            lambda x, y: torch.tensor(
                [x.tolist().index(_without_nan(x).max())], dtype=torch.int32
            ),
            "index of the largest, the leftmost of equal ones",
            "torch.int32",
            "1",
        ),
        kernel(
            "argmin",
            "tl.argmin(x, 0)",
            ALL,
            lambda x, y: torch.tensor(
                [x.tolist().index(_without_nan(x).min())], dtype=torch.int32
            ),
            "index of the smallest, the leftmost of equal ones",
            "torch.int32",
            "1",
        ),
        kernel(
            "xor_sum",
            "tl.xor_sum(x, 0)",
            WIDE,
            lambda x, y: _xored(x),
            "xor of all elements",
            "x.dtype",
            "1",
        ),
        kernel(
            "cumsum",
            "tl.cumsum(x, 0)",
            SIGNED,
            lambda x, y: _prefix(x),
            "sums of prefixes",
            OUT_SUM,
        ),
        kernel(
            "cumsum_float",
            "tl.cumsum(x, 0)",
            FLOATS,
            lambda x, y: _prefix(x),
            "sums of prefixes",
        ),
        kernel(
            "cumsum_reverse",
            "tl.cumsum(x, 0, reverse=True)",
            SIGNED,
            lambda x, y: _prefix(x, reverse=True),
            "sums of suffixes",
            OUT_SUM,
        ),
        kernel(
            "sort",
            "tl.sort(x)",
            (*SIGNED, *FLOATS),
            lambda x, y: _without_nan(x).sort()[0],
            "ascending",
        ),
        kernel(
            "sort_descending",
            "tl.sort(x, descending=True)",
            (*SIGNED, *FLOATS),
            lambda x, y: _without_nan(x).sort(descending=True)[0],
            "descending",
        ),
        kernel("flip", "tl.flip(x, 0)", ALL, lambda x, y: x.flip(0), "reversed"),
        kernel(
            "interleave",
            "tl.interleave(x, y)",
            ALL,
            _split_sum,
            "elements by turns",
            "x.dtype",
            "2 * len(x)",
        ),
        kernel(
            "histogram",
            "tl.histogram(x & 3, 4)",
            ("int32",),
            _binned,
            "how often each value occurs",
            "torch.int32",
            "4",
        ),
        kernel(
            "clamp",
            "tl.clamp(x, -2.0, 3.0)",
            FLOATS[:2],
            lambda x, y: _without_nan(x).clamp(-2.0, 3.0),
            "within the limits",
        ),
        kernel(
            "trans",
            "tl.trans(tl.reshape(tl.join(x, y), (N, 2))).reshape(2 * N)",
            ALL,
            lambda x, y: torch.stack([x, y], dim=-1).t().flatten(),
            "transposed",
            "x.dtype",
            "2 * len(x)",
        ),
    ),
)


def _nonzero(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Refuse zeros of both signs: which of them is larger is not said."""
    zeros = (x == 0) & (y == 0)
    if x.dtype.is_floating_point and bool(
        (zeros & (torch.signbit(x) != torch.signbit(y))).any()
    ):
        raise UndefinedError("zeros of one sign")
    return x, y


def _xored(x: Tensor) -> Tensor:
    found = 0
    for value in x.tolist():
        found ^= value
    return torch.tensor([found], dtype=x.dtype)
