"""Products with epilogues as tile graphs: against float64, and compiled for sm_90."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch

from algebra.errors import UnsupportedLayoutError
from algebra.verdict import Proved
from benchmarks.fake_triton import loadable
from benchmarks.product_epilogue_cases import (
    Case,
    arrays_of,
    exact,
    program_of,
    tiled,
)
from compiler.assign import assign, simulate
from compiler.codegen.gluon import fused_kernel
from compiler.codegen.gluon.fused_kernel import print_assigned
from compiler.codegen.gluon.fused_tiles import fused_tiles
from compiler.codegen.gluon.tile_kernel import tile_kernel
from compiler.codegen.triton import print_kernel
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import Printed
from compiler.codegen.triton.tile import Plan, lies_across
from compiler.ir.evaluate_tile import run_tiles
from compiler.ir.index import constant_value, index
from compiler.ir.kernel import Kernel
from compiler.ir.node import Tiling
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
from compiler.schedule import schedule

SMALL = Tiling(32, 32, 16, 4, 2)
LARGE = Tiling(128, 128, 64, 4, 3)


def kernel_of(case: Case, tiling: Tiling, *, across: bool = False) -> Kernel:
    """Return a case's kernel; its other array may be column-major."""
    steps = schedule(program_of(case), Options(product_epilogues="always"))
    (kernel,) = (
        s for s in tiled(steps, tiling).steps if isinstance(s, Kernel) and s.product
    )
    if across:
        rows = case.shape[0]
        other = replace(kernel.buffers["other"], strides=(index(1), index(rows)))
        kernel = replace(kernel, buffers={**kernel.buffers, "other": other})
    return kernel


def error_of(case: Case, chosen: Plan, across: bool, judge: bool) -> float:
    """Return the relative error of what all programs compute."""
    names = {name: name for name in chosen.kernel.buffers}
    graph = fused_tiles(chosen, names, {}, "k")
    arrays = arrays_of(case, "cpu")
    inputs = ["left", "right"] + ["bias"] * case.bias + ["other"]
    memory = {}
    for name, one in zip(inputs, arrays, strict=False):
        if name == "other" and across:
            one = one.T.contiguous()
        memory[name] = one.as_strided((one.numel(),), (1,)).clone()
    out = torch.full((case.shape[0] * case.shape[1],), float("nan"))
    memory["out"] = out.to(getattr(torch, case.dtype))
    found = assign(graph, chosen.num_warps, most_layouts=4, most_cells=0)
    if judge:
        assert isinstance(found.prove(), Proved)
    for program in range(constant_value(chosen.tiles) or 0):
        if judge:
            simulate(found, memory, {"program0": program})
        else:
            run_tiles(graph, memory, {"program0": program})
    (want,) = exact(case, arrays)
    made = memory["out"].view(want.shape).double()
    return float((made - want).norm() / want.norm())


@pytest.mark.parametrize("across", [pytest.param(False, marks=pytest.mark.slow), True])
def test_all_kinds_of_rest(across: bool) -> None:
    for shape in itertools.product((32, 47), (32, 47, 64), (32, 33)):
        case = Case("small", shape, "residual", dtype="float32")
        chosen = plan(kernel_of(case, SMALL, across=across))
        assert lies_across(chosen) is across
        assert error_of(case, chosen, across, False) < 4e-3, shape


@pytest.mark.parametrize("left_columns", [False, True])
@pytest.mark.parametrize("weight_rows", [False, True])
def test_factors_of_any_orientation(left_columns: bool, weight_rows: bool) -> None:
    case = Case(
        "turned",
        (64, 40, 48),
        "gelu",
        weight_rows=weight_rows,
        left_columns=left_columns,
        dtype="float32",
    )
    chosen = plan(kernel_of(case, SMALL))
    assert error_of(case, chosen, False, False) < 4e-3


def test_a_product_on_threads() -> None:
    case = Case("small", (47, 33, 40), "residual", dtype="float32")
    chosen = plan(kernel_of(case, SMALL, across=True))
    assert error_of(case, chosen, True, True) < 4e-3


def printed(case: Case, tiling: Tiling, across: bool = True) -> Printed:
    kernel = kernel_of(case, tiling, across=across)
    chosen = plan(kernel)
    return print_assigned(chosen, print_kernel(kernel, chosen))


def test_products_copy_ahead_and_use_the_matrix_unit() -> None:
    case = Case("large", (512, 512, 256), "residual")
    ours = printed(case, LARGE)
    compiled = loadable(TritonKernel(ours).compile(arch=90))
    assert "wgmma" in compiled.asm["ptx"] and "cp.async" in compiled.asm["ptx"]
    assert constant_value(ours.grid) == 16


def test_programs_that_share_tiles_have_one_each() -> None:
    case = Case("shared", (256, 256, 64), "residual")
    ours = printed(case, replace(LARGE, programs=2, descriptors=True))
    assert constant_value(ours.grid) == 4


@pytest.mark.slow
def test_wide_tiles_are_products_of_wgmma() -> None:
    """The search for layouts does not stop at mma, whose factors fill the registers."""
    case = Case("wide", (256, 512, 64), "residual")
    ours = printed(case, Tiling(128, 256, 64, 8, 3))
    assert constant_value(ours.grid) == 4 and ours.num_warps == 8
    compiled = loadable(TritonKernel(ours).compile(arch=90))
    assert "wgmma" in compiled.asm["ptx"] and "mma.sync" not in compiled.asm["ptx"]


@pytest.mark.slow
def test_tiles_are_narrower_where_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []

    def refusing(*given: Any, **more: Any) -> Any:
        tried.append(len(tried))
        if tried == [0]:
            raise UnsupportedLayoutError("planted: a conversion would not fit")
        return tile_kernel(*given, **more)

    monkeypatch.setattr(fused_kernel, "tile_kernel", refusing)
    case = Case("wide", (256, 512, 64), "residual")
    ours = printed(case, Tiling(128, 256, 64, 8, 3))
    assert constant_value(ours.grid) == 2 * 4 and ours.num_warps == 4
    assert loadable(TritonKernel(ours).compile(arch=90)).asm["cubin"]
