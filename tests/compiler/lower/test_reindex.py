import itertools

import pytest
import torch

from compiler.ir import index
from compiler.ir.points import Points
from compiler.lower.reindex import groups, reshaped

SHAPES = [
    shape
    for rank in range(4)
    for shape in itertools.product((1, 2, 3, 4, 6, 12), repeat=rank)
    if torch.Size(shape).numel() == 12
] + [(2, 2, 3, 1), (1, 2, 1, 6)]


@pytest.mark.parametrize("new", SHAPES)
def test_both_points_have_the_same_position(new: tuple[int, ...]) -> None:
    digits = [index.digit(f"i{number}") for number in range(len(new))]
    for old in SHAPES:
        places = reshaped(digits, new, old)
        points = Points(digits, new, {}, {})
        position = points.tensor(index.flatten(places, old)).flatten()
        assert position.tolist() == list(range(12))
        for place, extent in zip(places, old, strict=True):
            found = points.tensor(place)
            assert int(found.min()) >= 0 and int(found.max()) < extent


def test_dims_that_stay_are_digits() -> None:
    i, j, k = (index.digit(name) for name in "ijk")
    assert reshaped([i, j, k], [2, 3, 4], [2, 3, 4]) == (i, j, k)
    assert reshaped([i, j], [6, 4], [2, 3, 4])[2] is j
    s = index.symbol("s")
    assert reshaped([i, j, k], [s, 3, 4], [s, 12])[0] is i
    assert reshaped([i, j], [s, 12], [s, 3, 4])[0] is i


def test_groups_cover_both_shapes() -> None:
    s = index.symbol("s")
    assert groups([s, 4], [s, 2, 2]) == [([0], [0]), ([1], [1, 2])]
    assert groups([s, 4], [4, s]) == [([0, 1], [0, 1])]
    assert groups([], [1, 1]) == [([], [0]), ([], [1])]


def test_empty_shapes_have_no_points() -> None:
    i = index.digit("i")
    assert reshaped([i], [0], [3, 0]) == (index.index(0), index.index(0))
