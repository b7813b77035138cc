"""Encodings fit their shapes, and kernels are built around pairs of them."""

import pytest
from hypothesis import find, given, settings

from algebra import AffineLayout, LinearLayout
from algebra.encodings import from_dict
from algebra.errors import LayoutError
from verify.oracle.random_encodings import Case
from verify.strategies import KernelCase, encodings, kernels

NOT_LINEAR = {"padded_shared"}


@settings(max_examples=30, deadline=None)
@given(encodings())
def test_an_encoding_has_a_layout_of_its_shape(case: Case) -> None:
    kind = str(case.encoding["kind"])
    try:
        found = from_dict(case.encoding).to_linear_layout(case.shape)
    except LayoutError:
        assert kind in NOT_LINEAR, case
    else:
        assert isinstance(found, LinearLayout | AffineLayout)


@pytest.mark.parametrize("kind", ["blocked", "nvidia_mma", "tensor_memory"])
def test_a_kind_can_be_asked_for(kind: str) -> None:
    assert find(encodings([kind]), lambda case: True).encoding["kind"] == kind


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="kinds among"):
        find(encodings(["nothing"]), lambda case: True)


@settings(max_examples=5, deadline=None)
@given(kernels())
def test_a_kernel_is_text_in_both_languages(kernel: KernelCase) -> None:
    text = kernel.ttgir()
    assert "ttg.convert_layout" in text
    assert f'"ttg.num-warps" = {kernel.conversion.warps}' in text
    assert "def probe(" in kernel.gluon()


def test_a_kernel_shrinks_to_a_conversion_that_does_nothing() -> None:
    small = find(kernels(), lambda kernel: True).conversion
    src, dst = small.layouts("3.7")
    assert src == dst and small.warps == 1
