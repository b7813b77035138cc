"""The fused kernel compiles for sm_90: casts between wide accesses, and no more."""

import re

import pytest
import torch

from compiler import permutations
from compiler.codegen.gluon.fused_permute import fused_constants, fused_permute_kernel
from compiler.permuting.index_map import IndexMap
from compiler.permuting.vector_launch import plan_vector_launch
from compiler.triton_api import compile_gluon

NHWC = IndexMap.from_layout(permutations.nchw_to_nhwc(64, 64, 64))
SIGNATURE = {"source": "*fp32", "target": "*i32", "bias": "*fp32", "scale": "fp32"}


@pytest.mark.parametrize("first_bit", [12, 3])
@pytest.mark.parametrize(
    ("dtype", "cast"),
    [
        (torch.float16, "cvt.rn.f16x2.f32"),
        (torch.int8, "cvt.rni.s32.f32"),
        (torch.float32, "mul"),
    ],
    ids=str,
)
def test_compiles_to_wide_accesses(
    dtype: torch.dtype, cast: str, first_bit: int
) -> None:
    launch = plan_vector_launch(NHWC, dtype.itemsize, fused=True)
    assert launch is not None
    kernel = compile_gluon(
        fused_permute_kernel,
        SIGNATURE,
        fused_constants(launch, dtype, 64, first_bit),
        aligned=("source", "target", "bias"),
        num_warps=launch.num_warps,
    )
    text = str(kernel.asm["ptx"])
    each = (1 << launch.plan.tile_bits) // (32 * launch.num_warps)
    assert cast in text
    assert len(re.findall(r"ld\.global\.v4\.b32", text)) >= each // 4
    assert len(re.findall(r"st\.global\.v4\.b32", text)) == each * dtype.itemsize // 16
    assert len(re.findall(r"\bst\.global", text)) == each * dtype.itemsize // 16
