"""Upcasts of fp4 that Triton 3.6 and 3.7 get wrong; see docs/found.md."""

from pathlib import Path

import numpy as np
import pytest
import triton
from triton.backends.compiler import GPUTarget

from verify.ptx.fp4_upcast import EXCHANGED, ORDERED, upcast_kernel
from verify.ptx.numeric import run_kernel

WRONG_IN = ("3.6.0", "3.7.1")


def wrong_columns(registers: str, folder: Path) -> list[int]:
    """Return the columns in which machine code's numbers are not the right ones."""
    file = folder / "upcast.ttgir"
    file.write_text(upcast_kernel(registers))
    compiled = triton.compile(str(file), target=GPUTarget("cuda", 90, 32))
    codes = np.random.default_rng(0).integers(0, 256, (32, 4), dtype=np.uint8)
    half = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    values = np.concatenate([half, -half])
    expected = np.stack([values[codes & 15], values[codes >> 4]], -1).reshape(32, 8)
    out = np.zeros(256, np.int16)
    run_kernel(compiled.asm["ptx"], [codes.reshape(-1), out], (1, 1, 1))
    found = (out.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return [int(c) for c in np.nonzero((found.reshape(32, 8) != expected).any(0))[0]]


def test_the_numbers_of_a_byte_in_neighbouring_registers(tmp_path: Path) -> None:
    assert wrong_columns(ORDERED, tmp_path) == []


def test_other_orders_are_wrong_or_refused(tmp_path: Path) -> None:
    if triton.__version__ in WRONG_IN:
        assert wrong_columns(EXCHANGED, tmp_path) == [1, 2, 5, 6]
    else:
        with pytest.raises(RuntimeError):
            wrong_columns(EXCHANGED, tmp_path)
