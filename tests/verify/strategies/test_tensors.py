"""Specs build what they say, the same each time."""

import torch
from hypothesis import given

from verify.strategies.tensors import TensorSpec, contiguous, elements, tensors


@given(tensors(max_elements=256))
def test_a_spec_says_everything(spec: TensorSpec) -> None:
    one, two = spec.build(), spec.build()
    assert (one.shape, one.stride()) == (spec.shape, spec.strides)
    assert one.dtype == spec.dtype and one.storage_offset() == spec.offset
    assert torch.equal(one.nan_to_num(), two.nan_to_num())
    assert spec.is_plain == (
        spec.offset == 0 and spec.strides == contiguous(spec.shape)
    )


def test_strides_of_empty_tensors_are_those_of_torch() -> None:
    for shape in ((0,), (2, 0, 3), (3, 1, 2), ()):
        assert contiguous(shape) == torch.empty(shape).stride()


def test_special_values_are_there() -> None:
    found = elements("special", 4096, torch.float32, 0)
    assert found.isnan().any() and found.isinf().any()
    assert (found == 0).any() and (found.abs() > 1e38).any()
    assert elements("integers", 4096, torch.bfloat16, 0).frac().eq(0).all()
