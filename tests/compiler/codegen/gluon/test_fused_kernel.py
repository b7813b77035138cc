"""Assigned kernels of the fusing compiler: they compile, and their PTX is proved."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.fake_triton import loadable
from compiler.codegen.gluon.fused_kernel import print_assigned
from compiler.codegen.triton import print_kernel
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import Printed
from compiler.errors import NotTiledError
from compiler.ir.expression import Expression
from compiler.ir.index import constant_value, digit, index
from compiler.ir.kernel import Kernel, Store
from compiler.ir.node import Axis, Buffer
from compiler.ir.scalar import apply, cast, constant, load
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.triton_pool import CompilePool
from verify.ptx.buffers import Buffers
from verify.ptx.conversion import SHARED_LIMIT, _pointers
from verify.ptx.execute import execute
from verify.ptx.halt import FaultError
from verify.ptx.machine import Machine
from verify.ptx.reader import parse

I_J = Y, X = digit("i"), digit("j")


def across(
    value: Expression, m: int, n: int, types: dict[str, str], out: str
) -> Kernel:
    """A kernel of row-major arrays but for ``b``, which is column-major."""
    arrays = {**types, "o": out}
    axes = Axis(Y, index(m)), Axis(X, index(n))
    buffers = {}
    for name, dtype in arrays.items():
        steps = (1, m) if name == "b" else (n, 1)
        sizes = tuple(map(index, (m, n)))
        buffers[name] = Buffer(name, dtype, sizes, "cuda:0", tuple(map(index, steps)))
    store = Store("o", I_J, cast(value, out), False)
    return Kernel("across_2", axes, (), (store,), buffers)


def wide(name: str, dtype: str) -> Expression:
    return cast(load(name, I_J, dtype), "float32")


def assigned(kernel: Kernel) -> Printed:
    chosen = plan(kernel)
    return print_assigned(chosen, print_kernel(kernel, chosen))


def ptx_of(printed: Printed) -> str:
    text: str = loadable(TritonKernel(printed).compile(arch=90)).asm["ptx"]
    return text


@pytest.mark.parametrize(
    ("op", "left", "right", "out"),
    [
        ("add", "float32", "float32", "float32"),
        ("mul", "bfloat16", "float16", "bool"),
        ("maximum", "int8", "bfloat16", "int64"),
    ],
)
@pytest.mark.parametrize(
    "shape", [(33, 70), pytest.param((32, 96), marks=pytest.mark.slow)]
)
def test_kernels_compile_with_equal_arguments(
    op: str, left: str, right: str, out: str, shape: tuple[int, int]
) -> None:
    value = apply(op, wide("a", left), wide("b", right))
    kernel = across(value, *shape, {"a": left, "b": right}, out)
    theirs = print_kernel(kernel)
    ours = assigned(kernel)
    assert ours.gluon and not theirs.gluon
    for name in ("arguments", "parameters", "symbols", "types", "grid", "num_warps"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert "layouts are assigned" in ours.comments
    assert "st.global" in ptx_of(ours)
    assert TritonKernel(ours).key != TritonKernel(theirs).key


def test_other_processes_compile_them() -> None:
    value = apply("add", wide("a", "float32"), wide("b", "float32"))
    kernel = across(value, 40, 49, dict.fromkeys("ab", "float32"), "float32")
    pool = CompilePool(1)
    try:
        assert pool.compile([TritonKernel(assigned(kernel)).job(90)]) == [""]
    finally:
        pool.stop()


def test_vectors_are_loaded_both_ways() -> None:
    value = apply("add", wide("a", "bfloat16"), wide("b", "bfloat16"))
    kernel = across(value, 512, 512, dict.fromkeys("ab", "bfloat16"), "bfloat16")
    ptx = ptx_of(assigned(kernel))
    assert re.search(r"ld\.global\.v4\.b32", ptx)
    assert re.search(r"st\.global\.v4\.b32", ptx)


@pytest.mark.parametrize("op", ["exp", "erf", "tanh", "sigmoid_like", "remainder"])
def test_arithmetic_is_that_of_the_triton_kernel(op: str) -> None:
    """The same instructions of floating arithmetic, in the same number a thread."""
    a, b = wide("a", "float32"), wide("b", "float32")
    one = constant(1.0, "float32")
    if op == "sigmoid_like":
        value = apply("truediv", a, apply("add", one, apply("exp", b)))
    elif op == "remainder":
        value = apply("remainder", a, b)
    else:
        value = apply("add", apply(op, a), b)
    kernel = across(value, 64, 64, dict.fromkeys("ab", "float32"), "bfloat16")
    counts = []
    for printed in (print_kernel(kernel), assigned(kernel)):
        ptx = ptx_of(printed)
        found: dict[str, int] = {}
        names = r"\b((?:add|sub|mul|fma|div|ex2|rcp|max|min|setp)\.[\w.]*f32)\b"
        for name in re.findall(names, ptx):
            found[name] = found.get(name, 0) + 1
        counts.append(found)
    assert counts[0] == counts[1] and counts[0]


def moved(dtype: str, m: int, n: int) -> Kernel:
    """A transposition and nothing else."""
    return across(load("b", I_J, dtype), m, n, {"b": dtype}, dtype)


class Transposed(Buffers):
    """A matrix whose transpose is due: what is loaded is known by where it belongs."""

    rows: int

    def load(self, offsets: Any, active: Any) -> Any:
        size = self.element_bytes
        place, byte = np.divmod(np.clip(offsets, 0, self.size - 1), size)
        column, row = np.divmod(place, self.rows)
        columns = self.elements // self.rows
        return super().load((row * columns + column) * size + byte, active)

    def store(self, offsets: Any, codes: Any, active: Any, awake: Any) -> Any:
        # whoever is outside the matrix has the address of another row's element
        return super().store(offsets, codes, active, active)


def uncovered(printed: Printed, m: int, n: int, size: int) -> int:
    """Execute the PTX of all programs; return how many bytes are not stored.

    Raises:
        FaultError: a byte is stored that does not belong there.
    """
    ptx = ptx_of(printed)
    threads = 32 * printed.num_warps
    buffers = Transposed(m * n, size, np.arange(1, m * n * size + 1, dtype=np.int32))
    buffers.rows = m
    for program in range(constant_value(printed.grid) or 0):
        kernel = parse(ptx.replace("%ctaid.x", str(program)))
        pointers = _pointers(kernel, (0, 1), threads)
        execute(Machine(kernel, threads, buffers, pointers, SHARED_LIMIT))
    return int((~buffers.covered).sum())


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("float32", (64, 64)), ("float16", (36, 50)), ("int8", (36, 50))],
)
def test_the_ptx_of_a_transposition_is_right(
    dtype: str, shape: tuple[int, int]
) -> None:
    size = {"float32": 4, "float16": 2, "int8": 1}[dtype]
    assert uncovered(assigned(moved(dtype, *shape)), *shape, size) == 0


def test_wrong_masks_and_programs_are_seen_in_ptx() -> None:
    ours = assigned(moved("float32", 36, 50))
    assert uncovered(ours, 36, 50, 4) == 0
    less = replace(ours, source=re.sub(r"< 36\b", "< 35", ours.source))
    assert uncovered(less, 36, 50, 4) == 50 * 4
    other = ours.source.replace("program0 % 2", "(program0 + 1) % 2", 1)
    assert other != ours.source
    with pytest.raises(FaultError):
        uncovered(replace(ours, source=other), 36, 50, 4)


def test_what_the_printer_refuses_is_one_error() -> None:
    value = apply("add", wide("a", "float32"), wide("b", "float32"))
    kernel = across(value, 64, 64, dict.fromkeys("ab", "float32"), "float32")
    (store,) = kernel.stages
    assert isinstance(store, Store)
    scattered = replace(kernel, stages=(replace(store, mode="add"),))
    with pytest.raises(NotTiledError):
        assigned(scattered)
