"""Loading kernels: cost of a call, statuses."""

import pickle
import time
from pathlib import Path

import pytest
import torch

from compiler.runtime.cpp import Source, load_kernels, raise_status

_HEAD = "typedef int i32; typedef long long i64; typedef float f32;"
_TEXT = """
extern "C" i32 k_add(const f32 *x, f32 *o, i64 n) {
    for (i64 i = 0; i < n; ++i) o[i] = x[i] + 1;
    return n > 100 ? 1 : 0;
}
"""


def test_kernels_take_tensors_and_sizes() -> None:
    source = Source("add", "k_add", _TEXT, ("x", "o"), ())
    with pytest.raises(TypeError):
        load_kernels(_HEAD, [source])["add"](torch.zeros(1))


def test_a_status_is_the_error_of_eager_mode() -> None:
    with pytest.raises(IndexError):
        raise_status(1)
    with pytest.raises(IndexError):
        raise_status(3)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        raise_status(2)


def test_a_call_costs_microseconds() -> None:
    text = (
        _TEXT.replace(", i64 n", "").replace("n > 100", "false").replace("< n", "< 1")
    )
    kernel = load_kernels(_HEAD, [Source("add", "k_add", text, ("x", "o"), ())])["add"]
    x, o = torch.zeros(1), torch.zeros(1)
    best = 1.0
    for _ in range(200):
        start = time.perf_counter()
        kernel(x, o)
        best = min(best, time.perf_counter() - start)
    assert o.item() == 1
    assert best < 20e-6


def test_a_kernel_is_pickled_by_the_name_of_its_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    text = (
        _TEXT.replace(", i64 n", "").replace("n > 100", "false").replace("< n", "< 1")
    )
    source = Source("add", "k_add", text, ("x", "o"), ())
    content = pickle.dumps(load_kernels(_HEAD, [source])["add"])
    monkeypatch.setenv("CXX", "/nowhere/g++")
    kernel = pickle.loads(content)
    x, o = torch.ones(1), torch.zeros(1)
    kernel(x, o)
    assert o.item() == 2 and kernel.parameters == ("x", "o")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "other"))
    with pytest.raises(pickle.PicklingError, match="other"):
        pickle.dumps(kernel)
    with pytest.raises(OSError):
        pickle.loads(content)
