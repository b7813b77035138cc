from collections import Counter

from algebra import AffineLayout
from verify.oracle.random_conversions import KINDS, linear, random_pairs


def test_same_seed_same_pairs() -> None:
    assert list(random_pairs(3, 20)) == list(random_pairs(3, 20))


def test_pairs_are_of_all_kinds() -> None:
    counts: Counter[str] = Counter()
    for pair in random_pairs(1, 400):
        counts.update(pair.kinds)
        counts["broadcast"] += pair.has_broadcast
        counts["warps"] += pair.mixes_warps
        counts["mixed"] += not pair.permutes_bits
        counts["affine"] += isinstance(pair.src, AffineLayout)
        sides = linear(pair.src), linear(pair.dst)
        assert sides[0].out_dims == sides[1].out_dims
        assert all(side.is_surjective for side in sides)
    assert all(counts[kind] for kind in (*KINDS, "matrix", "affine"))
    assert counts["broadcast"] >= 120
    assert counts["warps"] >= 120
    assert counts["mixed"] >= 80
