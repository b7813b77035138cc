"""Products with epilogues in Triton's interpreter, against float64."""

import itertools
import re
from dataclasses import replace
from importlib import import_module

import pytest
import torch
import triton
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.product_epilogue_cases import (
    EPILOGUES,
    Case,
    arrays_of,
    exact,
    on_cpu,
    program_of,
    tiled,
)
from compiler.codegen.triton import build
from compiler.codegen.triton.plan import plan
from compiler.codegen.triton.printer import Printed, print_kernel
from compiler.ir.kernel import Kernel
from compiler.ir.node import Tiling
from compiler.options import Options
from compiler.runtime.triton_kernel import TritonKernel
from compiler.runtime.wrapper import wrap
from compiler.schedule import schedule

ALWAYS = Options(product_epilogues="always")
SMALL = Tiling(32, 32, 16, 4, 2)
# with a loop whose bounds the run knows, the interpreter of 3.6 needs an older numpy
SHARES = not triton.__version__.startswith("3.6")


def printed_of(case: Case, tiling: Tiling) -> Printed:
    chosen = tiled(schedule(program_of(case), ALWAYS), tiling)
    (kernel,) = (s for s in chosen.steps if isinstance(s, Kernel) and s.product)
    return print_kernel(kernel, plan(kernel))


def error_of(case: Case, tiling: Tiling) -> float:
    """Return the relative error of what the interpreter computes."""
    chosen = tiled(on_cpu(schedule(program_of(case), ALWAYS)), tiling)
    kernels = [step for step in chosen.steps if isinstance(step, Kernel)]
    built = build(kernels, ALWAYS, interpret=True)
    arrays = arrays_of(case, "cpu")
    found = wrap(chosen, built).run(arrays.copy())
    pairs = zip(found, exact(case, arrays), strict=True)
    return max(float((f.double() - e).norm() / e.norm()) for f, e in pairs)


def test_all_small_sizes() -> None:
    """One tile and several, whole ones and every kind of rest, in each dim."""
    for shape in itertools.product((32, 47, 64), (32, 47), (32, 33)):
        case = Case("small", shape, "gelu", dtype="float32")
        assert error_of(case, SMALL) < 4e-3, shape


CASES = st.builds(
    Case,
    st.just("drawn"),
    st.tuples(
        st.integers(8, 16).map(lambda n: 4 * n),
        st.integers(32, 64),
        st.integers(32, 64),
    ),
    st.sampled_from(sorted(set(EPILOGUES) - {"plain"})),
    bias=st.booleans(),
    weight_rows=st.booleans(),
    dtype=st.sampled_from(["bfloat16", "float32"]),
    batch=st.sampled_from([1, 4]),
    turned=st.booleans(),
    left_columns=st.booleans(),
    gap=st.sampled_from([0, 5, 8]),
)
TILINGS = st.builds(
    Tiling,
    st.sampled_from([16, 32, 64]),
    st.sampled_from([16, 32, 64]),
    st.sampled_from([16, 32]),
    st.just(4),
    st.integers(1, 4),
    st.sampled_from([0, 1, 3] if SHARES else [0]),
    st.booleans(),
)


@settings(max_examples=12, deadline=None)
@given(CASES, TILINGS)
def test_shapes_strides_epilogues_and_tilings(case: Case, tiling: Tiling) -> None:
    assert error_of(case, tiling) < 8e-3


@pytest.mark.parametrize(
    ("fault", "by"),
    [
        (r"x_inside = x < 47", "x_inside = x < 46"),
        (r"= total \+", "= total * 1.01 +"),
        (r"left \+= 16", "left += 8"),
        (r"\(program % 4\)", "(program % 2)"),
        (r"< 56 - first_term\)\[:, None\]", "< 54 - first_term)[:, None]"),
    ],
    ids=["mask", "value", "step", "order", "rest"],
)
def test_a_planted_fault_is_seen(
    fault: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("faulty", (128, 47, 56), "gelu")
    tiling = replace(SMALL, rows=32)
    assert error_of(case, tiling) < 4e-3

    def changed(*arguments: object, **named: object) -> Printed:
        printed = print_kernel(*arguments, **named)  # type: ignore[arg-type]
        source, count = re.subn(fault, by, printed.source)
        if count == 0:
            pytest.fail(f"nothing to change in {printed.source}")
        return replace(printed, source=source)

    module = import_module("compiler.codegen.triton.build")
    monkeypatch.setattr(module, "print_kernel", changed)
    assert not error_of(case, tiling) < 4e-3


def test_masks_are_where_extents_are_no_multiples() -> None:
    whole = printed_of(Case("whole", (64, 64, 64), "gelu"), SMALL).source
    assert "mask=" not in whole and "tl.dot" in whole
    ragged = printed_of(Case("ragged", (65, 64, 64), "gelu"), SMALL).source
    assert "y_inside = y < 65" in ragged and "x_inside" not in ragged
    assert ragged.count("mask=y_inside") == 2  # the left factor, the result
    rest = printed_of(Case("rest", (64, 64, 40), "gelu"), SMALL).source
    assert rest.count("(term < 40 - first_term)") == 2


def test_descriptors_are_made_once_and_need_no_mask() -> None:
    tiling = replace(SMALL, programs=4, descriptors=True)
    source = printed_of(Case("copied", (65, 64, 40), "gelu"), tiling).source
    before, _, inside = source.partition("for program in")
    assert before.count("tl.make_tensor_descriptor") == 2
    assert "[65, 40], [40, 1], [32, 16]" in before
    assert "left.load([y_block * YBLOCK, first_term])" in inside
    assert "right.load([x_block * XBLOCK, first_term]).T" in inside
    assert inside.count("mask=") == 1  # the result
    plain = Case("plain", (65, 64, 40), "gelu", weight_rows=True)
    inside = printed_of(plain, tiling).source
    assert "right.load([first_term, x_block * XBLOCK])\n" in inside


@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_address_that_is_not_aligned_has_no_descriptor(which: int) -> None:
    """The other kernel takes the same arguments, in the same order."""
    case = Case("moved", (65, 64, 40), "residual", bias=False)
    tiling = replace(SMALL, descriptors=True)
    chosen = tiled(on_cpu(schedule(program_of(case), ALWAYS)), tiling)
    (kernel,) = (step for step in chosen.steps if isinstance(step, Kernel))
    built = build([kernel], ALWAYS, interpret=True)
    (one,) = built.values()
    assert isinstance(one, TritonKernel) and one.unaligned is not None
    assert one.unaligned.parameters == one.parameters
    arrays = arrays_of(case, "cpu")
    old = arrays[which]
    storage = torch.empty(old.numel() + 1, dtype=old.dtype)
    arrays[which] = storage[1:].as_strided(old.shape, old.stride(), 1).copy_(old)
    (found,), (right,) = wrap(chosen, built).run(arrays.copy()), exact(case, arrays)
    assert float((found.double() - right).norm() / right.norm()) < 8e-3


def test_addresses_beyond_int32_are_int64() -> None:
    wide = Case("wide", (1 << 17, 64, 1 << 15), "gelu")
    source = printed_of(wide, replace(SMALL, terms=64)).source
    (line,) = (line for line in source.splitlines() if " left = " in line)
    assert "tl.int64" in line
    (line,) = (line for line in source.splitlines() if " right = " in line)
    assert "tl.int64" not in line


@pytest.mark.parametrize(("gap", "wide"), [(1 << 24, False), (1 << 25, True)])
def test_steps_within_a_tile_beyond_int32_are_int64(gap: int, wide: bool) -> None:
    case = Case("far", (64, 64, 128), "gelu", left_columns=True, gap=gap)
    source = printed_of(case, replace(SMALL, terms=64)).source
    (line,) = (line for line in source.splitlines() if " left = " in line)
    assert ("term[None, :].to(tl.int64) * " in line) is wide


@pytest.mark.slow
@pytest.mark.parametrize(
    "tiling",
    [
        Tiling(128, 256, 64, 8, 3),
        Tiling(128, 256, 64, 8, 3, 132, True),
        Tiling(128, 128, 64, 4, 4, 0, True),
    ],
    ids=["loads", "shared", "copies"],
)
def test_matrix_units_and_asynchronous_copies_are_used(tiling: Tiling) -> None:
    kernel = TritonKernel(printed_of(Case("full", (8192, 3072, 768), "gelu"), tiling))
    text = kernel.compile(arch=90).asm["ptx"]
    assert "wgmma.mma_async" in text and "ld.local" not in text
    assert ("cp.async.bulk.tensor" in text) is tiling.descriptors
    assert ("cp.async.cg" in text) is not tiling.descriptors


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("descriptors", [False, True])
@pytest.mark.parametrize("programs", [0, 132])
@pytest.mark.parametrize("offset", [0, 1])
def test_a_gpu_computes_what_float64_does(
    descriptors: bool, programs: int, offset: int
) -> None:
    """With addresses that are no multiple of 16 bytes, too."""
    case = Case("gpu", (1000, 328, 264), "residual", dtype="float32", normed=True)
    tiling = Tiling(128, 64, 64, 4, 3, programs, descriptors)
    chosen = tiled(schedule(program_of(case), ALWAYS), tiling)
    built = build([s for s in chosen.steps if isinstance(s, Kernel)], ALWAYS)
    arrays = arrays_of(case)
    if offset:
        storage = torch.empty(1000 * 264 + 1, dtype=torch.bfloat16, device="cuda")
        arrays[0] = storage[1:].view(1000, 264).copy_(arrays[0])
    torch.empty(1 << 26, dtype=torch.uint8, device="cuda").fill_(255)
    found = wrap(chosen, built).run(arrays.copy())
    for one, right in zip(found, exact(case, arrays), strict=True):
        assert float((one.double() - right).norm() / right.norm()) < 4e-3
