from collections.abc import Callable

import pytest

from algebra.encodings import SwizzledShared
from verify.legacy.swizzled_shared import swizzled_shared


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("parameters", [(1, 1, 1), (4, 2, 4), (8, 1, 8), (2, 4, 2)])
def test_every_position(
    simulate: Callable[..., int], order: tuple[int, ...], parameters: tuple[int, ...]
) -> None:
    vec, per_phase, max_phase = parameters
    encoding = SwizzledShared(
        vec=vec, per_phase=per_phase, max_phase=max_phase, order=order
    )
    assert simulate(encoding, [16, 32]) == 512


def test_three_dims_and_one(simulate: Callable[..., int]) -> None:
    cube = SwizzledShared(vec=2, per_phase=1, max_phase=4, order=(2, 1, 0))
    assert simulate(cube, [4, 8, 8]) == 256
    line = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(0,))
    assert simulate(line, [64]) == 64


def test_without_wrapping_an_address_can_leave_its_row() -> None:
    wide = swizzled_shared([8, 16], 8, 1, 8, [1, 0], wrap=False)
    assert wide.offset([7, 0]) == 7 * 16 + 56
    wrapped = swizzled_shared([8, 16], 8, 1, 8, [1, 0])
    assert wrapped.offset([7, 0]) == 7 * 16 + 8
    assert "exceeds" in wrapped.note
    assert swizzled_shared([8, 64], 8, 1, 8, [1, 0]).note == ""
