"""Dumps that the tests read: small kernels, compiled by the installed Triton."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def transposed(x, y, z, n, m, SIZE: tl.constexpr):
    row = tl.arange(0, SIZE)[:, None]
    column = tl.arange(0, SIZE)[None, :]
    left = tl.load(x + row * n + column, mask=row < m, other=0.0)
    right = tl.load(y + column * n + row)
    tl.store(z + row * n + column, left + right)


@triton.jit
def summed(x, y, z, n, m, SIZE: tl.constexpr):
    column = tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    at = x + tl.arange(0, 16)[:, None] * n + column[None, :]
    for _ in range(0, m, 16):
        total += tl.sum(tl.load(at), 0)
        at += 16 * n
    tl.store(y + column, total)


@triton.jit
def picked(x, y, z, n, m, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    at = tl.load(z + place).to(tl.int32)
    value = tl.load(x + at)
    pairs = tl.reshape(tl.join(value, -value), [2 * SIZE])
    low, high = tl.split(tl.reshape(pairs, [SIZE, 2]))
    tl.store(y + place, tl.cumsum(low * high, 0))


@triton.jit
def counted(x, y, z, n, m, SIZE: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, SIZE), 1.0)
"""
Dump = Callable[[str], str]


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    import importlib.util

    path: Path = tmp_path_factory.mktemp("kernels") / "dumped_kernels.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("dumped_kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    done: dict[str, str] = {}

    def compiled(name: str) -> str:
        from compiler.triton_api import compile_kernel

        if name not in done:
            signature = {**dict.fromkeys("xyz", "*fp32"), "n": "i32", "m": "i32"}
            found: Any = compile_kernel(
                getattr(module, name), signature, {"SIZE": 64}, aligned=[*"xyz", "n"]
            )
            done[name] = found.asm["ttgir"]
        return done[name]

    return compiled
