"""Library functions of generated kernels, run in the interpreter."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import print_kernel
from compiler.ir.expression import Expression
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, constant, load
from compiler.runtime.triton_kernel import TritonKernel

X = digit("i")


def evaluated(value: Expression, a: torch.Tensor) -> torch.Tensor:
    size = index(a.numel())
    buffers = {
        name: Buffer(name, "float32", (size,), "cpu", (index(1),))
        for name in ("a", "o")
    }
    store = Store("o", (X,), value, False)
    kernel = Kernel("function", (Axis(X, size),), (), (store,), buffers)
    chosen = plan(kernel)
    wide = replace(chosen.tile[0], block=1 << 16)  # fewer, larger programs
    printed = print_kernel(kernel, replace(chosen, tile=(wide,)))
    built = TritonKernel(printed, interpret=True)
    out = torch.full_like(a, math.nan)
    built(*({"a": a, "o": out}[name] for name in built.parameters))
    return out


def every(step: int, low: float, high: float) -> torch.Tensor:
    """Return every ``step``-th float32 from low to high, both signs."""
    ends = np.array([low, high], dtype=np.float32).view(np.int32)
    bits = np.arange(int(ends[0]), int(ends[1]), step, dtype=np.int32)
    positive = torch.from_numpy(bits.view(np.float32).copy())
    return torch.cat([positive, -positive])


def ulps(found: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the largest error in units of the exact value's last place."""
    spacing = np.spacing(np.abs(exact.numpy().astype(np.float32))).astype(np.float64)
    return float((np.abs(found.double().numpy() - exact.numpy()) / spacing).max())


def test_erf_is_within_2_ulp_over_all_magnitudes() -> None:
    a = every(701, 2.0**-126, 10.0)
    found = evaluated(apply("erf", load("a", (X,), "float32")), a)
    assert a.numel() > 300_000
    assert ulps(found, torch.erf(a.double())) <= 2


def test_erf_plus_one_is_within_its_absolute_error() -> None:
    a = every(701, 2.0**-40, 10.0)
    value = apply("erf", load("a", (X,), "float32"))
    found = evaluated(apply("add", value, constant(1.0, "float32")), a)
    # below zero 1 + erf(x) is erfc(-x), which does not cancel
    exact = torch.erfc(-a.double())
    assert (found.double() - exact).abs().max() <= 2**-22.5
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan])
    ends = evaluated(apply("add", value, constant(1.0, "float32")), special)
    assert ends[:4].tolist() == [1.0, 1.0, 2.0, 0.0] and math.isnan(ends[4])


def test_erf_of_special_values() -> None:
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 3e38, -3e38])
    found = evaluated(apply("erf", load("a", (X,), "float32")), special)
    torch.testing.assert_close(found, torch.erf(special), equal_nan=True)
    assert found[1].signbit()


@pytest.mark.parametrize("divisor", [2.0, 0.125, -4.0])
def test_powers_of_two_divide_exactly_as_products(divisor: float) -> None:
    a = every(100_003, 2.0**-120, 2.0**120)
    value = apply("truediv", load("a", (X,), "float32"), constant(divisor, "float32"))
    assert torch.equal(evaluated(value, a), a / divisor)


def test_a_quotient_by_a_known_inverse_is_rounded_once() -> None:
    """The formula of ``quotient_by`` in float32 with fused products, by float64."""
    rng = np.random.default_rng(0)
    a = rng.random(200_000).astype(np.float32)
    b = (1 + rng.random(200_000) * 8191).astype(np.float32)
    inverse = np.float32(1) / b
    quotient = a * inverse
    # a float64 holds the product of two float32 exactly; the sum rounds once more,
    # which changes nothing here: the remainder is a float32
    rest = (-quotient.astype(np.float64) * b + a).astype(np.float32)
    found = (rest.astype(np.float64) * inverse + quotient).astype(np.float32)
    assert np.array_equal(found, a / b)
