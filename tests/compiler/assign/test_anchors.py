import pytest

from compiler.assign.access import Access
from compiler.assign.anchors import coalesced


@pytest.mark.parametrize("element_bits", [8, 16, 32])
@pytest.mark.parametrize(
    "shape", [(64, 64), (4, 256), (1, 8), (2, 2, 2), (512,), (1,), (1, 1), (2,)]
)
def test_candidates_hold_every_element_and_are_sorted(
    shape: tuple[int, ...], element_bits: int
) -> None:
    bits = sum(size.bit_length() - 1 for size in shape)
    last = shape[-1].bit_length() - 1
    steps = [1 << (bit + last) % max(bits, 1) for bit in range(bits)]
    aligned = 128 // element_bits
    access = Access(shape, element_bits, tuple(steps), len(shape) - 1, aligned)
    found = coalesced(access, 2, 5)
    assert found
    for layout in found:
        assert layout.is_surjective and layout.in_bits[1:] == (5, 2, 0)
        assert all(column & column - 1 == 0 for column in layout.columns)
    costs = [access.cost(layout) for layout in found]
    assert costs == sorted(costs)


def test_the_best_of_a_row_is_one_vector_a_lane() -> None:
    access = Access((512,), 32, tuple(1 << bit for bit in range(9)), 0, 4)
    best = coalesced(access, 2, 5)[0]
    assert best.bases["register"] == ((1,), (2,))
    assert best.bases["lane"] == ((4,), (8,), (16,), (32,), (64,))
