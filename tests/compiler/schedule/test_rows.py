"""Where elements are, before rows get wider and after."""

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.index import index, symbol
from compiler.ir.node import Buffer
from compiler.schedule.rows import ALIGNMENT, Layout, aligned, layout_of, rounded


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.permutations(range(4)),
    st.integers(0, 7),
)
def test_spreading_moves_each_element_as_the_law_says(
    shape: list[int], order: list[int], start: int
) -> None:
    dims = [dim for dim in order if dim < len(shape)]
    steps, step = [0] * len(shape), 1
    for dim in reversed(dims):
        steps[dim] = step
        step *= shape[dim]
    row = shape[dims[-1]]
    layout = Layout(tuple(shape), tuple(steps), start * row, 2)
    wide = layout.spread(row, row + 3)
    assert wide is not None
    for place in itertools.product(*map(range, shape)):
        at = layout.offset + sum(map(int.__mul__, place, layout.strides))
        now = wide.offset + sum(map(int.__mul__, place, wide.strides))
        assert now == at // row * (row + 3) + at % row


def test_rows_of_another_length_are_refused() -> None:
    assert Layout((2, 3), (4, 1), 0, 2).spread(3, 8) is None
    assert Layout((2, 3), (5, 1), 3, 2).spread(5, 8) is None  # across two rows
    buffer = Buffer("x", "bfloat16", (index(2),), "cuda:0")
    assert layout_of(buffer) is None
    assert layout_of(replace(buffer, strides=(symbol("s"),))) is None


@given(st.integers(1, 10**6), st.sampled_from([1, 2, 4, 8]))
def test_steps_are_rounded_up_to_what_is_aligned(step: int, size: int) -> None:
    found = rounded(step, size)
    assert found >= step and found * size % ALIGNMENT == 0
    assert (found - step) * size < ALIGNMENT
    below = aligned(step, size)
    assert found - below in (0, ALIGNMENT // size) and below <= step


@given(st.permutations(range(3)), st.tuples(*[st.integers(2, 40)] * 3))
def test_a_copy_is_aligned_and_nests_its_dims_alike(
    order: list[int], shape: tuple[int, int, int]
) -> None:
    steps, step = [0, 0, 0], 1
    for dim in order:
        steps[dim] = step
        step *= shape[dim]
    layout = Layout(shape, tuple(steps), 3, 2)
    made = layout.padded()
    assert made.alignment == ALIGNMENT and made.offset == 0
    assert sorted(range(3), key=made.strides.__getitem__) == list(order)
    assert all(a >= b for a, b in zip(made.strides, steps, strict=True))


def test_alignment_is_of_all_addresses() -> None:
    assert Layout((4, 50257), (50257, 1), 0, 2).alignment == 2
    assert Layout((4, 196), (196, 1), 0, 2).alignment == 8
    assert Layout((4, 200), (200, 1), 2, 2).alignment == 4  # an offset of 4 bytes
    assert Layout((1, 50257), (50257, 1), 0, 2).alignment == ALIGNMENT
    assert not Layout((2, 3), (6, 2), 0, 2).is_matrix
