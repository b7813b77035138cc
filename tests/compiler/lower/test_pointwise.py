import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir.node import Map
from compiler.lower.eager_strides import correct_fake_strides

aten = torch.ops.aten

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTEGERS, torch.bool)
REAL = (*FLOATS, *INTEGERS)

# function -> types it takes
UNARY: dict[str, tuple[Callable[..., Any], tuple[torch.dtype, ...]]] = {
    **{
        name: (getattr(torch, name), ALL)
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "sigmoid"),
            *("reciprocal", "sign", "sgn", "isnan", "isinf", "isfinite", "signbit"),
            "logical_not",
        )
    },
    **{
        name: (getattr(torch, name), REAL)
        for name in ("neg", "abs", "floor", "ceil", "trunc", "round", "square")
    },
    "positive": (torch.positive, REAL),
    "relu": (torch.relu, REAL),
    "bitwise_not": (torch.bitwise_not, (*INTEGERS, torch.bool)),
    "frac": (torch.frac, FLOATS),
}


@given(data=st.data())
@settings(max_examples=5)
def test_functions_of_one_operand(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(most_rank=2))
    functions = [f for f, dtypes in UNARY.values() if x.dtype in dtypes]
    # eager mode's vector units and its scalar tails differ by a rounding
    agree(lambda x: tuple(f(x) for f in functions), x, ulps=4)


BINARY: dict[str, tuple[Callable[..., Any], tuple[torch.dtype, ...]]] = {
    "add": (operator.add, ALL),
    "sub": (operator.sub, REAL),
    "mul": (operator.mul, ALL),
    "div": (operator.truediv, ALL),
    "div_floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), FLOATS),
    "div_trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), FLOATS),
    "floor_divide": (operator.floordiv, FLOATS),
    "remainder": (torch.remainder, FLOATS),
    "fmod": (torch.fmod, FLOATS),
    "pow": (torch.pow, FLOATS),
    "maximum": (torch.maximum, ALL),
    "minimum": (torch.minimum, ALL),
    "fmax": (torch.fmax, ALL),
    "fmin": (torch.fmin, ALL),
    "atan2": (torch.atan2, FLOATS),
    "hypot": (torch.hypot, FLOATS),
    "copysign": (torch.copysign, ALL),
    **{
        name: (getattr(torch, name), ALL)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    **{
        name: (getattr(torch, name), ALL)
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    **{
        name: (getattr(torch, name), (*INTEGERS, torch.bool))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
}


@given(data=st.data())
@settings(max_examples=5)
def test_functions_of_two_operands_of_two_types(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(most_rank=2))
    thin = tuple(1 if data.draw(st.booleans()) else e for e in x.shape)
    shape = thin[data.draw(st.integers(0, len(thin))) :]
    y = data.draw(tensors_of(shape=shape))
    functions = [
        f
        for name, (f, dtypes) in BINARY.items()
        if {x.dtype, y.dtype} <= set(dtypes) and (name != "hypot" or x.dtype == y.dtype)
    ]
    agree(lambda x, y: tuple(f(x, y) for f in functions), x, y, ulps=4)


NUMBERED: dict[str, Callable[..., Any]] = {
    "add": lambda x, c: x + c,
    "sub": lambda x, c: x - c,
    "rsub": lambda x, c: c - x,
    "mul": lambda x, c: x * c,
    "div": lambda x, c: x / c,
    "eq": lambda x, c: x == c,
    "ge": lambda x, c: x >= c,
    "add_alpha": lambda x, c: torch.add(x, x, alpha=c),
    "clamp_min": lambda x, c: x.clamp(min=c),
    "where": lambda x, c: torch.where(x > 0, x, c),
}


@given(data=st.data())
@settings(max_examples=3)
def test_a_number_beside_a_tensor(
    agree: Callable[..., Any],
    tensors_of: Callable[..., st.SearchStrategy[torch.Tensor]],
    data: st.DataObject,
) -> None:
    x = data.draw(tensors_of(dtypes=REAL, most_rank=1))
    number = data.draw(st.sampled_from((3, -2, 0.1, 2.5)))
    if x.dtype == torch.uint8 and number == -2:
        number = 2
    whole = isinstance(number, float) and not x.dtype.is_floating_point
    functions = [f for name, f in NUMBERED.items() if not whole or name != "add_alpha"]
    agree(lambda x: tuple(f(x, number) for f in functions), x)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_divide_by_a_number(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    mode: str,
    dtype: torch.dtype,
) -> None:
    x = values_of((31,), dtype, 3)
    agree(lambda x: torch.div(x, 3, rounding_mode=mode), x)
    agree(lambda x: (x % 5, torch.fmod(x, 5)), x)


def test_an_integer_division_that_may_raise_is_left_to_eager_mode(
    agree: Callable[..., Any],
) -> None:
    x, y = torch.tensor([7, 8]), torch.tensor([2, 0])
    program = agree.program(operator.floordiv, x, y)  # type: ignore[attr-defined]
    assert not any(isinstance(node, Map) for node in program.nodes)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, -1, -2, 0.5, -0.5, 2.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_powers(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    exponent: float,
    dtype: torch.dtype,
) -> None:
    if dtype == torch.int32 and (exponent < 0 or isinstance(exponent, float)):
        return
    agree(lambda x: x**exponent, values_of((40,), dtype, 1))


def test_a_bfloat16_comparison_sees_the_rounded_sum(agree: Callable[..., Any]) -> None:
    a = torch.linspace(0.5, 2, 64).bfloat16()
    agree(lambda a: (a + 1e-3) == a, a, ulps=0)
    agree(lambda a, b: (a + b) == a, a, a * 1e-3, ulps=0)


def test_floor_division_of_floats_is_eager_modes(agree: Callable[..., Any]) -> None:
    x = torch.tensor([1.0, -1.0, 5.3, float("inf"), 0.0, float("nan")])
    agree(lambda x: torch.floor_divide(x, 0.1), x, ulps=0)
    agree(lambda x: x % 0.1, x, ulps=0)


def test_an_iota_times_a_number_does_not_wrap_at_32_bits(
    agree: Callable[..., Any],
) -> None:
    big = (1 << 30) + 7
    agree(lambda x: torch.arange(7) * big + x, torch.zeros(7, dtype=torch.int64))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_nan_wins_extremes_and_clamps(
    agree: Callable[..., Any], order: tuple[int, int]
) -> None:
    pair = torch.tensor([[float("nan"), 1.0, -0.0], [2.0, float("nan"), 0.0]])
    a, b = pair[order[0]], pair[order[1]]
    agree(lambda a, b: (torch.maximum(a, b), torch.minimum(a, b)), a, b, ulps=0)
    agree(lambda a, b: (a.clamp(min=b), a.clamp(max=b), a.clamp(-1, 1)), a, b, ulps=0)


def test_ldexp_and_any_have_eager_modes_types(agree: Callable[..., Any]) -> None:
    x = torch.tensor([1, 2, 3], dtype=torch.int32)
    agree(lambda x: torch.ldexp(x, x), x, extern=True)
    agree(lambda x: torch.ldexp(x.half(), x), x, extern=True)
    agree(lambda x: x.any(), x.to(torch.uint8))


def test_ldexp_takes_exponents_beyond_the_range_of_powers(
    agree: Callable[..., Any],
) -> None:
    # 0 * 2**200 is 0, not 0 * inf
    x = torch.tensor([0.0, 1.5, 3e38, 1e-40])
    by = torch.tensor([200, -149, -200, 150])
    agree(lambda x, by: torch.ldexp(x, by), x, by, extern=True)


@pytest.mark.filterwarnings("ignore:An output with one or more:UserWarning")
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.int64]
)
def test_ldexp_has_eager_modes_strides(
    agree: Callable[..., Any], dtype: torch.dtype
) -> None:
    correct_fake_strides()
    x = torch.ones(3, 1, 2, dtype=dtype).permute(2, 1, 0)
    for kind in (torch.int64, torch.int8, torch.float32, torch.float16):
        by = torch.ones(4, 2, 3, dtype=kind).permute(1, 0, 2)
        agree(lambda x, by: torch.ldexp(x, by[:, :1]), x, by, extern=True)
        agree(lambda x, by: torch.ldexp(x, by), x, by, extern=True)


def test_fused_forms(agree: Callable[..., Any]) -> None:
    x, y, z = torch.randn(3, 8)
    agree(lambda x, y, z: torch.addcmul(x, y, z, value=0.5), x, y, z)
    agree(lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), x, y, z, ulps=4)
    agree(lambda x, y, z: torch.lerp(x, y, z), x, y, z)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64])
def test_shifts(
    agree: Callable[..., Any],
    values_of: Callable[..., torch.Tensor],
    dtype: torch.dtype,
) -> None:
    x = values_of((20,), dtype, 5)
    by = torch.arange(20).to(dtype) % 7
    agree(lambda x, y: (x << y, x >> y, x << 2, x >> 1), x, by)


def test_unsigned_bytes_wrap(agree: Callable[..., Any]) -> None:
    x = torch.tensor([250, 3, 128], dtype=torch.uint8)
    agree(lambda x: ((3 * x).int(), (-x).int(), (x - 5).int(), (x + x) / 2), x)


def test_what_clamps_keeps_the_sign_of_a_zero() -> None:
    def clamped(x: torch.Tensor) -> list[torch.Tensor]:
        functional = torch.nn.functional
        return [x.relu(), x.clamp(0, 1), x.clamp(max=0.0), functional.relu6(x)]

    x = torch.tensor([-0.0, 0.0] * 20)
    torch.compiler.reset()
    for found in torch.compile(clamped, backend="tilewright")(x):
        assert torch.equal(found.signbit(), x.signbit())
