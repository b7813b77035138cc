from collections.abc import Callable

import pytest

from algebra.encodings import AmdRotatingShared
from verify.legacy.amd_rotating_shared import amd_rotating_shared


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("parameters", [(1, 1, 1), (4, 2, 4), (8, 1, 8), (2, 1, 2)])
def test_every_position(
    simulate: Callable[..., int], order: tuple[int, ...], parameters: tuple[int, ...]
) -> None:
    vec, per_phase, max_phase = parameters
    encoding = AmdRotatingShared(
        vec=vec, per_phase=per_phase, max_phase=max_phase, order=order
    )
    assert simulate(encoding, [32, 64]) == 2048


def test_the_phase_rotates_after_a_turn() -> None:
    model = amd_rotating_shared([16, 16], 4, 1, 4, [1, 0], wrap=False)
    columns = [model.offset([row, 0]) - 16 * row for row in range(8)]
    assert columns == [0, 4, 8, 12, 4, 0, 12, 8]


def test_one_dim_is_not_swizzled() -> None:
    model = amd_rotating_shared([16], 1, 1, 1, [0])
    assert [model.offset([i]) for i in range(16)] == list(range(16))
