"""The split of a tensor over the CTAs of a cluster."""

from itertools import permutations, product

import pytest

from algebra.encodings import Blocked, Cga
from algebra.encodings.cga import ONE_CTA
from algebra.errors import EncodingError, NotPowerOfTwoError

SIZES = (1, 2, 4)


def test_three_lists_and_bases_say_the_same() -> None:
    for ctas in product(SIZES, repeat=2):
        for splits in product(SIZES, repeat=2):
            if any(part > count for part, count in zip(splits, ctas, strict=True)):
                continue
            for order in permutations(range(2)):
                cga = Cga.from_split(ctas, splits, order)
                assert 1 << len(cga.bases) == ctas[0] * ctas[1]
                reached = {max(along) for along in zip(*cga.bases, strict=True)}
                assert reached <= {0, *(part // 2 for part in splits)}
                assert Cga.from_dict(cga.to_dict()) == cga
                assert (
                    Cga.from_dict(
                        {
                            "ctas_per_cga": ctas,
                            "cta_split_num": splits,
                            "cta_order": order,
                            "bases": cga.bases,
                        }
                    )
                    == cga
                )


def test_one_cta_fits_every_rank() -> None:
    assert Cga.from_dict({}) == Cga(bases=()) == ONE_CTA
    assert ONE_CTA.split([3, 2]) == ([3, 2], ())
    ONE_CTA.check_rank("blocked", 5)


def test_split_clamps_what_lies_outside_the_tensor() -> None:
    cga = Cga(bases=((1, 0), (2, 0), (0, 1)))
    assert cga.split([1, 3]) == ([0, 2], ((1, 0), (0, 0), (0, 1)))


def test_projections() -> None:
    cga = Cga(bases=((1, 0), (0, 1)))
    assert cga.without(0) == Cga(bases=((0, 0), (0, 1)))
    assert cga.drop(0) == Cga(bases=((0,), (1,)))


def test_ctas_of_a_split_hold_different_parts() -> None:
    blocked = Blocked(
        size_per_thread=(1,),
        threads_per_warp=(2,),
        warps_per_cta=(1,),
        order=(0,),
        cga=Cga(bases=((1,), (0,), (2,))),
    )
    layout = blocked.to_linear_layout([8])
    assert layout.bases["block"] == ((2,), (0,), (4,))


def test_a_gap_between_the_parts_is_an_error() -> None:
    with pytest.raises(EncodingError, match=r"got bases=\[\[2\]\]; add the missing"):
        Cga(bases=((2,),))


def test_more_parts_than_ctas() -> None:
    with pytest.raises(EncodingError, match="lower the split of dim 0 to 2"):
        Cga.from_split([2], [4], [0])


def test_ctas_that_are_no_power_of_two() -> None:
    with pytest.raises(NotPowerOfTwoError, match="ctas_per_cga=3"):
        Cga.from_split([3], [1], [0])


def test_lists_that_are_incomplete() -> None:
    with pytest.raises(EncodingError, match=r"got only \['ctas_per_cga'\]"):
        Cga.from_dict({"ctas_per_cga": [1]})


def test_lists_and_bases_that_differ() -> None:
    lists = {"ctas_per_cga": [2], "cta_split_num": [2], "cta_order": [0]}
    with pytest.raises(EncodingError, match="leave one of the two out"):
        Cga.from_dict({**lists, "bases": [[0]]})


def test_unknown_keys() -> None:
    with pytest.raises(EncodingError, match="got also"):
        Cga.from_dict({"basis": []})


def test_another_rank_than_the_encoding() -> None:
    with pytest.raises(EncodingError, match="cga to have 1 entries"):
        Cga(bases=((1, 0),)).check_rank("blocked", 1)
