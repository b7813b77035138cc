from random import Random

import pytest

from algebra.encodings import AmdMfma, AmdWmma, Cga, DotOperand, Slice, from_dict
from verify.legacy import DistributedModel, SharedModel
from verify.models import PaddedModel, model_of, split_over_blocks
from verify.oracle.random_encodings import random_case

SPLIT = Cga(bases=((0, 1), (1, 0)))


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("blocked", DistributedModel),
        ("slice", DistributedModel),
        ("dot_operand", DistributedModel),
        ("nvidia_mma", DistributedModel),
        ("amd_mfma", DistributedModel),
        ("tensor_memory", DistributedModel),
        ("tensor_memory_scales", DistributedModel),
        ("swizzled_shared", SharedModel),
        ("amd_rotating_shared", SharedModel),
        ("nvmma_shared", SharedModel),
        ("padded_shared", PaddedModel),
        ("linear", type(None)),
        ("shared_linear", type(None)),
    ],
)
def test_each_kind_has_its_form(kind: str, form: type) -> None:
    case = random_case(Random(1), kind)
    model = model_of(from_dict(case.encoding), case.shape, case.shape, "3.9")
    assert isinstance(model, form)
    if isinstance(model, DistributedModel | SharedModel):
        assert model.source


def test_operands_along_k_by_kind_and_release() -> None:
    mfma = AmdMfma(
        version=3,
        warps_per_cta=(1, 1),
        instr_shape=(16, 16, 16),
        is_transposed=False,
        cga=SPLIT,
    )
    wmma = AmdWmma.from_warps(
        version=2, is_transposed=False, warps_per_cta=(1, 1), cga=SPLIT
    )
    for release in ("3.6", "3.7", "3.8", "3.9"):
        operand = DotOperand(op_idx=0, parent=mfma, k_width=4)
        assert split_over_blocks(operand, release) == SPLIT
        operand = DotOperand(op_idx=0, parent=wmma, k_width=8)
        old = release in ("3.6", "3.7")
        assert split_over_blocks(operand, release) == (
            SPLIT if old else Cga(bases=((0, 0), (1, 0)))
        )
        sliced = Slice(dim=1, parent=operand)
        assert split_over_blocks(sliced, release).bases == ((0,), (1,))


def test_what_upstream_did_not_mean_has_no_model() -> None:
    rotating = {
        "kind": "amd_rotating_shared",
        "vec": 2,
        "per_phase": 1,
        "max_phase": 2,
        "order": [1, 0],
        "cga": {"bases": [[1, 0]]},
    }
    assert model_of(from_dict(rotating), (8, 16), (16, 16), "3.9") is None
    memory = {
        "kind": "tensor_memory",
        "block_m": 64,
        "block_n": 16,
        "cga": {"bases": [[1, 0]]},
    }
    assert model_of(from_dict(memory), (64, 16), (128, 16), "3.7") is None
    turned = {
        "kind": "nvmma_shared",
        "swizzle_byte_width": 0,
        "element_bit_width": 8,
        "rank": 3,
        "transposed": True,
    }
    assert model_of(from_dict(turned), (8, 8, 8), (8, 8, 8), "3.9") is None
    assert model_of(from_dict(turned), (8, 8, 8), (8, 8, 8), "3.7") is not None
