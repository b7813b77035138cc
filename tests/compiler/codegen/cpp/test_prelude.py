"""Inline functions against double precision, on bit patterns from all of float32."""

import ctypes
import math
from typing import Any

import pytest
import torch

from compiler.codegen.cpp.prelude import prelude
from compiler.runtime.build import load_library
from compiler.runtime.cpp import FLAGS, LIBRARIES

_LOOP = """
extern "C" void run_{name}(const f32 *x, f32 *o, i64 n) {{
    #pragma omp simd
    for (i64 i = 0; i < n; ++i) o[i] = {name}_f32(x[i]);
}}
"""
_NAMES = ("exp", "erf", "tanh")


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "exact"])
def functions(request: Any) -> Any:
    text = prelude(request.param) + "".join(_LOOP.format(name=n) for n in _NAMES)
    library: Any = load_library("functions", text, FLAGS, LIBRARIES)
    library.fast = request.param
    return library


@pytest.mark.parametrize("name", _NAMES)
def test_functions_are_off_by_few_ulp(name: str, functions: Any) -> None:
    patterns = torch.arange(-(2**31), 2**31, 30011, dtype=torch.int64)
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, 88.7, 104])
    x = torch.cat([patterns.to(torch.int32).view(torch.float32), special])
    ours = torch.empty_like(x)
    getattr(functions, f"run_{name}")(
        ctypes.c_void_p(x.data_ptr()),
        ctypes.c_void_p(ours.data_ptr()),
        ctypes.c_int64(x.numel()),
    )
    right = getattr(torch, name)(x.double())
    rounded = right.float()
    assert torch.equal(ours.isnan(), rounded.isnan())
    assert torch.equal(ours.isinf(), rounded.isinf())
    finite = rounded.isfinite()
    size = rounded[finite].abs()
    ulp = torch.nextafter(size, torch.tensor(math.inf)) - size
    apart = (ours.double() - right)[finite].abs() / ulp.double()
    assert apart.max() <= (1.5 if functions.fast else 3)


def test_zeros_keep_their_sign(functions: Any) -> None:
    x = torch.tensor([-0.0] * 40)
    for name in ("erf", "tanh"):
        ours = torch.empty_like(x)
        getattr(functions, f"run_{name}")(
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_void_p(ours.data_ptr()),
            ctypes.c_int64(40),
        )
        assert torch.signbit(ours).all()
        assert not ours.any()
