"""Specs build what they say, the same each time."""

from dataclasses import replace

import torch
from hypothesis import given

from verify.strategies.tensors import (
    DTYPES,
    TensorSpec,
    built,
    contiguous,
    elements,
    homes,
    tensors,
)


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


def test_edges_are_tenths_and_the_ends_of_narrower_types() -> None:
    tenths = elements("edges", 4096, torch.float64, 0)
    assert torch.equal(tenths, (tenths * 10).round() / 10)
    whole = elements("edges", 4096, torch.int64, 0)
    assert {2**31 - 1, 2**31, -(2**15), 255} <= set(whole.tolist())
    for dtype in DTYPES:
        assert elements("edges", 8, dtype, 1).dtype == dtype


def test_some_numbers_are_missing() -> None:
    found = elements("missing", 4096, torch.bfloat16, 0)
    share = found.isnan().double().mean().item()
    assert 0.1 < share < 0.15 and found.nan_to_num().frac().eq(0).all()
    for dtype in DTYPES:
        assert elements("missing", 8, dtype, 1).dtype == dtype


def test_a_tensor_lies_in_the_storage_of_its_base_where_that_fits() -> None:
    first = TensorSpec((4,), (1,), 2, torch.float32)
    inside = TensorSpec((3, 2), (2, 1), 3, torch.float32, base="x0")
    specs = {"x0": first, "x1": inside}
    x0, x1 = built(specs).values()
    assert x0.untyped_storage().data_ptr() == x1.untyped_storage().data_ptr()
    assert (x1.shape, x1.stride(), x1.storage_offset()) == ((3, 2), (2, 1), 3)
    x1.fill_(9.0)
    assert x0.tolist()[1:] == [9.0] * 3
    alone = {"x0": first, "x1": replace(inside, dtype=torch.float64)}
    assert homes(alone) == {"x0": "x0", "x1": "x1"}
    for name, one in built({"x0": first}).items():
        assert name == "x0" and torch.equal(one, first.build())
