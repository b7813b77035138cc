"""The preconditions of permute, and the choice of a backend."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from compiler import permute
from compiler.errors import BackendError, BuildError, NotATensorError, OutputError
from compiler.permutations import from_columns
from compiler.permuting import cpp_backend, execute

SWAP = from_columns([2, 1])


@pytest.mark.parametrize("value", [[0, 1, 2, 3], np.arange(4), None, "abcd"])
def test_only_tensors(value: object) -> None:
    with pytest.raises(NotATensorError, match=type(value).__name__):
        permute(value, SWAP)  # type: ignore[arg-type]


def test_only_dense_tensors_with_data() -> None:
    with pytest.raises(NotATensorError, match="meta"):
        permute(torch.empty(4, device="meta"), SWAP)
    with pytest.raises(NotATensorError, match="sparse"):
        permute(torch.eye(2).to_sparse(), SWAP)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.zeros(2, 2), "shape"),
        (torch.zeros(4, dtype=torch.float64), "dtype"),
        (torch.zeros(4, device="meta"), "device"),
        (torch.zeros(8)[::2], "contiguous"),
        (np.zeros(4), "torch.Tensor"),
    ],
)
def test_an_out_that_does_not_fit(out: object, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        permute(torch.arange(4.0), SWAP, out)  # type: ignore[arg-type]


def test_a_lazy_conjugate_cannot_be_out() -> None:
    z = torch.zeros(4, dtype=torch.complex64)
    with pytest.raises(OutputError, match="conjugate"):
        permute(z.clone(), SWAP, z.conj())


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3])
def test_out_must_not_share_memory(shift: int) -> None:
    base = torch.arange(20.0)
    tensor, out = base[8:12], base[8 + shift : 12 + shift]
    with pytest.raises(OutputError, match="share memory"):
        permute(tensor, SWAP, out)
    assert torch.equal(base, torch.arange(20.0))


@pytest.mark.parametrize("shift", [-4, 4])
def test_neighbours_in_one_storage_do_not_overlap(shift: int) -> None:
    base = torch.arange(20.0)
    permute(base[8:12], SWAP, base[8 + shift : 12 + shift])
    assert base[8 + shift : 12 + shift].tolist() == [8, 10, 9, 11]


@pytest.mark.parametrize("of_out", [False, True])
def test_out_cannot_be_differentiated(of_out: bool) -> None:
    tensor = torch.zeros(4, requires_grad=not of_out)
    out = torch.zeros(4, requires_grad=of_out)
    with pytest.raises(OutputError, match="requires_grad=True"):
        permute(tensor, SWAP, out)
    with torch.no_grad():
        assert permute(tensor, SWAP, out) is out


def test_backends_have_homes() -> None:
    with pytest.raises(BackendError, match="runs on cuda tensors, got device=cpu"):
        permute(torch.arange(4), SWAP, backend="triton")
    with pytest.raises(BackendError, match="one of auto, cpp"):
        permute(torch.arange(4), SWAP, backend="cuda")  # type: ignore[arg-type]


def test_without_a_compiler_torch_steps_in_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    for cached in (cpp_backend.load_kernels, execute._cpu_default):
        cached.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="no-such-compiler"):
            result = permute(torch.arange(4), SWAP)
        assert result.tolist() == [0, 2, 1, 3]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            permute(torch.arange(4), SWAP)
        with pytest.raises(BuildError, match="install g"):
            permute(torch.arange(4), SWAP, backend="cpp")
    finally:
        for cached in (cpp_backend.load_kernels, execute._cpu_default):
            cached.cache_clear()
