"""Both sides of each theorem of ``blocked.v``, on random instances."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import LinearLayout, ensure_layout_not_larger_than, identity_standard_nd
from algebra.dims import dim_name
from algebra.encodings import Blocked

LAW = settings(max_examples=40)
IN_DIMS = ("register", "lane", "warp", "block")
Levels = list[tuple[str, list[int]]]


@st.composite
def levels(draw: st.DrawFn, rank: int) -> Levels:
    """Nested tiles: an in-dim and an exponent for each dim, from the inside out."""
    sizes = st.lists(st.integers(0, 1), min_size=rank, max_size=rank)
    return draw(st.lists(st.tuples(st.sampled_from(IN_DIMS), sizes), max_size=5))


def legacy(tiles: Levels, point: dict[str, int], d: int) -> int:
    """The Coq definition: one digit of each level, glued by products and sums."""
    if not tiles:
        return 0
    (in_dim, sizes), *outer = tiles
    digit = point[in_dim] // 2 ** sum(sizes[:d]) % 2 ** sizes[d]
    rest = {**point, in_dim: point[in_dim] // 2 ** sum(sizes)}
    return int(digit + 2 ** sizes[d] * legacy(outer, rest, d))


def product(tiles: Levels, rank: int) -> LinearLayout:
    order = range(rank)
    layout = LinearLayout.empty()
    for in_dim in IN_DIMS:
        layout *= identity_standard_nd(in_dim, [1] * rank, order)
    for in_dim, sizes in tiles:
        layout *= identity_standard_nd(in_dim, [1 << s for s in sizes], order)
    return layout


def points(layout: LinearLayout, data: st.DataObject) -> dict[str, int]:
    return {
        name: data.draw(st.integers(0, size - 1))
        for name, size in layout.in_dims.items()
    }


@LAW
@given(st.integers(1, 4), st.data())
def test_blocked_formula_is_a_linear_layout_for_every_rank(
    rank: int, data: st.DataObject
) -> None:
    tiles = data.draw(levels(rank))
    layout = product(tiles, rank)
    point = points(layout, data)
    formula = {dim_name(d): legacy(tiles, point, d) for d in range(rank)}
    assert layout.apply(point) == formula


@LAW
@given(st.integers(1, 4), st.data())
def test_blocked_formula_modulo_the_shape_is_the_clamped_layout(
    rank: int, data: st.DataObject
) -> None:
    tiles = data.draw(levels(rank))
    layout = product(tiles, rank)
    shape = {
        dim_name(d): 1 << data.draw(st.integers(0, sum(sizes[d] for _, sizes in tiles)))
        for d in range(rank)
    }
    clamped = ensure_layout_not_larger_than(layout, shape)
    point = points(layout, data)
    formula = {
        dim_name(d): legacy(tiles, point, d) % shape[dim_name(d)] for d in range(rank)
    }
    assert clamped.apply(point) == formula


@LAW
@given(st.integers(1, 3), st.data())
def test_blocked_encoding_is_that_formula(rank: int, data: st.DataObject) -> None:
    """Repetitions are the outermost level, counted by registers; 3.8 keeps them all."""
    exponents = st.lists(st.integers(0, 2), min_size=rank, max_size=rank)
    order = tuple(data.draw(st.permutations(range(rank))))
    spt, tpw, wpc, shape = (data.draw(exponents) for _ in range(4))
    encoding = Blocked(
        size_per_thread=powers(spt),
        threads_per_warp=powers(tpw),
        warps_per_cta=powers(wpc),
        order=order,
    )
    layout = encoding.to_linear_layout(powers(shape), release="3.8")
    repeats = [max(0, shape[d] - spt[d] - tpw[d] - wpc[d]) for d in range(rank)]
    tiles = [
        (in_dim, [sizes[d] for d in order])
        for in_dim, sizes in (
            ("register", spt),
            ("lane", tpw),
            ("warp", wpc),
            ("register", repeats),
        )
    ]
    point = points(layout, data)
    assert layout.apply(point) == {
        dim_name(d): legacy(tiles, point, order.index(d)) % (1 << shape[d])
        for d in range(rank)
    }


def powers(exponents: Sequence[int]) -> tuple[int, ...]:
    return tuple(1 << e for e in exponents)


@LAW
@given(st.integers(1, 3), st.data())
def test_blocked_formula_gives_no_coordinate_twice(
    rank: int, data: st.DataObject
) -> None:
    layout = product(data.draw(levels(rank)), rank)
    images = [layout.apply_index(i) for i in range(layout.get_total_in_dim_size())]
    assert layout.is_injective and len(set(images)) == len(images)
