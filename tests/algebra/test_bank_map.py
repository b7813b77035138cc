"""Bank maps: two subspaces always have one; more are decided as brute force does."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.bank_map import BankMap, NoBankMap, find_bank_map
from algebra.gauss import apply, rank
from algebra.verdict import Unknown


def injective(columns: tuple[int, ...], space: list[int]) -> bool:
    return rank(apply(columns, vector) for vector in space) == rank(space)


def exists_by_brute_force(
    spaces: list[list[int]], size_bits: int, bank_bits: int
) -> bool:
    return any(
        all(injective(columns, space) for space in spaces)
        for columns in product(range(1 << bank_bits), repeat=size_bits)
    )


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=14))
def test_two_subspaces_never_make_the_search_turn_back(seed: int, bits: int) -> None:
    source = random.Random(seed)
    banks = source.randrange(1, 7)
    spaces = []
    for _ in range(2):
        space: list[int] = []
        for _ in range(source.randrange(banks + 1)):
            space.append(source.randrange(1 << bits))
        spaces.append(space)
    used = rank(spaces[0] + spaces[1])
    answer = find_bank_map(spaces, bits, banks, node_limit=used)
    assert isinstance(answer, BankMap)
    assert len(answer.columns) == bits
    assert all(injective(answer.columns, space) for space in spaces)


@pytest.mark.parametrize(("size_bits", "bank_bits"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_many_subspaces_are_decided_as_brute_force_does(
    size_bits: int, bank_bits: int
) -> None:
    source = random.Random(size_bits * 10 + bank_bits)
    answers = set()
    for _ in range(60):
        spaces = [
            [source.randrange(1, 1 << size_bits) for _ in range(bank_bits)]
            for _ in range(source.randrange(1, 7))
        ]
        answer = find_bank_map(spaces, size_bits, bank_bits)
        exists = exists_by_brute_force(spaces, size_bits, bank_bits)
        assert isinstance(answer, BankMap if exists else NoBankMap)
        if isinstance(answer, BankMap):
            assert all(injective(answer.columns, space) for space in spaces)
        answers.add(type(answer))
    assert answers == {BankMap, NoBankMap}


def test_all_pairs_of_four_bits_do_not_fit_in_two_bank_bits() -> None:
    pairs = [[1 << i, 1 << j] for i in range(4) for j in range(i)]
    answer = find_bank_map(pairs, 4, 2)
    assert isinstance(answer, NoBankMap)
    assert answer.nodes > 0
    assert isinstance(find_bank_map(pairs[:5], 4, 2), BankMap)
    assert isinstance(find_bank_map(pairs, 4, 2, node_limit=2), Unknown)


def test_a_subspace_larger_than_the_banks() -> None:
    assert find_bank_map([[1, 2]], 2, 1) == NoBankMap(0)


def test_degenerate_arguments() -> None:
    assert find_bank_map([], 3, 2) == BankMap((0, 0, 0))
    assert find_bank_map([[]], 0, 0) == BankMap(())
    assert find_bank_map([[0, 0], [1]], 2, 1) == BankMap((1, 0))
