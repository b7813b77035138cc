"""Naming a layout by its bases."""

import pytest

from algebra.encodings import (
    Encoding,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
    SwizzledShared,
    TensorMemory,
)
from algebra.errors import UnsupportedLayoutError
from algebra.propagate.linear import linear_encoding

MMA = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
SWIZZLED = SwizzledShared(vec=2, per_phase=1, max_phase=4, order=(1, 0))
PADDED = PaddedShared.with_identity(
    intervals=(32,), paddings=(4,), shape=(64, 64), order=(1, 0)
)


@pytest.mark.parametrize(
    ("source", "kind"),
    [(MMA, Linear), (SWIZZLED, SharedLinear), (PADDED, PaddedShared)],
)
def test_the_layout_is_named(source: Encoding, kind: type[object]) -> None:
    layout = source.to_linear_layout([64, 64])
    named = linear_encoding(layout, source)
    assert isinstance(named, kind)
    assert named.to_linear_layout([64, 64]) == layout


@pytest.mark.parametrize(
    ("width", "alignment"), [(0, 128), (32, 256), (64, 512), (128, 1024)]
)
def test_the_alignment_of_nvmma_shared(width: int, alignment: int) -> None:
    source = NvmmaShared(swizzle_byte_width=width, element_bit_width=16)
    named = linear_encoding(source.to_linear_layout([64, 64]), source)
    assert isinstance(named, SharedLinear)
    assert named.alignment == alignment


def test_other_alignments() -> None:
    layout = SWIZZLED.to_linear_layout([64, 64])
    plain = linear_encoding(layout, SWIZZLED)
    assert isinstance(plain, SharedLinear)
    assert plain.alignment == 16
    wide = SharedLinear(offset=plain.offset, alignment=512)
    assert linear_encoding(layout, wide) == wide


def test_tensor_memory_has_no_such_name() -> None:
    memory = TensorMemory(block_m=128, block_n=64)
    with pytest.raises(UnsupportedLayoutError, match="row"):
        linear_encoding(memory.to_linear_layout([128, 64]), memory)
