"""Both sides of each theorem of ``padded.v``, on random instances."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra.encodings import PaddedShared

LAW = settings(max_examples=40)


@st.composite
def padded(draw: st.DrawFn) -> PaddedShared:
    intervals = draw(
        st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=3, unique=True)
    )
    paddings = [draw(st.sampled_from([1, 2, 4, 8])) for _ in intervals]
    shape = [1 << draw(st.integers(0, 3)) for _ in range(2)]
    return PaddedShared.with_identity(
        intervals=intervals,
        paddings=paddings,
        shape=shape,
        order=draw(st.permutations([0, 1])),
    )


def offsets(encoding: PaddedShared) -> list[int]:
    return [encoding.address(i) for i in range(encoding.shape[0] * encoding.shape[1])]


@LAW
@given(padded())
def test_padded_offset_is_strictly_increasing(encoding: PaddedShared) -> None:
    pairs = list(zip(encoding.intervals, encoding.paddings, strict=True))
    formula = [
        i + sum(i // interval * padding for interval, padding in pairs)
        for i in range(len(offsets(encoding)))
    ]
    assert offsets(encoding) == formula
    assert all(low < high for low, high in pairwise(offsets(encoding)))


@LAW
@given(padded())
def test_padded_layout_never_stores_two_elements_in_one_place(
    encoding: PaddedShared,
) -> None:
    index = encoding.padded_linear_layout.invert()
    places = {
        encoding.address(index.apply({"dim0": i, "dim1": j})["offset"])
        for i in range(encoding.shape[0])
        for j in range(encoding.shape[1])
    }
    assert len(places) == encoding.shape[0] * encoding.shape[1]


@LAW
@given(padded())
def test_padded_allocation_ends_after_the_last_element(encoding: PaddedShared) -> None:
    places = offsets(encoding)
    assert max(places) == places[-1]
