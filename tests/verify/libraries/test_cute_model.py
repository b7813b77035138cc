from random import Random

import pytest

from algebra.cute import CuteLayout, Swizzle
from verify.libraries import cute_model as model
from verify.libraries.operation import UndefinedError


def test_tables_are_those_of_the_algebra() -> None:
    rng = Random(0)
    for _ in range(300):
        shape, stride = model.random_layout(rng)
        layout = CuteLayout(shape, stride)
        found = model.table((shape, stride))
        assert list(found) == [layout(index) for index in range(layout.size)]


def test_the_rightmost_coordinate_can_be_fastest() -> None:
    assert model.table(((2, 3), (3, 1)), rightmost=True) == tuple(range(6))


def test_swizzles_are_those_of_the_algebra() -> None:
    for bits, base, shift in ((1, 0, 1), (2, 1, 3), (3, 3, 3), (0, 0, 0)):
        swizzle = Swizzle(bits, base, shift)
        found = [model.swizzled(bits, base, shift, k) for k in range(512)]
        assert found == [swizzle(k) for k in range(512)]


def test_a_negative_shift_goes_the_other_way() -> None:
    assert model.swizzled(1, 0, -1, 1) == 3
    with pytest.raises(UndefinedError):
        model.swizzled(2, 0, 1, 0)


@pytest.mark.parametrize(
    "layout",
    [((2, 3), (1,)), (0, 1), (4, -1), ((), ()), 5, ((2, 2), 1)],
    ids=["ranks", "empty extent", "negative", "no mode", "number", "nesting"],
)
def test_what_is_no_layout_is_refused(layout: object) -> None:
    with pytest.raises(UndefinedError):
        model.check(layout)  # type: ignore[arg-type]


def test_a_composition_must_stay_inside() -> None:
    assert model.composed(((2, 2), (2, 1)), (2, 2)) == [0, 1]
    with pytest.raises(UndefinedError):
        model.composed((4, 1), (2, 4))


def test_small_layouts_are_all_distinct() -> None:
    small = model.small_layouts()
    assert len(small) == len(set(small)) == 3 * 4 + 9 * 16
