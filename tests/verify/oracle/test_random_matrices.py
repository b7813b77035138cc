from random import Random

from algebra.gauss import rank
from verify.oracle.random_matrices import (
    random_invertible,
    random_permutation_bases,
    random_surjective,
)


def test_invertible_and_surjective() -> None:
    rng = Random(0)
    for bits in range(7):
        assert rank(random_invertible(rng, bits)) == bits
        columns = random_surjective(rng, bits + 3, bits)
        assert len(columns) == bits + 3 and rank(columns) == bits


def test_bases_reach_every_coordinate() -> None:
    rng = Random(1)
    for mixed in (False, True):
        for _ in range(20):
            sizes = [rng.randint(0, 3) for _ in range(3)]
            vectors = random_permutation_bases(rng, sizes, 2, mixed=mixed)
            columns = [
                v[0] | v[1] << sizes[0] | v[2] << sizes[0] + sizes[1] for v in vectors
            ]
            assert rank(columns) == sum(sizes)
            assert columns.count(0) == 2


def test_the_same_seed_gives_the_same_matrix() -> None:
    assert random_surjective(Random(7), 9, 5) == random_surjective(Random(7), 9, 5)
