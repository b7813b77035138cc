"""Blocked layouts against their definition as a product of identities."""

import math
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra import (
    LinearLayout,
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    identity_standard_nd,
)
from algebra.encodings import Blocked, Cga
from algebra.errors import EncodingError, NotPowerOfTwoError


@st.composite
def blocked_and_shape(draw: st.DrawFn) -> tuple[Blocked, list[int]]:
    rank = draw(st.integers(1, 5))
    largest = 3 if rank < 4 else 1
    powers = st.sampled_from([1 << bits for bits in range(largest + 1)])
    sizes = st.tuples(*[powers] * rank)
    blocked = Blocked(
        size_per_thread=draw(sizes),
        threads_per_warp=draw(sizes),
        warps_per_cta=draw(sizes),
        order=tuple(draw(st.permutations(range(rank)))),
    )
    return blocked, list(draw(sizes))


def by_definition(blocked: Blocked, shape: list[int]) -> LinearLayout:
    """Multiply the pieces, repeat, clamp: the way that upstream goes."""
    order = list(blocked.order)
    tile = (
        identity_standard_nd("register", blocked.size_per_thread, order)
        * identity_standard_nd("lane", blocked.threads_per_warp, order)
        * identity_standard_nd("warp", blocked.warps_per_cta, order)
    )
    sizes = {f"dim{dim}": size for dim, size in enumerate(shape)}
    tile = ensure_layout_not_smaller_than(tile, sizes)
    tile = ensure_layout_not_larger_than(tile, sizes)
    one_cta = LinearLayout.zeros_1d(1, "block", "dim0")
    return (tile * one_cta).transpose_outs(list(sizes))


@given(blocked_and_shape())
def test_is_the_product_of_its_pieces(case: tuple[Blocked, list[int]]) -> None:
    blocked, shape = case
    layout = blocked.to_linear_layout(shape, "3.8")
    assert layout == by_definition(blocked, shape)


@given(blocked_and_shape())
def test_reaches_every_element(case: tuple[Blocked, list[int]]) -> None:
    blocked, shape = case
    for release in ("3.6", "3.7", "3.8", "3.9"):
        assert blocked.to_linear_layout(shape, release).is_surjective


@given(blocked_and_shape())
def test_release_3_9_drops_the_registers_that_others_keep(
    case: tuple[Blocked, list[int]],
) -> None:
    blocked, shape = case
    old = blocked.to_linear_layout(shape, "3.8")
    new = blocked.to_linear_layout(shape, "3.9")
    assert new == old.remove_zero_bases_along_dim("register")


def test_every_element_of_a_small_tensor_is_where_the_tiling_says() -> None:
    for sizes in product((1, 2), repeat=6):
        thread, lanes, warps = sizes[:2], sizes[2:4], sizes[4:]
        for order in permutations(range(2)):
            blocked = Blocked(
                size_per_thread=thread,
                threads_per_warp=lanes,
                warps_per_cta=warps,
                order=order,
            )
            layout = blocked.to_linear_layout([8, 8])
            for register in range(math.prod(thread)):
                for lane in range(math.prod(lanes)):
                    for warp in range(math.prod(warps)):
                        expected = {}
                        rest = [register, lane, warp]
                        for dim in order:
                            place, step = 0, 1
                            for level, count in enumerate((thread, lanes, warps)):
                                place += rest[level] % count[dim] * step
                                rest[level] //= count[dim]
                                step *= count[dim]
                            expected[f"dim{dim}"] = place
                        point = {
                            "register": register,
                            "lane": lane,
                            "warp": warp,
                            "block": 0,
                        }
                        assert layout.apply(point) == expected


def small(**changes: Any) -> Blocked:
    parameters: dict[str, Any] = {
        "size_per_thread": [1, 1],
        "threads_per_warp": [2, 2],
        "warps_per_cta": [1, 1],
        "order": [1, 0],
    }
    return Blocked(**(parameters | changes))


def test_a_tensor_of_one_element() -> None:
    layout = small().to_linear_layout([1, 1])
    assert layout.bases["lane"] == ((0, 0), (0, 0))
    assert layout.out_dims == {"dim0": 1, "dim1": 1}


def test_value_and_text() -> None:
    blocked = small(cga=Cga(bases=((1, 0),)))
    assert blocked == small(cga=Cga(bases=((1, 0),)))
    assert hash(blocked) == hash(small(cga=Cga(bases=((1, 0),))))
    assert eval(repr(blocked)) == blocked
    assert blocked.rank == 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"size_per_thread": [3, 1]}, NotPowerOfTwoError, "size_per_thread=3"),
        ({"size_per_thread": [0, 1]}, NotPowerOfTwoError, "size_per_thread=0"),
        ({"threads_per_warp": [2]}, EncodingError, "threads_per_warp to have 2"),
        ({"warps_per_cta": 4}, EncodingError, "list of integers"),
        ({"order": [0, 0]}, EncodingError, r"a permutation of \[0, 1\]"),
        ({"order": ["a", 0]}, EncodingError, "order='a'"),
        ({"cga": Cga(bases=((1,),))}, EncodingError, "cga to have 2 entries"),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        small(**changes)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ([8], EncodingError, r"a shape of 2 sizes, got shape=\[8\]"),
        ([8, 0], NotPowerOfTwoError, "size 0 in dim 1"),
        ([6, 8], NotPowerOfTwoError, "size 6 in dim 0; pad that dim"),
        ([8.0, 8], EncodingError, "with float in dim 0"),
    ],
)
def test_shapes_that_do_not_fit(
    shape: list[Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        small().to_linear_layout(shape)


def test_unknown_release_and_views() -> None:
    with pytest.raises(EncodingError, match=r"release='2\.0'"):
        small().to_linear_layout([8, 8], "2.0")
    with pytest.raises(EncodingError, match="has no views"):
        small().to_linear_layout([8, 8], alloc_shape=[16, 8])
    assert small().to_linear_layout([8, 8], alloc_shape=[8, 8]).is_surjective
