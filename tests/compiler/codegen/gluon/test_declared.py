"""Shared memory of PTX beside Triton's: limits, alignment, and kernels that have both.

Attention on 64 rows by 8 warps reduces across warps, in memory that its PTX declares,
and multiplies out of swizzled memory that Triton allocates.
"""

import pytest

from algebra.layout import LinearLayout
from benchmarks.assign_graphs import GRAPHS
from benchmarks.fake_triton import declared_bytes, loadable
from compiler.assign import Assignment, assign
from compiler.codegen.gluon import declared, tile_kernel
from compiler.codegen.gluon.declared import (
    ALIGNMENT,
    MOST_BYTES,
    STATIC_BYTES,
    launch_fault,
    raising,
    rounded,
)
from compiler.codegen.gluon.emission import load_module
from compiler.convert import plan
from compiler.triton_api import compile_gluon


@pytest.fixture(scope="module")
def attention() -> Assignment:
    return assign(GRAPHS["attention"](64, 64, 64), 8)


def loaded(given: Assignment, stages: int) -> tuple[int, int]:
    """Compile a kernel, load it; return what it declares, and what Triton allocates."""
    kernel = tile_kernel.tile_kernel(given, stages)
    compiled = compile_gluon(
        getattr(load_module(kernel.text), kernel.name),
        kernel.parameters,
        {},
        aligned=list(kernel.parameters),
        num_warps=kernel.warps,
    )
    loadable(compiled)
    return declared_bytes(compiled.asm["cubin"]), compiled.metadata.shared


@pytest.mark.parametrize("stages", [2, 3])
def test_kernels_with_memory_of_both_kinds_load(
    attention: Assignment, stages: int
) -> None:
    own, allocated = loaded(attention, stages)
    assert own == ALIGNMENT and allocated > STATIC_BYTES


def test_the_kernel_takes_the_larger_of_both_not_the_sum(attention: Assignment) -> None:
    assert loaded(attention, 2)[1] == STATIC_BYTES + ALIGNMENT
    assert "ask.index" not in tile_kernel.tile_kernel(attention, 3).text


def test_triton_that_does_not_raise_the_limit_is_found(
    attention: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_kernel, "raising", lambda *_: [])
    with pytest.raises(RuntimeError, match="needed at most 49152 bytes unless"):
        loaded(attention, 2)


def test_triton_memory_out_of_line_is_found(
    attention: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "rounded", lambda shared_bytes: shared_bytes)
    with pytest.raises(RuntimeError, match="from a multiple of 1024 bytes, got 512"):
        loaded(attention, 3)


@pytest.mark.parametrize("own", [0, 512, 1024, 16384, STATIC_BYTES])
@pytest.mark.parametrize("allocated", [0, 1024, 32768, 40960, STATIC_BYTES, 65536])
def test_what_is_declared_and_raised_has_no_fault(own: int, allocated: int) -> None:
    own = rounded(own)
    assert own % ALIGNMENT == 0
    lines = raising(own, allocated, allocated, 4)
    most = max(allocated, STATIC_BYTES + ALIGNMENT) if lines else allocated
    assert not launch_fault(own, most)
    # what is not in use together may take less
    if lines == [] and own and allocated and own + allocated > STATIC_BYTES:
        assert raising(own, allocated, 0, 4)


def test_no_more_than_a_multiprocessor_has() -> None:
    assert not launch_fault(ALIGNMENT, MOST_BYTES - ALIGNMENT)
    assert str(MOST_BYTES) in launch_fault(ALIGNMENT, MOST_BYTES)


def test_conversions_of_users_leave_triton_memory_in_line() -> None:
    names = {"register": 1, "lane": 5, "warp": 1}
    lanes = [2, 4, 8, 16, 32]
    one = LinearLayout.from_columns(names, {"dim0": 7}, [1, *lanes, 64])
    other = LinearLayout.from_columns(names, {"dim0": 7}, [64, *lanes, 1])
    found = plan(one, other, 32)
    assert found.shared_bytes % ALIGNMENT
    assert f".b8 tile[{rounded(found.shared_bytes)}];" in found.emit("hardware").text
